#include "tools/standard_output.h"

#include <fmt/format.h>

#include <cstdio>
#include <span>

#include "pipeline/platform.h"

namespace etwpipe {

Status Print(std::string_view text) {
  const auto file = OutputFile::Create("-", false, OutputFile::Stdout::kStream);
  if (!file.ok()) return file.status();
  const Status status = (*file)->Append(std::as_bytes(std::span(text)));
  return (*file)->reader_gone() ? Status() : status;
}

Colours ColoursFor(int fd) {
  if (!IsTerminal(fd) || !Environment("NO_COLOR").empty() || Environment("TERM") == "dumb") return {};
  return {"\x1b[1m", "\x1b[32m", "\x1b[33m", "\x1b[31m", "\x1b[0m"};
}

void PrintToError(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

void PrintError(std::string_view message) {
  const Colours colours = ColoursFor(2);
  PrintToError(fmt::format("{}etwpipe:{} {}\n", colours.red, colours.reset, message));
}

void PrintNote(std::string_view message) { PrintToError(fmt::format("etwpipe: {}\n", message)); }

}  // namespace etwpipe
