#include "tools/clr_listing.h"

#include <fmt/format.h>

#include <limits>

#include "tools/csv_rows.h"
#include "tools/table.h"
#include "tools/time_text.h"

namespace etwpipe {
namespace {

using facts::ClrEntity;
using facts::ClrModule;
using facts::ClrPdb;
constexpr auto kRight = Table::Align::kRight;

// GUID, age and path; empty if the trace names none.
std::string PdbText(const ClrPdb& pdb) {
  if (pdb == ClrPdb()) return {};
  return fmt::format("{{{}}} {} {}", ToString(pdb.guid), pdb.age, pdb.path);
}

void BeginEntity(JsonWriter& json, const ClrEntity& entity) {
  json.BeginObject();
  json.Key("pid").Uint(entity.pid);
  json.Key("clr_instance");
  entity.clr_instance ? json.Uint(*entity.clr_instance) : json.Null();
}

void EndEntity(JsonWriter& json, const ClrEntity& entity, const TraceInfo& info) {
  json.Key("flags").Hex(entity.flags);
  json.Key("from").StringOrNull(TickText(info, entity.from));
  json.Key("to").StringOrNull(TickText(info, entity.to));
  json.EndObject();
}

void WritePdb(JsonWriter& json, std::string_view key, const ClrPdb& pdb) {
  json.Key(key);
  if (pdb == ClrPdb()) {
    json.Null();
    return;
  }
  json.BeginObject();
  json.Key("guid").String(ToString(pdb.guid));
  json.Key("age").Uint(pdb.age);
  json.Key("path").String(pdb.path);
  json.EndObject();
}

// complete, incomplete, or empty where the trace has none.
std::string_view RundownText(const facts::ClrTable& clr, const ClrEntity& runtime, bool at_end) {
  for (const facts::ClrRundown& rundown : clr.rundowns()) {
    const bool same = !rundown.clr_instance || !runtime.clr_instance || rundown.clr_instance == runtime.clr_instance;
    if (rundown.pid == runtime.pid && rundown.at_end == at_end && same) {
      return rundown.incomplete() ? "incomplete" : "complete";
    }
  }
  return {};
}

std::string IdText(const ClrEntity& entity) { return fmt::format("{:#x}", entity.id); }

void AppendTable(std::string& text, std::string_view title, const Table& table) {
  if (!table.empty()) text += fmt::format("{}\n{}", title, table.ToText("  "));
}

}  // namespace

std::string TickText(const TraceInfo& info, int64_t ticks) {
  const bool none = ticks == std::numeric_limits<int64_t>::min() || ticks == std::numeric_limits<int64_t>::max();
  return none ? std::string() : FormatFileTime(info.clock.ToFileTime(ticks));
}

void WriteClrTables(JsonWriter& json, const facts::ClrTable& clr, const TraceInfo& info) {
  json.Key("runtimes").BeginArray();
  for (const auto& runtime : clr.runtimes()) {
    BeginEntity(json, runtime);
    json.Key("version").StringOrNull(runtime.version);
    json.Key("command_line").StringOrNull(runtime.command_line);
    json.Key("dll_path").StringOrNull(runtime.dll_path);
    json.Key("rundown_at_start").StringOrNull(RundownText(clr, runtime, false));
    json.Key("rundown_at_end").StringOrNull(RundownText(clr, runtime, true));
    EndEntity(json, runtime, info);
  }
  json.EndArray();
  json.Key("app_domains").BeginArray();
  for (const auto& domain : clr.app_domains()) {
    BeginEntity(json, domain);
    json.Key("app_domain_id").Hex(domain.id);
    json.Key("name").StringOrNull(domain.name);
    EndEntity(json, domain, info);
  }
  json.EndArray();
  json.Key("assemblies").BeginArray();
  for (const auto& assembly : clr.assemblies()) {
    BeginEntity(json, assembly);
    json.Key("assembly_id").Hex(assembly.id);
    json.Key("app_domain_id").Hex(assembly.app_domain_id);
    json.Key("name").StringOrNull(assembly.name);
    EndEntity(json, assembly, info);
  }
  json.EndArray();
  json.Key("modules").BeginArray();
  for (const ClrModule& module : clr.modules()) {
    BeginEntity(json, module);
    json.Key("module_id").Hex(module.id);
    json.Key("assembly_id").Hex(module.assembly_id);
    json.Key("app_domain_id");
    module.app_domain_id == 0 ? json.Null() : void(json.Hex(module.app_domain_id));
    json.Key("name").StringOrNull(module.name());
    json.Key("il_path").StringOrNull(module.il_path);
    json.Key("native_path").StringOrNull(module.native_path);
    WritePdb(json, "managed_pdb", module.managed_pdb);
    WritePdb(json, "native_pdb", module.native_pdb);
    EndEntity(json, module, info);
  }
  json.EndArray();
}

std::string ClrTablesText(const facts::ClrTable& clr) {
  std::string text;
  Table runtimes({{"pid", kRight}, {"clr", kRight}, {"version"}, {"at start"}, {"at end"}, {"command line"}});
  for (const auto& runtime : clr.runtimes()) {
    const auto rundown = [&](bool at_end) {
      const std::string_view known = RundownText(clr, runtime, at_end);
      return std::string(known.empty() ? "-" : known);
    };
    runtimes.Add({std::to_string(runtime.pid), std::to_string(runtime.id), runtime.version, rundown(false),
                  rundown(true), runtime.command_line});
  }
  AppendTable(text, "runtimes, and their rundown", runtimes);
  Table domains({{"pid", kRight}, {"app_domain_id", kRight}, {"name"}});
  for (const auto& domain : clr.app_domains()) {
    domains.Add({std::to_string(domain.pid), IdText(domain), domain.name});
  }
  AppendTable(text, "application domains", domains);
  Table assemblies({{"pid", kRight}, {"assembly_id", kRight}, {"app_domain_id", kRight}, {"name"}});
  for (const auto& assembly : clr.assemblies()) {
    assemblies.Add(
        {std::to_string(assembly.pid), IdText(assembly), fmt::format("{:#x}", assembly.app_domain_id), assembly.name});
  }
  AppendTable(text, "assemblies", assemblies);
  Table modules({{"pid", kRight}, {"module_id", kRight}, {"name"}, {"managed pdb"}});
  for (const ClrModule& module : clr.modules()) {
    modules.Add({std::to_string(module.pid), IdText(module), module.name(), PdbText(module.managed_pdb)});
  }
  AppendTable(text, "modules", modules);
  return text;
}

std::string ModulesCsv(const facts::ClrTable& clr, const TraceInfo& info) {
  fmt::memory_buffer out;
  AppendChars(out,
              "pid,clr_instance,module_id,assembly_id,app_domain_id,name,il_path,native_path,pdb_guid,pdb_age,pdb_path,"
              "native_pdb_guid,native_pdb_age,native_pdb_path,flags,from,to\n");
  for (const ClrModule& module : clr.modules()) {
    std::vector<std::string> cells = {std::to_string(module.pid),
                                      module.clr_instance ? std::to_string(*module.clr_instance) : "",
                                      IdText(module),
                                      fmt::format("{:#x}", module.assembly_id),
                                      module.app_domain_id == 0 ? "" : fmt::format("{:#x}", module.app_domain_id),
                                      module.name(),
                                      module.il_path,
                                      module.native_path};
    for (const ClrPdb* pdb : {&module.managed_pdb, &module.native_pdb}) {
      const bool known = *pdb != ClrPdb();
      cells.push_back(known ? ToString(pdb->guid) : "");
      cells.push_back(known ? std::to_string(pdb->age) : "");
      cells.push_back(pdb->path);
    }
    cells.push_back(fmt::format("{:#x}", module.flags));
    cells.push_back(TickText(info, module.from));
    cells.push_back(TickText(info, module.to));
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i != 0) out.push_back(',');
      AppendCell(out, cells[i]);
    }
    out.push_back('\n');
  }
  return fmt::to_string(out);
}

}  // namespace etwpipe
