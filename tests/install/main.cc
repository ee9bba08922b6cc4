// A program outside the project that uses the installed headers and libraries.
#include <cstdio>
#include <string>

#include "formats/open.h"
#include "pipeline/guid.h"
#include "pipeline/plan.h"

int main() {
  // The GUID of the project's own provider; needs only the engine.
  if (etwpipe::ToString(etwpipe::ProviderGuidFromName("etwpipe")) != "56e4a0cd-0f35-5584-7110-f7ea1385f7bd") return 1;
  // A configuration; needs the messages.
  if (!etwpipe::ParseConfig("", "empty").ok()) return 2;
  // A folder is no trace; needs every reader.
  if (etwpipe::OpenSource("/", {}).ok()) return 3;
  std::puts("installed library works");
  return 0;
}
