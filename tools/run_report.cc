#include "tools/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "tools/table.h"
#include "tools/trace_json.h"

namespace etwpipe {
namespace {

// A key as people write it: method_ids.
std::string Words(std::string_view key) {
  std::string words(key);
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

// Calls `visit(group, its counts)` for each group of a stage's counts.
template <typename Visit>
void EachGroup(std::span<const StageCount> counts, const Visit& visit) {
  for (size_t begin = 0; begin < counts.size();) {
    size_t end = begin + 1;
    while (end < counts.size() && counts[end].group == counts[begin].group) ++end;
    visit(counts[begin].group, counts.subspan(begin, end - begin));
    begin = end;
  }
}

// What is not 0; empty if all is.
std::string CountsText(std::span<const StageCount> counts) {
  std::string text;
  for (const StageCount& count : counts) {
    if (count.count == 0) continue;
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {}", Grouped(count.count), Words(count.name));
  }
  return text;
}

double Ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string_view VerifiedText(std::string_view verified) {
  if (verified == "bytes") return "every byte of the input is there";
  if (verified == "events") return "every event of the input is there, byte for byte";
  return "structure and checksums; stages changed the events";
}

}  // namespace

std::string RunReport::ToText() const {
  Table table({{""}, {""}});
  const uint64_t kept = summary.events_out - summary.events_injected;
  const std::string injected =
      summary.events_injected == 0 ? std::string() : fmt::format(", {} injected", Grouped(summary.events_injected));
  table.Add({"events", fmt::format("{} in, {} kept{}", Grouped(summary.events_in), Grouped(kept), injected)});
  for (const auto& stage : summary.stages) {
    table.Add({stage.label, fmt::format("{} in, {} dropped", Grouped(stage.events_in), Grouped(stage.events_dropped))});
    EachGroup(stage.counts, [&](std::string_view group, std::span<const StageCount> counts) {
      if (const std::string text = CountsText(counts); !text.empty()) table.Add({"  " + Words(group), text});
    });
  }
  table.Add({"bytes", fmt::format("{} in, {} out ({:.1f} %)", Grouped(bytes_in), Grouped(bytes_out),
                                  100 * Ratio(bytes_out, bytes_in))});
  if (!restored.empty()) table.Add({"restored", "the original, " + restored});
  if (!verified.empty()) table.Add({"verified", std::string(VerifiedText(verified))});
  return fmt::format("{} -> {} in {:.1f} s\n{}{}", Printable(input), Printable(output), seconds, table.ToText("  "),
                     DiagnosticsText(*diagnostics));
}

std::string RunReport::ToJson() const {
  JsonWriter json;
  json.BeginObject();
  json.Key("input").String(input);
  json.Key("output").String(output);
  WriteResult(json);
  json.EndObject();
  json.EndLine();
  return std::string(json.text());
}

void RunReport::WriteResult(JsonWriter& json) const {
  json.Key("events").BeginObject();
  json.Key("in").Uint(summary.events_in);
  json.Key("kept").Uint(summary.events_out - summary.events_injected);
  json.Key("injected").Uint(summary.events_injected);
  json.EndObject();
  json.Key("stages").BeginArray();
  for (const auto& stage : summary.stages) {
    json.BeginObject();
    json.Key("label").String(stage.label);
    json.Key("in").Uint(stage.events_in);
    json.Key("dropped").Uint(stage.events_dropped);
    if (!stage.counts.empty()) json.Key("counts").BeginObject();
    EachGroup(stage.counts, [&](std::string_view group, std::span<const StageCount> counts) {
      json.Key(group).BeginObject();
      for (const StageCount& count : counts) json.Key(count.name).Uint(count.count);
      json.EndObject();
    });
    if (!stage.counts.empty()) json.EndObject();
    json.EndObject();
  }
  json.EndArray();
  json.Key("bytes").BeginObject();
  json.Key("in").Uint(bytes_in);
  json.Key("out").Uint(bytes_out);
  json.EndObject();
  json.Key("ratio").Double(Ratio(bytes_out, bytes_in));
  json.Key("seconds").Double(seconds);
  json.Key("restored").StringOrNull(restored);
  json.Key("verified").StringOrNull(verified);
  json.Key("diagnostics");
  WriteDiagnostics(json, *diagnostics);
}

}  // namespace etwpipe
