// etwpipe info: what is this trace.
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
#include "tools/time_text.h"
#include "tools/trace_json.h"

namespace etwpipe {
namespace {

namespace po = boost::program_options;

constexpr size_t kProvidersShown = 10;

// All that is told of one file.
struct Facts {
  const std::string& file;
  const TraceInfo& info;
  const EventCounts& counted;
  const Diagnostics& diagnostics;
  bool local = false;

  // Empty for "not known".
  std::string FileTime(int64_t filetime) const {
    return filetime == 0 ? std::string() : FormatFileTime(filetime, DisplayBias(info, local));
  }
  uint64_t Opaque() const {
    uint64_t opaque = 0;
    for (const auto& row : counted.rows) opaque += row.opaque;
    return opaque;
  }
  std::string Ticks(std::optional<int64_t> ticks) const {
    return ticks ? FormatFileTime(info.clock.ToFileTime(*ticks), DisplayBias(info, local)) : std::string();
  }
};

std::string FingerprintText(const std::array<std::byte, 16>& fingerprint) {
  std::string text;
  for (const std::byte byte : fingerprint) text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return text;
}

void WriteJson(JsonWriter& json, const Facts& facts) {
  const TraceInfo& info = facts.info;
  json.BeginObject();
  json.Key("file").String(facts.file);
  json.Key("format").String(info.format);
  json.Key("size");
  info.file_size == 0 ? json.Null() : json.Uint(info.file_size);
  json.Key("buffers").BeginObject();
  json.Key("total").Uint(info.buffers);
  json.Key("compressed").Uint(info.compressed_buffers);
  json.Key("damaged").Uint(info.damaged_buffers);
  json.EndObject();
  json.Key("buffer_size").Uint(info.buffer_size);
  json.Key("events").BeginObject();
  json.Key("total").Uint(facts.counted.events);
  json.Key("lost").Uint(info.events_lost);
  json.Key("opaque").Uint(facts.Opaque());
  json.EndObject();
  json.Key("buffers_lost").Uint(info.buffers_lost);
  json.Key("pointer_size").Uint(info.pointer_size);
  json.Key("processors").Uint(info.processors);
  json.Key("clock").BeginObject();
  json.Key("type").String(ToString(info.clock.type));
  json.Key("frequency").Int(info.clock.frequency);
  json.EndObject();
  json.Key("start_time").StringOrNull(facts.FileTime(info.clock.start_time));
  json.Key("end_time").StringOrNull(facts.FileTime(info.end_time));
  json.Key("boot_time").StringOrNull(facts.FileTime(info.boot_time));
  json.Key("first_event_time").StringOrNull(facts.Ticks(facts.counted.first_time));
  json.Key("last_event_time").StringOrNull(facts.Ticks(facts.counted.last_time));
  json.Key("utc_bias_minutes").Int(info.utc_bias_minutes);
  json.Key("logger_name").String(info.logger_name);
  json.Key("log_file_name").String(info.log_file_name);
  json.Key("log_file_mode").Uint(info.log_file_mode);
  json.Key("os").BeginObject();
  json.Key("major").Uint(info.os_major);
  json.Key("minor").Uint(info.os_minor);
  json.Key("build").Uint(info.os_build);
  json.EndObject();
  json.Key("sources").BeginArray();
  for (const auto& source : info.sources) {
    json.BeginObject();
    json.Key("number").Uint(source.number);
    json.Key("fingerprint").String(FingerprintText(source.fingerprint));
    if (!source.path.empty()) json.Key("path").String(source.path);
    json.EndObject();
  }
  json.EndArray();
  json.Key("providers").BeginArray();
  for (const auto& row : facts.counted.rows) {
    json.BeginObject();
    WriteProvider(json, row.provider, row.provider_name);
    json.Key("count").Uint(row.count);
    json.Key("bytes").Uint(row.bytes);
    json.Key("opaque").Uint(row.opaque);
    json.Key("schemas").BeginArray();
    for (const auto origin : row.origins) json.String(ToString(origin));
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  json.Key("diagnostics");
  WriteDiagnostics(json, facts.diagnostics);
  json.EndObject();
}

std::string OrUnknown(std::string text) { return text.empty() ? "unknown" : text; }

std::string ProviderTextOf(const EventCount& row) {
  return KnownName(row.provider).empty() && !row.provider_name.empty() ? row.provider_name : ProviderText(row.provider);
}

// Where the schemas of a provider came from.
std::string SchemasText(const EventCount& row) {
  std::string text;
  for (const auto origin : row.origins) text += (text.empty() ? "" : ", ") + std::string(ToString(origin));
  if (row.opaque == 0) return text;
  if (row.opaque == row.count) return "opaque";
  return fmt::format("{}; {} opaque", text, Grouped(row.opaque));
}

std::string ToText(const Facts& facts) {
  const TraceInfo& info = facts.info;
  const Colours colours = ColoursFor(1);
  std::string text = fmt::format("{}{}{}\n", colours.bold, Printable(facts.file), colours.reset);
  Table table({{""}, {""}});
  const auto add = [&](std::string name, std::string value) { table.Add({std::move(name), std::move(value)}); };
  add("format", fmt::format("{}, {}", info.format,
                            info.file_size == 0 ? "read as a stream" : Grouped(info.file_size) + " bytes"));
  add("events", fmt::format("{} ({} lost)", Grouped(facts.counted.events), Grouped(info.events_lost)));
  const uint64_t events = std::max<uint64_t>(1, facts.counted.events);
  add("opaque", fmt::format("{} events that no schema describes ({:.1f} %)", Grouped(facts.Opaque()),
                            100.0 * static_cast<double>(facts.Opaque()) / static_cast<double>(events)));
  add("buffers", fmt::format("{} of up to {} bytes ({} compressed, {} damaged, {} lost)", Grouped(info.buffers),
                             Grouped(info.buffer_size), Grouped(info.compressed_buffers), Grouped(info.damaged_buffers),
                             Grouped(info.buffers_lost)));
  add("system", fmt::format("Windows {}.{} build {}, {} processors, {}-byte pointers", info.os_major, info.os_minor,
                            info.os_build, info.processors, info.pointer_size));
  add("session",
      fmt::format("\"{}\" to \"{}\", mode 0x{:x}", info.logger_name, info.log_file_name, info.log_file_mode));
  add("clock", fmt::format("{}, {} ticks per second", ToString(info.clock.type),
                           Grouped(static_cast<uint64_t>(info.clock.frequency))));
  add("boot", OrUnknown(facts.FileTime(info.boot_time)));
  add("start", OrUnknown(facts.FileTime(info.clock.start_time)));
  add("first event", OrUnknown(facts.Ticks(facts.counted.first_time)));
  add("last event", OrUnknown(facts.Ticks(facts.counted.last_time)));
  add("end", info.end_time == 0 ? "never closed" : facts.FileTime(info.end_time));
  for (const auto& source : info.sources) {
    const std::string path = source.path.empty() ? std::string() : fmt::format(" ({})", source.path);
    add("source", fmt::format("{}: {}{}", source.number, FingerprintText(source.fingerprint), path));
  }
  text += table.ToText("  ");

  text += fmt::format("providers: {}\n", facts.counted.rows.size());
  Table providers({{"", Table::Align::kRight}, {""}, {""}});
  for (size_t i = 0; i < std::min(kProvidersShown, facts.counted.rows.size()); ++i) {
    const EventCount& row = facts.counted.rows[i];
    providers.Add({Grouped(row.count), ProviderTextOf(row), SchemasText(row)});
  }
  text += providers.ToText("  ");
  if (facts.counted.rows.size() > kProvidersShown) {
    text += fmt::format("  ... {} more; etwpipe stats --by provider lists all\n",
                        facts.counted.rows.size() - kProvidersShown);
  }
  const std::string diagnostics = DiagnosticsText(facts.diagnostics);
  return text + (diagnostics.empty() ? "health: nothing to report\n" : "health:\n" + diagnostics);
}

class InfoCommand final : public Subcommand {
 public:
  CommandHelp help() const override {
    return {.name = "info",
            .summary = "Says what a trace is: header, clock, time range, providers and their schemas, loss, health.",
            .arguments = "FILE...",
            .details =
                "JSON is one object for one FILE and an array of objects for several. Of an .etl the whole file is "
                "read, of an\narchive only its end, unless --manifest, --clr-ids or --fail-on are given; verify reads "
                "all.",
            .examples =
                "  etwpipe info trace.etl\n"
                "  etwpipe info --format json --fail-on loss,damage *.etl",
            .min_arguments = 1,
            .max_arguments = kAnyNumber};
  }

  void AddOptions(po::options_description& options) override {
    format_.Add(options, {"text", "json"});
    options.add_options()("local", po::bool_switch(&local_), "times in the recording machine's zone, not in UTC");
    schemas_.Add(options);
    fail_on_.Add(options);
    read_.Add(options);
  }

  Status Run(const CommandArgs& args) override {
    ETWPIPE_RETURN_IF_ERROR(format_.Check());
    ETWPIPE_RETURN_IF_ERROR(fail_on_.Check());
    ETWPIPE_RETURN_IF_ERROR(read_.Check());
    const auto surveyors = schemas_.Surveyors();
    if (!surveyors.ok()) return surveyors.status();
    JsonFiles json(args.arguments.size());
    const Status status = ForEachFile(args.arguments, [&](const std::string& file) -> Status {
      Diagnostics diagnostics;
      EventCounts counted;
      const auto source = CountEvents({.path = file,
                                       .by = CountBy::kProvider,
                                       .options = read_,
                                       .whole = schemas_.given() || !fail_on_.values.empty(),
                                       .check_all = fail_on_.WantsDamage(),
                                       .cancel = args.cancel,
                                       .diagnostics = &diagnostics,
                                       .surveyors = *surveyors},
                                      counted);
      if (!source.ok()) return source.status();
      const TraceInfo& info = (*source)->context().info;
      const Facts facts{file, info, counted, diagnostics, local_};
      if (format_.json()) {
        WriteJson(json.writer, facts);
      } else {
        ETWPIPE_RETURN_IF_ERROR(Print(ToText(facts)));
      }
      return fail_on_.Judge(file, info, diagnostics);
    });
    return format_.json() ? json.PrintUnlessCancelled(status) : status;
  }

 private:
  FormatOption format_;
  SchemaOptions schemas_;
  FailOnOption fail_on_;
  ReadOptions read_;
  bool local_ = false;
};

}  // namespace

std::unique_ptr<Subcommand> MakeInfoCommand() { return std::make_unique<InfoCommand>(); }

}  // namespace etwpipe
