// etwpipe diff: compare two traces by EventInstanceId.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/program_options.hpp>

#include "formats/open.h"
#include "formats/schema/schema_registry.h"
#include "formats/schema/tracelogging.h"
#include "pipeline/executor.h"
#include "tools/command_line.h"
#include "tools/commands.h"
#include "tools/common_options.h"
#include "tools/event_fetch.h"
#include "tools/header_diff.h"
#include "tools/standard_output.h"
#include "tools/table.h"
#include "tools/time_text.h"
#include "tools/trace_diff.h"
#include "tools/trace_json.h"

namespace etwpipe {
namespace {

namespace po = boost::program_options;

constexpr size_t kDefaultListed = 20;
constexpr uint64_t kMostListed = 100'000;
constexpr std::string_view kStrangers =
    "these traces do not come from the same recording; ids of one say nothing about the other";

// One input, opened once and read several times.
struct Side {
  std::string path;
  std::unique_ptr<Source> source;
  Diagnostics diagnostics;
  bool counted = false;  // diagnostics are those of the first pass

  const TraceInfo& info() const { return source->context().info; }
};

// A difference with the events it is about; null where a side lacks it.
struct Listed {
  Difference difference;
  const FetchedEvent* a = nullptr;
  const FetchedEvent* b = nullptr;
  std::string provider_name;  // that a TraceLogging event tells; empty for others
  std::string name;

