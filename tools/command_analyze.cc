// etwpipe analyze: what the time of a trace was spent on.
#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <limits>

#include "stages/annotate_activity/chosen_activities.h"
#include "stages/annotate_activity/timing_event.h"
#include "tools/activity_report.h"
#include "tools/commands.h"
#include "tools/common_options.h"
#include "tools/config_file.h"
#include "tools/csv_rows.h"
#include "tools/json_writer.h"
#include "tools/message_json.h"
#include "tools/null_sink.h"
#include "tools/read_trace.h"
#include "tools/standard_output.h"
#include "tools/table.h"

namespace etwpipe {
namespace {

namespace po = boost::program_options;
using activities::Activity;
using activities::ActivityTable;

// Fills a table while a trace is read twice.
class Collect final : public Stage {
 public:
  explicit Collect(ChosenActivities chosen) : chosen_(std::move(chosen)) {
    info_.name = "activities";
    info_.summary = "collects activities";
    info_.needs = StageNeeds::kPayload;
    info_.facts = static_cast<FactSet>(chosen_.facts | kThreads);
    info_.order = Order::kTime;
    info_.ordered = true;
    info_.analysis_passes = ActivityTable::kPasses - 1;
  }

  const StageInfo& info() const override { return info_; }
  Status Bind(const BindArgs& args) override {
    chosen_.rules->Bind(args.trace);
    table_ = std::make_unique<ActivityTable>(args.trace, chosen_.walk);
    return {};
  }
  Status Analyze(const ProcessArgs& args, int pass) const override {
    table_->Observe(args.batch, pass);
    return {};
  }
  Status Process(const ProcessArgs& args) const override {
    table_->Observe(args.batch, ActivityTable::kPasses - 1);
    return {};
  }
  ActivityTable& table() const { return *table_; }

 private:
  StageInfo info_;
  ChosenActivities chosen_;
  std::unique_ptr<ActivityTable> table_;
};

struct Report {
  const std::string& file;
  const TraceContext& trace;
  const ActivityTable& table;
  ReportOrder order = ReportOrder::kResponsibility;
  size_t top = 0;  // 0: all

