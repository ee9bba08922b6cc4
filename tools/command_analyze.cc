// etwpipe analyze: what the time of a trace was spent on.
#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <filesystem>
#include <functional>
#include <optional>

#include "formats/activities/call_report.h"
#include "pipeline/platform.h"
#include "stages/annotate_activity/chosen_activities.h"
#include "tools/analyze_report.h"
#include "tools/commands.h"
#include "tools/common_options.h"
#include "tools/config_file.h"
#include "tools/flame_chart.h"
#include "tools/null_sink.h"
#include "tools/read_trace.h"
#include "tools/standard_output.h"

namespace etwpipe {
namespace {

namespace po = boost::program_options;
using activities::ActivityTable;
using activities::CallTable;

// Fills a table (ActivityTable, CallTable) while a trace is read twice.
template <typename Table>
class Collect final : public Stage {
 public:
  using Make = std::function<std::unique_ptr<Table>(const TraceContext&, const activities::ActivityOptions&)>;
  Collect(ChosenActivities chosen, Make make) : chosen_(std::move(chosen)), make_(std::move(make)) {
    info_.name = "activities";
    info_.summary = "collects activities";
    info_.needs = StageNeeds::kPayload;
    info_.facts = static_cast<FactSet>(chosen_.facts | kThreads);
    info_.order = Order::kTime;
    info_.ordered = true;
    info_.analysis_passes = Table::kPasses - 1;
  }

  const StageInfo& info() const override { return info_; }
  Status Bind(const BindArgs& args) override {
    chosen_.rules->Bind(args.trace);
    table_ = make_(args.trace, chosen_.walk);
    return {};
  }
  Status Analyze(const ProcessArgs& args, int pass) const override {
    table_->Observe(args.batch, pass);
    return {};
  }
  Status Process(const ProcessArgs& args) const override {
    table_->Observe(args.batch, Table::kPasses - 1);
    return {};
  }
  Table& table() const { return *table_; }

 private:
  StageInfo info_;
  ChosenActivities chosen_;
  Make make_;
  std::unique_ptr<Table> table_;
};

class AnalyzeCommand final : public Subcommand {
 public:
  CommandHelp help() const override {
    return {
        .name = "analyze",
        .summary = "Reports what the time of a trace was spent on: activities, functions and threads.",
        .arguments = "FILE",
        .details =
            "An activity is what has a start and a stop: pairs of events of a provider, of the CLR, of a build. Every "
            "instant is\ndivided among the activities that go on and have no child that does: the sum is its "
            "wall-clock time responsibility.\nOwn values leave children out and add up to the covered time. CPU "
            "time needs context switches in the trace.\n\n"
            "--kinds: app: events of any provider with start and stop opcodes; clr: of the CLR, such as GC and JIT; "
            "buildinsights: of\n  C++ Build Insights; rules: pairs of the --config; process, thread: their lifetimes.\n"
            "--division: leaves: an instant goes in equal parts to all activities without a running child; roots: in "
            "equal parts to\n  the roots first, then down each tree.\n"
            "--os-events: default: switches away, disk transfers, hard faults, reads, writes and flushes of files; vs: "
            "switches to\n  another process and disk transfers, as the profiler of Visual Studio counts.",
        .examples =
            "  etwpipe analyze trace.etl\n"
            "  etwpipe analyze --report threads --sort cpu trace.etl\n"
            "  etwpipe analyze --kinds clr --top 5 --format json trace.etl\n"
            "  etwpipe analyze --flame chart.html trace.etl",
        .min_arguments = 1,
        .max_arguments = 1};
  }

  void AddOptions(po::options_description& options) override {
    options.add_options()  //
        ("report", po::value(&report_)->value_name("activities|functions|threads"),
         "what to list (default: activities)")  //
        ("sort", po::value(&sort_)->value_name("responsibility|cpu|duration"),
         "largest first (default: responsibility; functions: duration)")                                       //
        ("top", po::value(&top_)->value_name("N"), "rows to show, 0 for all (default: 20 in text, else all)")  //
        ("kinds", po::value(&kinds_)->value_name("KIND,..."),
         "what counts: app, clr, buildinsights, rules (default: these), process, thread")  //
        ("division", po::value(&division_)->value_name("leaves|roots"),
         "how an instant is divided (default: leaves)")  //
        ("os-events", po::value(&os_events_)->value_name("default|vs"),
         "what leaves an interval out of the application values of functions")                                      //
        ("cpu", po::value(&cpu_)->value_name("switches|samples"), "where CPU time comes from (default: switches)")  //
        ("config", po::value(&config_)->value_name("FILE"),
         "take the options of the annotate.activity stage in FILE, rules included")  //
        ("flame", po::value(&flame_)->value_name("OUT.svg|OUT.html"),
         "also write a flame chart by responsibility, for a browser; no network is needed")  //
        ("force", po::bool_switch(&force_), "overwrite the flame chart if it exists");
    format_.Add(options, {"text", "json", "csv"});
    schemas_.Add(options);
    fail_on_.Add(options);
    read_.Add(options);
  }

