// etwpipe methods: the methods that a trace tells of, and how many events refer to them.
#include <fmt/format.h>

#include <boost/program_options.hpp>

#include "tools/clr_listing.h"
#include "tools/commands.h"
#include "tools/common_options.h"
#include "tools/csv_rows.h"
#include "tools/json_writer.h"
#include "tools/method_count_sink.h"
#include "tools/read_trace.h"
#include "tools/standard_output.h"
#include "tools/table.h"

namespace etwpipe {
namespace {

namespace po = boost::program_options;
using facts::LookupOutcome;
using facts::MethodVersion;

constexpr LookupOutcome kOutcomes[] = {LookupOutcome::kExact, LookupOutcome::kBackfilled, LookupOutcome::kStale,
                                       LookupOutcome::kAmbiguous, LookupOutcome::kUnknown};
constexpr std::string_view kMethodTitles =
    "pid,clr_instance,method_id,rejit_id,namespace,name,signature,start_address,size,module,tier,extent,token,flags,"
    "interop,learnt,loads,from,to,references,first_reference,last_reference,address_references\n";
constexpr std::string_view kUnresolvedTitles =
    "pid,clr_instance,method_id,reason,references,first_reference,last_reference\n";

// What the three formats show.
struct Report {
  const TraceInfo& info;
  const facts::MethodTable& methods;
  const facts::ClrTable& clr;
  const MethodCountSink& counted;