  size_t Shown(size_t rows) const { return top == 0 ? rows : std::min(top, rows); }
};

std::string Milliseconds(const Report& report, int64_t ticks) {
  const int64_t frequency = report.trace.info.clock.frequency;
  const auto microseconds = static_cast<int64_t>(Int128{ticks} * 1'000'000 / frequency);
  return fmt::format("{}.{:03}", Grouped(static_cast<uint64_t>(microseconds / 1000)), microseconds % 1000);
}

// One digit behind the point, cut off.
std::string Percent(int64_t part, int64_t whole) {
  if (whole <= 0) return "0.0";
  const auto tenths = static_cast<int64_t>(Int128{part} * 1000 / whole);
  return fmt::format("{}.{}", tenths / 10, tenths % 10);
}

std::string Bar(int64_t part, int64_t whole) {
  constexpr int64_t kWidth = 20;
  const auto filled =
      whole <= 0
          ? 0
          : static_cast<size_t>(std::clamp(static_cast<int64_t>(Int128{part} * kWidth / whole), int64_t{0}, kWidth));
  return std::string(filled, '#') + std::string(kWidth - filled, '.');
}

void WriteTotals(JsonWriter& json, const Report& report) {
  int64_t responsibility = 0;
  for (const Activity& activity : report.table.all()) responsibility += activity.exclusive_responsibility;
  json.Key("totals").BeginObject();
  json.Key("activities").Uint(report.table.all().size());
  json.Key("covered").Int(report.table.covered());
  json.Key("responsibility").Int(responsibility);
  json.Key("cpu_time").String(ToString(report.table.cpu_time()));
  const auto& counts = report.table.counts();
  json.Key("unterminated").Uint(counts.unterminated);
  json.Key("truncated_start").Uint(counts.truncated_start);
  json.Key("unbalanced").Uint(counts.unbalanced);
  json.Key("migrated").Uint(counts.migrated);
  json.Key("negative").Uint(counts.negative);
  json.Key("late_children").Uint(counts.late_children);
  json.Key("switches_lost").Uint(report.table.history().switches.anomalies);
  json.EndObject();
}

void BeginJson(JsonWriter& json, const Report& report) {
  json.BeginObject();
  json.Key("file").String(report.file);
  json.Key("tick_frequency").Int(report.trace.info.clock.frequency);
}

std::string ActivitiesJson(const Report& report) {
  JsonWriter json;
  BeginJson(json, report);
  const auto sorted = SortedActivities(report.table, report.order);
  json.Key("activities").BeginArray();
  v1::ActivityTiming timing;
  for (size_t i = 0; i < report.Shown(sorted.size()); ++i) {
    FillTiming(report.table, *sorted[i], timing);
    WriteMessage(json, timing);
  }
  json.EndArray();
  WriteTotals(json, report);
  json.EndObject();
  return std::string(json.text()) + "\n";
}

std::string ThreadsJson(const Report& report) {
  JsonWriter json;
  BeginJson(json, report);
  const auto rows = ThreadRows(report.table, report.trace, report.order);
  json.Key("threads").BeginArray();
  for (size_t i = 0; i < report.Shown(rows.size()); ++i) {
    const ThreadRow& row = rows[i];
    json.BeginObject();
    json.Key("pid");
    row.pid == kNoId ? json.Null() : json.Uint(row.pid);
    json.Key("tid");
    row.tid == kNoId ? json.Null() : json.Uint(row.tid);
    json.Key("process").StringOrNull(row.process);
    json.Key("name").StringOrNull(row.name);
    json.Key("activities").Uint(row.activities);
    json.Key("duration").Int(row.duration);
    json.Key("cpu").Int(row.cpu);
    json.Key("responsibility").Int(row.responsibility);
    json.EndObject();
  }
  json.EndArray();
  WriteTotals(json, report);
  json.EndObject();
  return std::string(json.text()) + "\n";
}

std::string IdText(uint32_t id) { return id == kNoId ? std::string() : std::to_string(id); }

std::string ActivitiesCsv(const Report& report) {
  fmt::memory_buffer out;
  AppendChars(out,
              "event_instance_id,name,parent,pid,tid,start,stop,duration,exclusive_duration,cpu,exclusive_cpu,"
              "responsibility,exclusive_responsibility,flags,kind\n");
  const auto sorted = SortedActivities(report.table, report.order);
  for (size_t i = 0; i < report.Shown(sorted.size()); ++i) {
    const Activity& activity = *sorted[i];
    fmt::format_to(std::back_inserter(out), "{},", activity.id);
    AppendCell(out, report.table.NameOf(activity));
    fmt::format_to(std::back_inserter(out), ",{},{},{},{},{},{},{},{},{},{},{},",
                   activity.parent == 0 ? std::string() : std::to_string(activity.parent), IdText(activity.pid),
                   IdText(activity.tid), activity.start, activity.stop, activity.duration(),
                   activity.exclusive_duration, activity.cpu, activity.exclusive_cpu, activity.responsibility,
                   activity.exclusive_responsibility);
    AppendChars(out, fmt::format("{}", fmt::join(activities::FlagNames(activity.flags), ";")));
    fmt::format_to(std::back_inserter(out), ",{}\n", activities::ToString(activity.kind));
  }
  return fmt::to_string(out);
}

std::string ThreadsCsv(const Report& report) {
  fmt::memory_buffer out;
  AppendChars(out, "pid,tid,process,name,activities,duration,cpu,responsibility\n");
  const auto rows = ThreadRows(report.table, report.trace, report.order);
  for (size_t i = 0; i < report.Shown(rows.size()); ++i) {
    const ThreadRow& row = rows[i];
    fmt::format_to(std::back_inserter(out), "{},{},", IdText(row.pid), IdText(row.tid));
    AppendCell(out, row.process);
    out.push_back(',');
    AppendCell(out, row.name);
    fmt::format_to(std::back_inserter(out), ",{},{},{},{}\n", row.activities, row.duration, row.cpu,
                   row.responsibility);
  }
  return fmt::to_string(out);
}

std::string Head(const Report& report) {
  const Colours colours = ColoursFor(1);
  const auto& counts = report.table.counts();
  std::string text = fmt::format("{}{}{}: {} activities over {} ms of wall-clock time, CPU time: {}\n", colours.bold,
                                 Printable(report.file), colours.reset, Grouped(report.table.all().size()),
                                 Milliseconds(report, report.table.covered()), ToString(report.table.cpu_time()));
  std::string odd;
  const auto say = [&](uint64_t count, std::string_view what) {
    if (count != 0) odd += fmt::format("{}{} {}", odd.empty() ? "" : ", ", Grouped(count), what);
  };
  say(counts.unterminated, "without a stop");
  say(counts.truncated_start, "without a start");
  say(counts.unbalanced, "unbalanced");
  say(counts.negative, "with a stop before the start");
  say(report.table.history().switches.anomalies, "context switches lost");
  if (!odd.empty()) text += fmt::format("  {}{}{}\n", colours.yellow, odd, colours.reset);
  return text;
}

std::string Left(size_t shown, size_t rows) {
  return shown == rows ? std::string() : fmt::format("  ... and {} more (--top 0 shows all)\n", Grouped(rows - shown));
}

std::string ActivitiesText(const Report& report) {
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"responsible ms", kRight},
               {"%", kRight},
               {""},
               {"own ms", kRight},
               {"cpu ms", kRight},
               {"duration ms", kRight},
               {"pid", kRight},
               {"tid", kRight},
               {"activity"}});
  const auto sorted = SortedActivities(report.table, report.order);
  const size_t shown = report.Shown(sorted.size());
  int64_t own = 0;
  for (size_t i = 0; i < shown; ++i) {
    const Activity& activity = *sorted[i];
    own += activity.exclusive_responsibility;
    std::string name(report.table.NameOf(activity));
    if (activity.flags != 0) name += fmt::format(" ({})", fmt::join(activities::FlagNames(activity.flags), ", "));
    table.Add({Milliseconds(report, activity.responsibility), Percent(activity.responsibility, report.table.covered()),
               Bar(activity.responsibility, report.table.covered()),
               Milliseconds(report, activity.exclusive_responsibility), Milliseconds(report, activity.cpu),
               Milliseconds(report, activity.duration()), IdText(activity.pid), IdText(activity.tid), std::move(name)});
  }
  std::string text = Head(report);
  if (!table.empty()) text += table.ToText("  ");
  text += Left(shown, sorted.size());
  text += fmt::format("  own time of the rows shown: {} ms of {} ms\n", Milliseconds(report, own),
                      Milliseconds(report, report.table.covered()));
  return text;
}

