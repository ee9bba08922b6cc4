// etwpipe stats: counts and bytes per kind of event.
#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>

#include "tools/commands.h"
#include "tools/common_options.h"
#include "tools/count_events.h"
#include "tools/per_file.h"
#include "tools/read_trace.h"
#include "tools/standard_output.h"
#include "tools/table.h"
#include "tools/trace_json.h"

namespace etwpipe {
namespace {

namespace po = boost::program_options;

// One way to group, and how its rows look.
struct Grouping {
  std::string_view name;
  CountBy by;
  std::string_view array;  ///< key of the rows in JSON
};
constexpr Grouping kGroupings[] = {{"kind", CountBy::kKind, "kinds"},
                                   {"name", CountBy::kName, "names"},
                                   {"provider", CountBy::kProvider, "providers"},
                                   {"process", CountBy::kProcess, "processes"},
                                   {"thread", CountBy::kThread, "threads"}};

void WriteId(JsonWriter& json, std::string_view key, uint32_t id) {
  json.Key(key);
  id == kNoId ? json.Null() : json.Uint(id);
}

void WriteProcess(JsonWriter& json, const EventCount& row, const TraceInfo& info) {
  WriteId(json, "pid", row.pid);
  const auto* process = row.process;
  json.Key("process").StringOrNull(process == nullptr ? std::string_view() : process->image);
  if (process == nullptr) return;
  const auto time = [&](std::string_view key, int64_t ticks, int64_t unknown) {
    json.Key(key).StringOrNull(ticks == unknown ? std::string() : FormatFileTime(info.clock.ToFileTime(ticks)));
  };
  time("start_time", process->start, facts::ProcessInstance::kBeforeTrace);
  time("end_time", process->end, facts::ProcessInstance::kAfterTrace);
  WriteId(json, "parent_pid", process->parent);
  json.Key("command_line").StringOrNull(process->command_line);
}

void WriteRow(JsonWriter& json, CountBy by, const EventCount& row, const TraceInfo& info) {
  json.BeginObject();
  switch (by) {
    case CountBy::kKind:
      json.Key("header").String(row.header);
      WriteProvider(json, row.provider, row.provider_name);
      json.Key("name").StringOrNull(row.name);
      json.Key("id").Uint(row.id);
      json.Key("opcode").Uint(row.opcode);
      json.Key("version").Uint(row.version);
      break;
    case CountBy::kName:
      json.Key("provider_name").StringOrNull(row.provider_name);
      json.Key("name").StringOrNull(row.name);
      if (!row.name.empty()) break;
      json.Key("header").String(row.header);
      json.Key("provider").StringOrNull(row.provider ? ToString(*row.provider) : std::string());
      json.Key("id").Uint(row.id);
      json.Key("opcode").Uint(row.opcode);
      json.Key("version").Uint(row.version);
      break;
    case CountBy::kProvider: WriteProvider(json, row.provider, row.provider_name); break;
    case CountBy::kProcess: WriteProcess(json, row, info); break;
    case CountBy::kThread:
      WriteProcess(json, row, info);
      WriteId(json, "tid", row.tid);
      break;
  }
  json.Key("count").Uint(row.count);
  json.Key("bytes").Uint(row.bytes);
  json.EndObject();
}

void WriteJson(JsonWriter& json, const Grouping& grouping, const std::string& file, const TraceInfo& info,
               const EventCounts& counted) {
  json.BeginObject();
  json.Key("file").String(file);
  json.Key("events").Uint(counted.events);
  json.Key("buffers").Uint(info.buffers);
  json.Key(grouping.array).BeginArray();
  for (const auto& row : counted.rows) WriteRow(json, grouping.by, row, info);
  json.EndArray();
  json.EndObject();
}

std::string IdText(uint32_t id) { return id == kNoId ? "-" : std::to_string(id); }

// The name that schemas give a provider, where the provider's own is not known.
std::string ProviderNameText(const EventCount& row) {
  return KnownName(row.provider).empty() && !row.provider_name.empty() ? row.provider_name : ProviderText(row.provider);
}

// provider/name for people; the provider alone where there is no name.
std::string KindText(const EventCount& row) {
  return row.name.empty() ? ProviderNameText(row) : row.provider_name + "/" + row.name;
}

// Without a name, what else tells rows apart.
std::string NameText(const EventCount& row) {
  if (!row.name.empty()) return KindText(row);
  return fmt::format("{} (id {}, opcode {}, version {}, {})", KindText(row), row.id, row.opcode, row.version,
                     row.header);
}

std::string ProcessText(const EventCount& row) {
  return row.process == nullptr || row.process->image.empty() ? "-" : Printable(row.process->image);
}

std::vector<Table::Column> Columns(CountBy by) {
  constexpr auto kRight = Table::Align::kRight;
  std::vector<Table::Column> columns = {{"count", kRight}, {"bytes", kRight}};
  switch (by) {
    case CountBy::kKind:
      columns.insert(columns.end(), {{"id", kRight}, {"opcode", kRight}, {"version", kRight}, {"header"}, {"event"}});
      break;
    case CountBy::kName: columns.push_back({"event"}); break;
    case CountBy::kProvider: columns.push_back({"provider"}); break;
    case CountBy::kProcess:
      columns.push_back({"pid", kRight});
      columns.push_back({"process"});
      break;
    case CountBy::kThread:
      columns.push_back({"pid", kRight});
      columns.push_back({"tid", kRight});
      columns.push_back({"process"});
      break;
  }
  return columns;
}

std::string ToText(const Grouping& grouping, const std::string& file, const TraceInfo& info,
                   const EventCounts& counted) {
  Table table(Columns(grouping.by));
  for (const auto& row : counted.rows) {
    std::vector<std::string> cells = {Grouped(row.count), Grouped(row.bytes)};
    switch (grouping.by) {
      case CountBy::kKind:
        cells.insert(cells.end(), {std::to_string(row.id), std::to_string(row.opcode), std::to_string(row.version),
                                   row.header, KindText(row)});
        break;
      case CountBy::kName: cells.push_back(NameText(row)); break;
      case CountBy::kProvider: cells.push_back(ProviderNameText(row)); break;
      case CountBy::kProcess: cells.insert(cells.end(), {IdText(row.pid), ProcessText(row)}); break;
      case CountBy::kThread: cells.insert(cells.end(), {IdText(row.pid), IdText(row.tid), ProcessText(row)}); break;
    }
    table.Add(std::move(cells));
  }
  const Colours colours = ColoursFor(1);
  return fmt::format("{}{}{}: {} events in {} buffers\n{}", colours.bold, Printable(file), colours.reset,
                     Grouped(counted.events), Grouped(info.buffers), table.ToText("  "));
}

class StatsCommand final : public Subcommand {
 public:
  CommandHelp help() const override {
    return {.name = "stats",
            .summary = "Counts events and their bytes per kind, name, provider, process or thread.",
            .arguments = "FILE...",
            .details =
                "Largest count first. A kind is what shares header, provider, id, opcode and version; the log-file "
                "header record\nis counted like an event. JSON is one object for one FILE and an array of objects for "
                "several.\nOf an archive only the end is read, unless counts are by process or thread, or --manifest, "
                "--clr-ids or\n--fail-on are given; verify reads all.",
            .examples =
                "  etwpipe stats trace.etl\n"
                "  etwpipe stats --format json --by provider trace.etwp",
            .min_arguments = 1,
            .max_arguments = kAnyNumber};
  }