  const FetchedEvent* any() const { return a != nullptr ? a : b; }
  std::vector<std::string> what() const {
    const bool both = difference.change == Change::kChanged && a != nullptr && b != nullptr;
    return both ? DescribeChange(*a, *b) : std::vector<std::string>();
  }
};

struct Report {
  const std::array<Side, 2>& sides;
  const DiffResult& result;
  const std::vector<HeaderDifference>& header;
  const std::vector<Listed>& listed;
  bool strangers = false;
};

void WriteJson(JsonWriter& json, const Report& report) {
  const DiffCounts& counts = report.result.counts;
  json.BeginObject();
  json.Key("equal").Bool(counts.equal());
  json.Key("missing").Uint(counts.missing);
  json.Key("added").Uint(counts.added);
  json.Key("changed").Uint(counts.changed);
  const uint64_t events[] = {counts.events_a, counts.events_b};
  const char* keys[] = {"a", "b"};
  for (size_t i = 0; i < 2; ++i) {
    json.Key(keys[i]).BeginObject();
    json.Key("file").String(report.sides[i].path);
    json.Key("events").Uint(events[i]);
    json.Key("diagnostics");
    WriteDiagnostics(json, report.sides[i].diagnostics);
    json.EndObject();
  }
  json.Key("note").StringOrNull(report.strangers ? kStrangers : std::string_view());
  json.Key("header").BeginArray();
  for (const auto& difference : report.header) {
    json.BeginObject();
    json.Key("field").String(difference.field);
    json.Key("a").String(difference.a);
    json.Key("b").String(difference.b);
    json.EndObject();
  }
  json.EndArray();
  json.Key("events").BeginArray();
  for (const auto& listed : report.listed) {
    json.BeginObject();
    json.Key("id").Id(listed.difference.id);
    json.Key("change").String(ToString(listed.difference.change));
    if (const FetchedEvent* event = listed.any()) {
      const Side& side = report.sides[listed.a != nullptr ? 0 : 1];
      json.Key("time").String(FormatFileTime(side.info().clock.ToFileTime(event->row.timestamp)));
      json.Key("cpu").Uint(event->row.cpu);
      WriteProvider(json, event->provider,
                    listed.name.empty() ? KnownName(event->provider) : std::string_view(listed.provider_name));
      json.Key("name").StringOrNull(listed.name);
      json.Key("event_id").Uint(event->row.id);
      json.Key("opcode").Uint(event->row.opcode);
    }
    json.Key("what").BeginArray();
    for (const auto& text : listed.what()) json.String(text);
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  json.EndLine();
}

std::string ToText(const Report& report) {
  const DiffCounts& counts = report.result.counts;
  std::string text;
  if (report.strangers) text += fmt::format("note: {}\n", kStrangers);
  if (!report.header.empty()) {
    Table table({{"header"}, {"A"}, {"B"}});
    for (const auto& difference : report.header) table.Add({difference.field, difference.a, difference.b});
    text += table.ToText();
  }
  if (!report.listed.empty()) {
    Table table({{"id", Table::Align::kRight}, {"change"}, {"time"}, {"provider"}, {"event"}, {"what"}});
    for (const auto& listed : report.listed) {
      const FetchedEvent* event = listed.any();
      const Side& side = report.sides[listed.a != nullptr ? 0 : 1];
      std::vector<std::string> cells = {std::to_string(listed.difference.id),
                                        std::string(ToString(listed.difference.change))};
      if (event != nullptr) {
        cells.push_back(FormatFileTime(side.info().clock.ToFileTime(event->row.timestamp)));
        const bool named = !listed.name.empty();
        cells.push_back(named ? listed.provider_name : ProviderText(event->provider));
        cells.push_back(named ? listed.name : fmt::format("{}/{}", event->row.id, event->row.opcode));
      } else {
        cells.insert(cells.end(), {"", "", ""});
      }
      cells.push_back(fmt::format("{}", fmt::join(listed.what(), ", ")));
      table.Add(std::move(cells));
    }
    text += table.ToText();
  }
  const char* names[] = {"A", "B"};
  for (size_t i = 0; i < 2; ++i) {
    const std::string diagnostics = DiagnosticsText(report.sides[i].diagnostics, Severity::kError);
    if (!diagnostics.empty()) text += fmt::format("health of {}:\n{}", names[i], diagnostics);
  }
  if (counts.equal()) return text + fmt::format("equal: {} events\n", Grouped(counts.events_a));
  return text + fmt::format("different: {} missing, {} added, {} changed ({} events in A, {} in B)\n",
                            Grouped(counts.missing), Grouped(counts.added), Grouped(counts.changed),
                            Grouped(counts.events_a), Grouped(counts.events_b));
}

class DiffCommand final : public Subcommand {
 public:
  CommandHelp help() const override {
    return {.name = "diff",
            .summary = "Compares two traces by EventInstanceId: which events are missing, added, changed.",
            .arguments = "A B",
            .details =
                "A and B may be .etl or .etwp. Compared are record bytes, processor and timestamp; differences "
                "of the log-file\nheader are shown and do not decide. Exit status: 0 equal, 3 different.",
            .examples =
                "  etwpipe diff original.etl relogged.etl\n"
                "  etwpipe diff --format json original.etl archive.etwp",
            .min_arguments = 2,
            .max_arguments = 2};
  }

  void AddOptions(po::options_description& options) override {
    format_.Add(options, {"text", "json"});
    options.add_options()("limit", po::value(&limit_)->value_name("N"), "list at most N differences (default: 20)");
    read_.Add(options);
  }

  Status Run(const CommandArgs& args) override {
    ETWPIPE_RETURN_IF_ERROR(format_.Check());
    ETWPIPE_RETURN_IF_ERROR(read_.Check());
    const auto limit = ParseCount("--limit", limit_);
    if (!limit.ok()) return limit.status();
    const auto listed_limit = static_cast<size_t>(std::min(limit->value_or(kDefaultListed), kMostListed));

    std::array<Side, 2> sides;
    std::array<RunSide, 2> runs;
    for (size_t i = 0; i < 2; ++i) {
      Side& side = sides[i];
      side.path = args.arguments[i];
      auto source = OpenSource(side.path, {.spool_dir = read_.spool_dir,
                                           .several_passes = true,
                                           .diagnostics = &side.diagnostics,
                                           .cancel = &args.cancel});
      if (!source.ok()) return source.status();
      side.source = std::move(*source);
      runs[i] = [this, &side, &args](Sink& sink) { return RunInto(side, sink, args.cancel); };
    }
    const auto result = DiffTraces(runs, listed_limit);
    if (!result.ok()) return result.status();

    std::vector<EventInstanceId> ids;
    for (const auto& difference : result->first) ids.push_back(difference.id);
    EventFetch fetched[] = {EventFetch(ids), EventFetch(ids)};
    for (size_t i = 0; i < 2 && !ids.empty(); ++i) ETWPIPE_RETURN_IF_ERROR(runs[i](fetched[i]));
    // Ids of TraceLogging events say nothing; their names stand in the events.
    schema::SchemaRegistry names;
    names.Add(std::make_shared<schema::TraceLoggingSupplier>());
    schema::SchemaLookup lookups[] = {{names, sides[0].source->context()}, {names, sides[1].source->context()}};
    std::vector<Listed> listed;
    for (const auto& difference : result->first) {
      Listed one{difference, fetched[0].Find(difference.id), fetched[1].Find(difference.id), {}, {}};
      const FetchedEvent* event = one.any();
      if (const auto* schema = event == nullptr ? nullptr : lookups[one.a != nullptr ? 0 : 1].Find(event->row)) {
        one.provider_name = schema->provider->name;
        one.name = schema->name;
      }
      listed.push_back(std::move(one));
    }

    const auto header = DiffHeaders(sides[0].info(), sides[1].info());
    const Report report{sides, *result, header, listed, !ShareSource(sides[0].info(), sides[1].info())};
    if (format_.json()) {
      JsonWriter json;
      WriteJson(json, report);
      ETWPIPE_RETURN_IF_ERROR(Print(json.text()));
    } else {
      ETWPIPE_RETURN_IF_ERROR(Print(ToText(report)));
    }
    return result->counts.equal() ? Status() : Status(StatusCode::kAnswerNo, "");
  }

 private:
  Status RunInto(Side& side, Sink& sink, const CancelToken& cancel) const {
    Diagnostics* diagnostics = side.counted ? nullptr : &side.diagnostics;
    side.counted = true;
    return Execute(*side.source, sink, read_.threads, diagnostics, &cancel).status();
  }

  FormatOption format_;
  ReadOptions read_;
  std::string limit_;
};

}  // namespace

std::unique_ptr<Subcommand> MakeDiffCommand() { return std::make_unique<DiffCommand>(); }

}  // namespace etwpipe