std::string ThreadsText(const Report& report) {
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"responsible ms", kRight},
               {"%", kRight},
               {""},
               {"cpu ms", kRight},
               {"own duration ms", kRight},
               {"activities", kRight},
               {"pid", kRight},
               {"tid", kRight},
               {"process"},
               {"thread"}});
  const auto rows = ThreadRows(report.table, report.trace, report.order);
  const size_t shown = report.Shown(rows.size());
  int64_t sum = 0;
  for (size_t i = 0; i < shown; ++i) {
    const ThreadRow& row = rows[i];
    sum += row.responsibility;
    table.Add({Milliseconds(report, row.responsibility), Percent(row.responsibility, report.table.covered()),
               Bar(row.responsibility, report.table.covered()), Milliseconds(report, row.cpu),
               Milliseconds(report, row.duration), Grouped(row.activities), IdText(row.pid), IdText(row.tid),
               row.process, row.name});
  }
  std::string text = Head(report);
  if (!table.empty()) text += table.ToText("  ");
  text += Left(shown, rows.size());
  text += fmt::format("  the rows shown: {} ms of {} ms\n", Milliseconds(report, sum),
                      Milliseconds(report, report.table.covered()));
  return text;
}

class AnalyzeCommand final : public Subcommand {
 public:
  CommandHelp help() const override {
    return {
        .name = "analyze",
        .summary = "Reports what the time of a trace was spent on: activities and threads.",
        .arguments = "FILE",
        .details =
            "An activity is what has a start and a stop: pairs of events of a provider, of the CLR, of a build. Every "
            "instant is\ndivided among the activities that go on and have no child that does: the sum is its "
            "wall-clock time responsibility.\nOwn values leave children out and add up to the covered time. CPU "
            "time needs context switches in the trace.",
        .examples =
            "  etwpipe analyze trace.etl\n"
            "  etwpipe analyze --report threads --sort cpu trace.etl\n"
            "  etwpipe analyze --kinds clr --top 5 --format json trace.etl",
        .min_arguments = 1,
        .max_arguments = 1};
  }

