#include "formats/facts/clr_entities.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace etwpipe::facts {
namespace {

void Fill(std::string& known, const std::string& told) {
  if (known.empty()) known = told;
}

void Fill(ClrPdb& known, const ClrPdb& told) {
  if (known.path.empty() && known.age == 0) known = told;
}

void LearnCommon(ClrEntity& known, const ClrEntity& told) {
  if (!known.clr_instance) known.clr_instance = told.clr_instance;
  if (known.flags == 0) known.flags = told.flags;
}

bool EndsIn(std::string_view text, std::string_view end) {
  return text.size() > end.size() &&
         std::equal(end.begin(), end.end(), text.end() - static_cast<ptrdiff_t>(end.size()),
                    [](char a, char b) { return a == std::tolower(static_cast<unsigned char>(b)); });
}

}  // namespace

std::string ClrModule::name() const {
  std::string_view name = il_path.empty() ? native_path : il_path;
  name.remove_prefix(name.find_last_of("\\/") + 1);
  // Names of dynamic modules have dots and no extension.
  for (const std::string_view extension : {".dll", ".exe", ".winmd", ".netmodule"}) {
    if (EndsIn(name, extension)) return std::string(name.substr(0, name.size() - extension.size()));
  }
  return std::string(name);
}

void Learn(ClrRuntime& known, const ClrRuntime& told) {
  LearnCommon(known, told);
  Fill(known.version, told.version);
  Fill(known.command_line, told.command_line);
  Fill(known.dll_path, told.dll_path);
}

void Learn(ClrAppDomain& known, const ClrAppDomain& told) {
  LearnCommon(known, told);
  Fill(known.name, told.name);
}

void Learn(ClrAssembly& known, const ClrAssembly& told) {
  LearnCommon(known, told);
  Fill(known.name, told.name);
  if (known.app_domain_id == 0) known.app_domain_id = told.app_domain_id;
}

void Learn(ClrModule& known, const ClrModule& told) {
  LearnCommon(known, told);
  if (known.assembly_id == 0) known.assembly_id = told.assembly_id;
  if (known.app_domain_id == 0) known.app_domain_id = told.app_domain_id;
  Fill(known.il_path, told.il_path);
  Fill(known.native_path, told.native_path);
  Fill(known.managed_pdb, told.managed_pdb);
  Fill(known.native_pdb, told.native_pdb);
}

}  // namespace etwpipe::facts