  std::string Time(int64_t ticks) const { return TickText(info, ticks); }
  uint64_t total() const {
    uint64_t sum = 0;
    for (const auto outcome : kOutcomes) sum += counted.count(outcome);
    return sum;
  }
  uint64_t address_total() const {
    uint64_t sum = 0;
    for (const auto outcome : kOutcomes) sum += counted.address_count(outcome);
    return sum;
  }
  // Why nothing is known.
  std::string_view Reason(const UnknownMethod& method, const MethodUse& use) const {
    if (method.method_id == 0) return "the event has no id";
    if (!methods.KnowsProcess(method.pid, use.first)) return "no method record of the process";
    for (const auto& rundown : clr.rundowns()) {
      if (rundown.pid == method.pid && rundown.incomplete()) return "no record of the id; the rundown is incomplete";
    }
    return "no record of the id";
  }
};

std::string InstanceText(std::optional<uint16_t> instance) { return instance ? std::to_string(*instance) : ""; }

void WriteInstance(JsonWriter& json, std::optional<uint16_t> instance) {
  json.Key("clr_instance");
  instance ? json.Uint(*instance) : json.Null();
}

void WriteUse(JsonWriter& json, const Report& report, const MethodUse& use) {
  json.Key("references").Uint(use.count);
  json.Key("first_reference").StringOrNull(report.Time(use.first));
  json.Key("last_reference").StringOrNull(report.Time(use.last));
}

void WriteMethod(JsonWriter& json, const Report& report, size_t number) {
  const MethodVersion& method = report.methods.versions()[number];
  json.BeginObject();
  json.Key("pid").Uint(method.pid);
  WriteInstance(json, method.clr_instance);
  json.Key("method_id").Hex(method.method_id);
  json.Key("rejit_id").Uint(method.rejit_id);
  const auto part_of_name = [&](std::string_view key, std::string_view text) {
    json.Key(key);
    method.named() ? json.String(text) : json.Null();
  };
  part_of_name("namespace", method.namespace_name());
  part_of_name("name", method.name());
  part_of_name("signature", method.signature());
  json.Key("start_address").Hex(method.start_address);
  json.Key("size").Uint(method.size);
  json.Key("module").StringOrNull(method.module());
  json.Key("tier").StringOrNull(method.tier());
  json.Key("extent").String(method.extent());
  json.Key("token").Hex(method.token);
  json.Key("flags").Hex(method.flags);
  json.Key("interop").StringOrNull(method.interop());
  json.Key("learnt").String(ToString(method.learnt));
  json.Key("loads").Uint(method.loads);
  json.Key("from").StringOrNull(report.Time(method.from));
  json.Key("to").StringOrNull(report.Time(method.to));
  WriteUse(json, report, report.counted.use(number));
  json.Key("address_references").Uint(report.counted.address_uses(number));
  json.EndObject();
}

void WriteUnresolved(JsonWriter& json, const Report& report) {
  json.Key("unresolved").BeginArray();
  for (const auto& [method, use] : report.counted.unknown()) {
    json.BeginObject();
    json.Key("pid").Uint(method.pid);
    WriteInstance(json, method.clr_instance);
    json.Key("method_id").Hex(method.method_id);
    json.Key("reason").String(report.Reason(method, use));
    WriteUse(json, report, use);
    json.EndObject();
  }
  json.EndArray();
}

void WriteRundowns(JsonWriter& json, const Report& report) {
  json.Key("rundowns").BeginArray();
  for (const auto& rundown : report.clr.rundowns()) {
    json.BeginObject();
    json.Key("pid").Uint(rundown.pid);
    WriteInstance(json, rundown.clr_instance);
    json.Key("at").String(rundown.at_end ? "end" : "start");
    json.Key("complete").Bool(!rundown.incomplete());
    json.Key("methods").Uint(rundown.methods);
    json.EndObject();
  }
  json.EndArray();
}

std::string ToJson(const Report& report, const std::string& file, bool unresolved) {
  JsonWriter json;
  json.BeginObject();
  json.Key("file").String(file);
  if (unresolved) {
    WriteUnresolved(json, report);
  } else {
    json.Key("methods").BeginArray();
    for (size_t i = 0; i < report.methods.versions().size(); ++i) WriteMethod(json, report, i);
    json.EndArray();
  }
  json.Key("references").BeginObject();
  json.Key("total").Uint(report.total());
  for (const auto outcome : kOutcomes) json.Key(ToString(outcome)).Uint(report.counted.count(outcome));
  json.EndObject();
  json.Key("address_references").BeginObject();
  json.Key("total").Uint(report.address_total());
  for (const auto outcome : kOutcomes) json.Key(ToString(outcome)).Uint(report.counted.address_count(outcome));
  json.EndObject();
  WriteRundowns(json, report);
  if (!unresolved) WriteClrTables(json, report.clr, report.info);
  json.EndObject();
  json.EndLine();
  return std::string(json.text());
}

void AppendCells(fmt::memory_buffer& out, std::initializer_list<std::string_view> cells) {
  bool first = true;
  for (const std::string_view cell : cells) {
    if (!first) out.push_back(',');
    first = false;
    AppendCell(out, cell);
  }
  out.push_back('\n');
}

std::string ToCsv(const Report& report, bool unresolved) {
  fmt::memory_buffer out;
  AppendChars(out, unresolved ? kUnresolvedTitles : kMethodTitles);
  if (unresolved) {
    for (const auto& [method, use] : report.counted.unknown()) {
      AppendCells(
          out, {std::to_string(method.pid), InstanceText(method.clr_instance), fmt::format("{:#x}", method.method_id),
                report.Reason(method, use), std::to_string(use.count), report.Time(use.first), report.Time(use.last)});
    }
    return fmt::to_string(out);
  }
  const auto& versions = report.methods.versions();
  for (size_t i = 0; i < versions.size(); ++i) {
    const MethodVersion& method = versions[i];
    const MethodUse& use = report.counted.use(i);
    AppendCells(out, {std::to_string(method.pid),
                      InstanceText(method.clr_instance),
                      fmt::format("{:#x}", method.method_id),
                      std::to_string(method.rejit_id),
                      method.namespace_name(),
                      method.name(),
                      method.signature(),
                      fmt::format("{:#x}", method.start_address),
                      std::to_string(method.size),
                      method.module(),
                      method.tier(),
                      method.extent(),
                      fmt::format("{:#x}", method.token),
                      fmt::format("{:#x}", method.flags),
                      method.interop(),
                      ToString(method.learnt),
                      std::to_string(method.loads),
                      report.Time(method.from),
                      report.Time(method.to),
                      std::to_string(use.count),
                      report.Time(use.first),
                      report.Time(use.last),
                      std::to_string(report.counted.address_uses(i))});
  }
  return fmt::to_string(out);
}

std::string UnresolvedText(const Report& report) {
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"references", kRight}, {"pid", kRight}, {"method_id", kRight}, {"reason"}});
  for (const auto& [method, use] : report.counted.unknown()) {
    table.Add({Grouped(use.count), std::to_string(method.pid), fmt::format("{:#x}", method.method_id),
               std::string(report.Reason(method, use))});
  }
  return table.empty() ? std::string() : table.ToText("  ");
}

std::string MethodsText(const Report& report) {
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"references", kRight},
               {"addresses", kRight},
               {"pid", kRight},
               {"method_id", kRight},
               {"start", kRight},
               {"size", kRight},
               {"tier"},
               {"learnt"},
               {"method"}});
  const auto& versions = report.methods.versions();
  for (size_t i = 0; i < versions.size(); ++i) {
    const MethodVersion& method = versions[i];
    const std::string_view tier = method.tier().empty() ? "-" : method.tier();
    std::string name(method.module());
    if (!name.empty()) name += '!';
    name += method.named() ? FullName(method) : "?";
    table.Add({Grouped(report.counted.use(i).count), Grouped(report.counted.address_uses(i)),
               std::to_string(method.pid), fmt::format("{:#x}", method.method_id),
               fmt::format("{:#x}", method.start_address), Grouped(method.size), std::string(tier),
               std::string(ToString(method.learnt)), std::move(name)});
  }
  return table.empty() ? std::string() : table.ToText("  ");
}

enum class View : uint8_t { kMethods, kUnresolved, kModules };