  void AddOptions(po::options_description& options) override {
    format_.Add(options, {"text", "json"});
    options.add_options()("by", po::value(&by_)->value_name("kind|name|provider|process|thread"),
                          "what to count by (default: kind)");
    schemas_.Add(options);
    fail_on_.Add(options);
    read_.Add(options);
  }

  Status Run(const CommandArgs& args) override {
    ETWPIPE_RETURN_IF_ERROR(format_.Check());
    ETWPIPE_RETURN_IF_ERROR(fail_on_.Check());
    ETWPIPE_RETURN_IF_ERROR(read_.Check());
    std::vector<std::string> names;
    for (const auto& grouping : kGroupings) names.emplace_back(grouping.name);
    ETWPIPE_RETURN_IF_ERROR(CheckChoice("--by", by_, names));
    const Grouping& grouping = *std::find_if(std::begin(kGroupings), std::end(kGroupings),
                                             [&](const Grouping& candidate) { return candidate.name == by_; });
    const auto surveyors = schemas_.Surveyors();
    if (!surveyors.ok()) return surveyors.status();
    JsonFiles json(args.arguments.size());
    const Status status = ForEachFile(args.arguments, [&](const std::string& file) -> Status {
      Diagnostics diagnostics;
      EventCounts counted;
      const auto source = CountEvents({.path = file,
                                       .by = grouping.by,
                                       .options = read_,
                                       .whole = schemas_.given() || !fail_on_.values.empty(),
                                       .check_all = fail_on_.WantsDamage(),
                                       .cancel = args.cancel,
                                       .diagnostics = &diagnostics,
                                       .surveyors = *surveyors},
                                      counted);
      if (!source.ok()) return source.status();
      const TraceInfo& info = (*source)->context().info;
      if (format_.json()) {
        WriteJson(json.writer, grouping, file, info, counted);
      } else {
        ETWPIPE_RETURN_IF_ERROR(Print(ToText(grouping, file, info, counted)));
      }
      NoteDamage(file, diagnostics);
      return fail_on_.Judge(file, info, diagnostics);
    });
    return format_.json() ? json.PrintUnlessCancelled(status) : status;
  }

 private:
  FormatOption format_;
  SchemaOptions schemas_;
  FailOnOption fail_on_;
  ReadOptions read_;
  std::string by_ = "kind";
};

}  // namespace

std::unique_ptr<Subcommand> MakeStatsCommand() { return std::make_unique<StatsCommand>(); }

}  // namespace etwpipe