  void AddOptions(po::options_description& options) override {
    options.add_options()                                                                                        //
        ("report", po::value(&report_)->value_name("activities|threads"), "what to list (default: activities)")  //
        ("sort", po::value(&sort_)->value_name("responsibility|cpu|duration"),
         "largest first (default: responsibility)")                                                            //
        ("top", po::value(&top_)->value_name("N"), "rows to show, 0 for all (default: 20 in text, else all)")  //
        ("kinds", po::value(&kinds_)->value_name("KIND,..."),
         "what counts: app, clr, buildinsights, rules (default: these), process, thread")  //
        ("division", po::value(&division_)->value_name("leaves|roots"),
         "how an instant is divided (default: leaves)")                                                             //
        ("cpu", po::value(&cpu_)->value_name("switches|samples"), "where CPU time comes from (default: switches)")  //
        ("config", po::value(&config_)->value_name("FILE"),
         "take the options of the annotate.activity stage in FILE, rules included");
    format_.Add(options, {"text", "json", "csv"});
    schemas_.Add(options);
    fail_on_.Add(options);
    read_.Add(options);
  }

  Status Run(const CommandArgs& args) override {
    ETWPIPE_RETURN_IF_ERROR(format_.Check());
    ETWPIPE_RETURN_IF_ERROR(fail_on_.Check());
    ETWPIPE_RETURN_IF_ERROR(read_.Check());
    ETWPIPE_RETURN_IF_ERROR(CheckChoice("--report", report_, {"activities", "threads"}));
    ETWPIPE_RETURN_IF_ERROR(CheckChoice("--sort", sort_, {"responsibility", "cpu", "duration"}));
    v1::AnnotateActivityOptions options;
    ETWPIPE_RETURN_IF_ERROR(ReadOptionsOf(args.registry, options));
    auto chosen = ChooseActivities(options);
    if (!chosen.ok()) return chosen.status();
    const auto surveyors = schemas_.Surveyors();
    if (!surveyors.ok()) return surveyors.status();

    const std::string& file = args.arguments.front();
    Diagnostics diagnostics;
    Plan plan;
    plan.Append(std::make_unique<Collect>(std::move(*chosen)));
    const auto& collect = static_cast<const Collect&>(*plan.stages.front().stage);
    NullSink sink;
    const auto source = ReadTrace({.path = file,
                                   .options = read_,
                                   .sink = sink,
                                   .cancel = args.cancel,
                                   .diagnostics = &diagnostics,
                                   .plan = &plan,
                                   .surveyors = *surveyors});
    if (!source.ok()) return source.status();
    ActivityTable& table = collect.table();
    table.Finish();
    const size_t top = top_ != kDefaultTop ? top_ : format_.value == "text" ? size_t{20} : size_t{0};
    const Report report{file, (*source)->context(), table, Order(), top};
    ETWPIPE_RETURN_IF_ERROR(Print(TextOf(report)));
    return fail_on_.Judge(file, report.trace.info, diagnostics);
  }

 private:
  static constexpr size_t kDefaultTop = std::numeric_limits<size_t>::max();

  ReportOrder Order() const {
    if (sort_ == "cpu") return ReportOrder::kCpu;
    return sort_ == "duration" ? ReportOrder::kDuration : ReportOrder::kResponsibility;
  }

  std::string TextOf(const Report& report) const {
    const bool threads = report_ == "threads";
    if (format_.json()) return threads ? ThreadsJson(report) : ActivitiesJson(report);
    if (format_.value == "csv") return threads ? ThreadsCsv(report) : ActivitiesCsv(report);
    return threads ? ThreadsText(report) : ActivitiesText(report);
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
  std::string sort_ = "responsibility";
  size_t top_ = kDefaultTop;
  std::string kinds_;
  std::string division_;
  std::string cpu_;
  std::string config_;
};

}  // namespace

std::unique_ptr<Subcommand> MakeAnalyzeCommand() { return std::make_unique<AnalyzeCommand>(); }

}  // namespace etwpipe