template <typename CountOf>
std::string OutcomesText(const CountOf& count_of) {
  std::string text;
  for (const auto outcome : kOutcomes) {
    if (count_of(outcome) != 0) text += fmt::format(", {} {}", Grouped(count_of(outcome)), ToString(outcome));
  }
  return text;
}

std::string ToText(const Report& report, const std::string& file, View view) {
  const Colours colours = ColoursFor(1);
  std::string text = fmt::format("{}{}{}: {} methods, {} references by id", colours.bold, Printable(file),
                                 colours.reset, Grouped(report.methods.versions().size()), Grouped(report.total()));
  text += OutcomesText([&](auto outcome) { return report.counted.count(outcome); }) + '\n';
  if (report.address_total() != 0) {
    text += fmt::format("  {} code addresses in processes with a CLR{}\n", Grouped(report.address_total()),
                        OutcomesText([&](auto outcome) { return report.counted.address_count(outcome); }));
  }
  for (const auto& rundown : report.clr.rundowns()) {
    if (!rundown.incomplete()) continue;
    text += fmt::format("  {}the rundown of process {} at the {} of the session is incomplete{}\n", colours.yellow,
                        rundown.pid, rundown.at_end ? "end" : "start", colours.reset);
  }
  switch (view) {
    case View::kMethods: return text + MethodsText(report);
    case View::kUnresolved: return text + UnresolvedText(report);
    case View::kModules: return text + ClrTablesText(report.clr);
  }
  return text;
}

class MethodsCommand final : public Subcommand {
 public:
  CommandHelp help() const override {
    return {.name = "methods",
            .summary = "Lists the methods of the CLR, where their code stood, and how many events refer to them.",
            .arguments = "FILE",
            .details =
                "One row per process and code version: tiers, ReJIT versions and methods loaded again stand apart. "
                "References are\nevents that carry a MethodID and no name. exact: the method was loaded then; "
                "backfilled: it is told of later;\nstale: it was unloaded before; ambiguous: several methods had the "
                "id; unknown: no record tells of it.",
            .examples =
                "  etwpipe methods trace.etl\n"
                "  etwpipe methods --format json trace.etl\n"
                "  etwpipe methods --unresolved trace.etl\n"
                "  etwpipe methods --modules trace.etl",
            .min_arguments = 1,
            .max_arguments = 1};
  }

  void AddOptions(po::options_description& options) override {
    format_.Add(options, {"text", "json", "csv"});
    options.add_options()("unresolved", po::bool_switch(&unresolved_), "list the ids that stayed unknown, and why");
    options.add_options()(
        "modules", po::bool_switch(&modules_),
        "list runtimes with their rundown, application domains, assemblies and modules (csv: modules)");
    schemas_.Add(options);
    fail_on_.Add(options);
    read_.Add(options);
  }

  Status Run(const CommandArgs& args) override {
    ETWPIPE_RETURN_IF_ERROR(format_.Check());
    ETWPIPE_RETURN_IF_ERROR(fail_on_.Check());
    ETWPIPE_RETURN_IF_ERROR(read_.Check());
    if (unresolved_ && modules_) return Status::InvalidArgument("--unresolved and --modules exclude each other");
    const auto surveyors = schemas_.Surveyors();
    if (!surveyors.ok()) return surveyors.status();
    const std::string& file = args.arguments.front();
    Diagnostics diagnostics;
    MethodCountSink counted;
    const auto source = ReadTrace({.path = file,
                                   .options = read_,
                                   .sink = counted,
                                   .cancel = args.cancel,
                                   .diagnostics = &diagnostics,
                                   .check_all = fail_on_.WantsDamage(),
                                   .surveyors = *surveyors});
    if (!source.ok()) return source.status();
    const TraceContext& trace = (*source)->context();
    const Report report{trace.info, *trace.facts->Get<facts::MethodTable>(), *trace.facts->Get<facts::ClrTable>(),
                        counted};
    if (format_.json()) {
      ETWPIPE_RETURN_IF_ERROR(Print(ToJson(report, file, unresolved_)));
    } else if (format_.value == "csv") {
      ETWPIPE_RETURN_IF_ERROR(Print(modules_ ? ModulesCsv(report.clr, report.info) : ToCsv(report, unresolved_)));
    } else {
      const View view = unresolved_ ? View::kUnresolved : modules_ ? View::kModules : View::kMethods;
      ETWPIPE_RETURN_IF_ERROR(Print(ToText(report, file, view)));
    }
    NoteDamage(file, diagnostics);
    return fail_on_.Judge(file, trace.info, diagnostics);
  }

 private:
  FormatOption format_;
  SchemaOptions schemas_;
  FailOnOption fail_on_;
  ReadOptions read_;
  bool unresolved_ = false;
  bool modules_ = false;
};

}  // namespace

std::unique_ptr<Subcommand> MakeMethodsCommand() { return std::make_unique<MethodsCommand>(); }

}  // namespace etwpipe