  Status Run(const CommandArgs& args) override {
    ETWPIPE_RETURN_IF_ERROR(format_.Check());
    ETWPIPE_RETURN_IF_ERROR(fail_on_.Check());
    ETWPIPE_RETURN_IF_ERROR(read_.Check());
    ETWPIPE_RETURN_IF_ERROR(CheckChoice("--report", report_, {"activities", "functions", "threads"}));
    ETWPIPE_RETURN_IF_ERROR(CheckSort());
    const auto top = ParseCount("--top", top_);
    if (!top.ok()) return top.status();
    rows_ = top->value_or(format_.value == "text" ? kDefaultTop : 0);
    ETWPIPE_RETURN_IF_ERROR(CheckChoice("--os-events", os_events_, {"default", "vs"}));
    ETWPIPE_RETURN_IF_ERROR(CheckFlame(args.arguments.front()));
    v1::AnnotateActivityOptions options;
    ETWPIPE_RETURN_IF_ERROR(ReadOptionsOf(args.registry, options));
    auto chosen = ChooseActivities(options);
    if (!chosen.ok()) return chosen.status();
    const auto surveyors = schemas_.Surveyors();
    if (!surveyors.ok()) return surveyors.status();

    const std::string& file = args.arguments.front();
    Diagnostics diagnostics;
    const auto source = report_ == "functions" ? Functions(file, std::move(*chosen), *surveyors, diagnostics, args)
                                               : Activities(file, std::move(*chosen), *surveyors, diagnostics, args);
    if (!source.ok()) return source.status();
    NoteDamage(file, diagnostics);
    return fail_on_.Judge(file, (*source)->context().info, diagnostics);
  }

 private:
  static constexpr size_t kDefaultTop = 20;  // of text; others show all

  // Reads the trace twice into the table that `make` makes, and hands it to `print`.
  template <typename Table, typename Make, typename Print>
  Result<std::unique_ptr<Source>> Read(const std::string& file, ChosenActivities chosen,
                                       const SurveyorFactory& surveyors, Diagnostics& diagnostics,
                                       const CommandArgs& args, Make make, Print print) const {
    Plan plan;
    plan.Append(std::make_unique<Collect<Table>>(std::move(chosen), std::move(make)));
    const auto& collect = static_cast<const Collect<Table>&>(*plan.stages.front().stage);
    NullSink sink;
    auto source = ReadTrace({.path = file,
                             .options = read_,
                             .sink = sink,
                             .cancel = args.cancel,
                             .diagnostics = &diagnostics,
                             .plan = &plan,
                             .check_all = fail_on_.WantsDamage(),
                             .surveyors = surveyors});
    if (!source.ok()) return source.status();
    collect.table().Finish();
    ETWPIPE_RETURN_IF_ERROR(print((*source)->context(), collect.table()));
    return source;
  }

  Result<std::unique_ptr<Source>> Activities(const std::string& file, ChosenActivities chosen,
                                             const SurveyorFactory& surveyors, Diagnostics& diagnostics,
                                             const CommandArgs& args) {
    const auto make = [](const TraceContext& trace, const activities::ActivityOptions& options) {
      return std::make_unique<ActivityTable>(trace, options);
    };
    const auto order = sort_ == "cpu"        ? ReportOrder::kCpu
                       : sort_ == "duration" ? ReportOrder::kDuration
                                             : ReportOrder::kResponsibility;
    return Read<ActivityTable>(file, std::move(chosen), surveyors, diagnostics, args, make,
                               [&](const TraceContext& trace, const ActivityTable& table) {
                                 if (!flame_.empty()) ETWPIPE_RETURN_IF_ERROR(WriteFlame(file, trace, table));
                                 const ActivityReport report{file, trace, table, order, rows_};
                                 return Print(report_ == "threads" ? ThreadsReport(report, format_.value)
                                                                   : ActivitiesReport(report, format_.value));
                               });
  }

