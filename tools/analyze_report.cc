#include "tools/analyze_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "stages/annotate_activity/timing_event.h"
#include "tools/csv_rows.h"
#include "tools/json_writer.h"
#include "tools/message_json.h"
#include "tools/standard_output.h"
#include "tools/table.h"

namespace etwpipe {
namespace {

using activities::Activity;

size_t Shown(size_t top, size_t rows) { return top == 0 ? rows : std::min(top, rows); }

// Numbers are rounded, as those of the chart are.
std::string Milliseconds(const TraceContext& trace, int64_t ticks) {
  const int64_t frequency = trace.info.clock.frequency;
  const auto microseconds = static_cast<int64_t>((Int128{ticks} * 2'000'000 + frequency) / (Int128{frequency} * 2));
  return fmt::format("{}.{:03}", Grouped(static_cast<uint64_t>(microseconds / 1000)), microseconds % 1000);
}

// One digit behind the point.
std::string Percent(int64_t part, int64_t whole) {
  if (whole <= 0) return "0.0";
  const auto tenths = static_cast<int64_t>((Int128{part} * 2000 + whole) / (Int128{whole} * 2));
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

void WriteTotals(JsonWriter& json, const ActivityReport& report) {
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

void BeginJson(JsonWriter& json, const std::string& file, const TraceContext& trace) {
  json.BeginObject();
  json.Key("file").String(file);
  json.Key("tick_frequency").Int(trace.info.clock.frequency);
}

std::string ActivitiesJson(const ActivityReport& report) {
  JsonWriter json;
  BeginJson(json, report.file, report.trace);
  const auto sorted = SortedActivities(report.table, report.order);
  json.Key("activities").BeginArray();
  v1::ActivityTiming timing;
  for (size_t i = 0; i < Shown(report.top, sorted.size()); ++i) {
    FillTiming(report.table, *sorted[i], timing);
    WriteMessage(json, timing);
  }
  json.EndArray();
  WriteTotals(json, report);
  json.EndObject();
  return std::string(json.text()) + "\n";
}

std::string ThreadsJson(const ActivityReport& report) {
  JsonWriter json;
  BeginJson(json, report.file, report.trace);
  const auto rows = ThreadRows(report.table, report.trace, report.order);
  json.Key("threads").BeginArray();
  for (size_t i = 0; i < Shown(report.top, rows.size()); ++i) {
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

std::string ActivitiesCsv(const ActivityReport& report) {
  fmt::memory_buffer out;
  AppendChars(out,
              "event_instance_id,name,parent,pid,tid,start,stop,duration,exclusive_duration,cpu,exclusive_cpu,"
              "responsibility,exclusive_responsibility,flags,kind\n");
  const auto sorted = SortedActivities(report.table, report.order);
  for (size_t i = 0; i < Shown(report.top, sorted.size()); ++i) {
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

std::string ThreadsCsv(const ActivityReport& report) {
  fmt::memory_buffer out;
  AppendChars(out, "pid,tid,process,name,activities,duration,cpu,responsibility\n");
  const auto rows = ThreadRows(report.table, report.trace, report.order);
  for (size_t i = 0; i < Shown(report.top, rows.size()); ++i) {
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

std::string Head(const ActivityReport& report) {
  const Colours colours = ColoursFor(1);
  const auto& counts = report.table.counts();
  std::string text = fmt::format("{}{}{}: {} activities over {} ms of wall-clock time, CPU time: {}\n", colours.bold,
                                 Printable(report.file), colours.reset, Grouped(report.table.all().size()),
                                 Milliseconds(report.trace, report.table.covered()), ToString(report.table.cpu_time()));
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

std::string ActivitiesText(const ActivityReport& report) {
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
  const size_t shown = Shown(report.top, sorted.size());
  int64_t own = 0;
  for (size_t i = 0; i < shown; ++i) {
    const Activity& activity = *sorted[i];
    own += activity.exclusive_responsibility;
    std::string name(report.table.NameOf(activity));
    if (activity.flags != 0) name += fmt::format(" ({})", fmt::join(activities::FlagNames(activity.flags), ", "));
    table.Add(
        {Milliseconds(report.trace, activity.responsibility), Percent(activity.responsibility, report.table.covered()),
         Bar(activity.responsibility, report.table.covered()),
         Milliseconds(report.trace, activity.exclusive_responsibility), Milliseconds(report.trace, activity.cpu),
         Milliseconds(report.trace, activity.duration()), IdText(activity.pid), IdText(activity.tid), std::move(name)});
  }
  std::string text = Head(report);
  if (!table.empty()) text += table.ToText("  ");
  text += Left(shown, sorted.size());
  text += fmt::format("  own time of the rows shown: {} ms of {} ms\n", Milliseconds(report.trace, own),
                      Milliseconds(report.trace, report.table.covered()));
  return text;
}

std::string ThreadsText(const ActivityReport& report) {
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
  const size_t shown = Shown(report.top, rows.size());
  int64_t sum = 0;
  for (size_t i = 0; i < shown; ++i) {
    const ThreadRow& row = rows[i];
    sum += row.responsibility;
    table.Add({Milliseconds(report.trace, row.responsibility), Percent(row.responsibility, report.table.covered()),
               Bar(row.responsibility, report.table.covered()), Milliseconds(report.trace, row.cpu),
               Milliseconds(report.trace, row.duration), Grouped(row.activities), IdText(row.pid), IdText(row.tid),
               row.process, row.name});
  }
  std::string text = Head(report);
  if (!table.empty()) text += table.ToText("  ");
  text += Left(shown, rows.size());
  text += fmt::format("  the rows shown: {} ms of {} ms\n", Milliseconds(report.trace, sum),
                      Milliseconds(report.trace, report.table.covered()));
  return text;
}
void WriteValues(JsonWriter& json, const activities::CallValues& values, const activities::CallShares& shares) {
  json.Key("calls").Uint(values.calls);
  json.Key("elapsed_inclusive").Int(values.elapsed_inclusive);
  json.Key("elapsed_exclusive").Int(values.elapsed_exclusive);
  json.Key("application_inclusive").Int(values.application_inclusive);
  json.Key("application_exclusive").Int(values.application_exclusive);
  const auto percent = [&](std::string_view key, const activities::CallShare& share) {
    json.Key(key).Double(static_cast<double>(share.hundredths()) / 100);
  };
  percent("elapsed_inclusive_percent", shares.elapsed_inclusive);
  percent("elapsed_exclusive_percent", shares.elapsed_exclusive);
  percent("application_inclusive_percent", shares.application_inclusive);
  percent("application_exclusive_percent", shares.application_exclusive);
}

std::string FunctionsJson(const FunctionReport& report, const activities::CallReport& calls) {
  JsonWriter json;
  BeginJson(json, report.file, report.trace);
  json.Key("os_events").String(activities::ToString(report.table.options().policy));
  const auto array = [&](std::string_view key, const auto& rows, size_t shown, const auto& write) {
    json.Key(key).BeginArray();
    for (size_t i = 0; i < shown; ++i) {
      json.BeginObject();
      write(rows[i]);
      WriteValues(json, rows[i].values, rows[i].shares);
      json.EndObject();
    }
    json.EndArray();
  };
  const auto id = [&](std::string_view key, uint32_t value) {
    json.Key(key);
    value == kNoId ? json.Null() : json.Uint(value);
  };
  array("functions", calls.functions, Shown(report.top, calls.functions.size()), [&](const auto& row) {
    json.Key("name").String(row.name);
    json.Key("module").StringOrNull(row.module);
  });
  array("modules", calls.modules, calls.modules.size(),
        [&](const auto& row) { json.Key("name").StringOrNull(row.name); });
  array("threads", calls.threads, calls.threads.size(), [&](const auto& row) {
    id("pid", row.pid);
    id("tid", row.tid);
  });
  array("processes", calls.processes, calls.processes.size(), [&](const auto& row) { id("pid", row.pid); });
  json.Key("session").BeginObject();
  WriteValues(json, calls.session, calls.session_shares);
  json.EndObject();
  json.EndObject();
  return std::string(json.text()) + "\n";
}

std::string FunctionsCsv(const FunctionReport& report, const activities::CallReport& calls) {
  fmt::memory_buffer out;
  AppendChars(out,
              "name,module,calls,elapsed_inclusive,elapsed_exclusive,application_inclusive,application_exclusive,"
              "elapsed_inclusive_percent,elapsed_exclusive_percent,application_inclusive_percent,"
              "application_exclusive_percent\n");
  for (size_t i = 0; i < Shown(report.top, calls.functions.size()); ++i) {
    const auto& [name, module, values, shares] = calls.functions[i];
    AppendCell(out, name);
    out.push_back(',');
    AppendCell(out, module);
    fmt::format_to(std::back_inserter(out), ",{},{},{},{},{},{},{},{},{}\n", values.calls, values.elapsed_inclusive,
                   values.elapsed_exclusive, values.application_inclusive, values.application_exclusive,
                   shares.elapsed_inclusive.Text(), shares.elapsed_exclusive.Text(),
                   shares.application_inclusive.Text(), shares.application_exclusive.Text());
  }
  return fmt::to_string(out);
}

std::string FunctionsText(const FunctionReport& report, const activities::CallReport& calls) {
  const Colours colours = ColoursFor(1);
  std::string text =
      fmt::format("{}{}{}: {} calls of {} functions, {} ms elapsed, {} ms of the application\n", colours.bold,
                  Printable(report.file), colours.reset, Grouped(calls.session.calls), Grouped(calls.functions.size()),
                  Milliseconds(report.trace, calls.session.elapsed_inclusive),
                  Milliseconds(report.trace, calls.session.application_inclusive));
  text +=
      fmt::format("  left out of application values: intervals with an operating-system event (policy {}): {} of {}\n",
                  activities::ToString(report.table.options().policy), Grouped(calls.counts.flagged_intervals),
                  Grouped(calls.counts.intervals));
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"calls", kRight},
               {"elapsed ms", kRight},
               {"%", kRight},
               {"own ms", kRight},
               {"%", kRight},
               {"application ms", kRight},
               {"%", kRight},
               {"own ms", kRight},
               {"%", kRight},
               {"function"}});
  const size_t shown = Shown(report.top, calls.functions.size());
  for (size_t i = 0; i < shown; ++i) {
    const auto& [name, module, values, shares] = calls.functions[i];
    table.Add({Grouped(values.calls), Milliseconds(report.trace, values.elapsed_inclusive),
               shares.elapsed_inclusive.Text(), Milliseconds(report.trace, values.elapsed_exclusive),
               shares.elapsed_exclusive.Text(), Milliseconds(report.trace, values.application_inclusive),
               shares.application_inclusive.Text(), Milliseconds(report.trace, values.application_exclusive),
               shares.application_exclusive.Text(), module.empty() ? name : fmt::format("{}!{}", module, name)});
  }
  if (!table.empty()) text += table.ToText("  ");
  return text + Left(shown, calls.functions.size());
}

}  // namespace

std::string ActivitiesReport(const ActivityReport& report, std::string_view format) {
  if (format == "json") return ActivitiesJson(report);
  return format == "csv" ? ActivitiesCsv(report) : ActivitiesText(report);
}

std::string ThreadsReport(const ActivityReport& report, std::string_view format) {
  if (format == "json") return ThreadsJson(report);
  return format == "csv" ? ThreadsCsv(report) : ThreadsText(report);
}

std::string FunctionsReport(const FunctionReport& report, std::string_view format) {
  const activities::CallReport calls = activities::MakeCallReport(report.table, report.order);
  if (format == "json") return FunctionsJson(report, calls);
  return format == "csv" ? FunctionsCsv(report, calls) : FunctionsText(report, calls);
}

}  // namespace etwpipe