  Result<std::unique_ptr<Source>> Functions(const std::string& file, ChosenActivities chosen,
                                            const SurveyorFactory& surveyors, Diagnostics& diagnostics,
                                            const CommandArgs& args) const {
    activities::CallOptions calls;
    calls.policy = os_events_ == "vs" ? activities::OsPolicy::kVs : activities::OsPolicy::kDefault;
    calls.keep_calls = false;
    const auto make = [&calls](const TraceContext& trace, const activities::ActivityOptions& options) {
      return std::make_unique<CallTable>(trace, options, calls);
    };
    const auto order =
        sort_ == "cpu" ? activities::CallColumn::kApplicationInclusive : activities::CallColumn::kElapsedInclusive;
    return Read<CallTable>(file, std::move(chosen), surveyors, diagnostics, args, make,
                           [&](const TraceContext& trace, const CallTable& table) {
                             return Print(FunctionsReport({file, trace, table, order, rows_}, format_.value));
                           });
  }

  bool FlameIsHtml() const { return flame_.ends_with(".html") || flame_.ends_with(".htm"); }

  // Whether a chart can be written, before the trace is read.
  Status CheckFlame(const std::string& file) {
    if (flame_.empty()) return {};
    if (!flame_.ends_with(".svg") && !FlameIsHtml()) {
      return Status::InvalidArgument(fmt::format("--flame {}: end the name in .svg or .html", flame_));
    }
    if (report_ == "functions") {
      return Status::InvalidArgument("--flame shows activities: leave out --report functions");
    }
    std::error_code error;
    if (std::filesystem::equivalent(file, flame_, error)) {
      return Status::InvalidArgument(fmt::format("--flame {}: is the input", flame_));
    }
    auto out = OutputFile::Create(flame_, force_, OutputFile::Stdout::kStream);
    if (!out.ok()) return out.status();
    flame_out_ = std::move(*out);
    return {};
  }

  Status WriteFlame(const std::string& file, const TraceContext& trace, const ActivityTable& table) {
    const std::vector<FlameFrame> frames = ActivityFrames(table);
    const std::string chart =
        FlameChart({.title = file,
                    .unit_note = "Widths are wall-clock time responsibility: every instant is divided among the "
                                 "activities that go on and have no child that does.",
                    .ticks_per_second = trace.info.clock.frequency,
                    .frames = frames,
                    .html = FlameIsHtml()});
    ETWPIPE_RETURN_IF_ERROR(flame_out_->Append({reinterpret_cast<const std::byte*>(chart.data()), chart.size()}));
    return flame_out_->Commit();
  }

  Status CheckSort() {
    const bool functions = report_ == "functions";
    if (functions && sort_ == "responsibility") {
      return Status::InvalidArgument("--sort responsibility: functions have none; use cpu or duration");
    }
    if (sort_.empty()) sort_ = functions ? "duration" : "responsibility";
    return CheckChoice("--sort", sort_, {"responsibility", "cpu", "duration"});
  }

  // Those of the config, then those of the command line.
  Status ReadOptionsOf(const Registry& registry, v1::AnnotateActivityOptions& options) const {
    if (!config_.empty()) {
      const auto config = ReadConfig(config_);
      if (!config.ok()) return config.status();
      const auto& stages = config->stages();
      const auto stage =
          std::find_if(stages.begin(), stages.end(), [](const auto& one) { return one.name() == "annotate.activity"; });
      if (stage == stages.end()) {
        return Status::InvalidArgument(fmt::format("{}: has no annotate.activity stage", config_));
      }
      if (stage->has_options() && !stage->options().UnpackTo(&options)) {
        return Status::InvalidArgument(fmt::format("{}: annotate.activity has options of another stage", config_));
      }
    }
    std::string argument = "annotate.activity";
    char separator = ':';
    const auto add = [&](std::string_view name, const std::string& value) {
      if (value.empty()) return;
      argument += fmt::format("{}{}={}", separator, name, value);
      separator = ',';
    };
    add("kinds", kinds_);
    add("division", division_);
    add("cpu", cpu_);
    const auto stage = ParseStageArgument(argument, registry);
    if (!stage.ok()) return stage.status();
    v1::AnnotateActivityOptions given;
    if (stage->has_options() && stage->options().UnpackTo(&given)) {
      if (!given.kinds().empty()) options.clear_kinds();
      options.MergeFrom(given);
    }
    return {};
  }

  FormatOption format_;
  SchemaOptions schemas_;
  FailOnOption fail_on_;
  ReadOptions read_;
  std::string report_ = "activities";
  std::string sort_;
  std::string top_;
  size_t rows_ = 0;  // what --top comes to; 0 for all
  std::string os_events_ = "default";
  std::string kinds_;
  std::string division_;
  std::string cpu_;
  std::string config_;
  std::string flame_;
  bool force_ = false;
  std::unique_ptr<OutputFile> flame_out_;
};

}  // namespace

std::unique_ptr<Subcommand> MakeAnalyzeCommand() { return std::make_unique<AnalyzeCommand>(); }

}  // namespace etwpipe
