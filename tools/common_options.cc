#include "tools/common_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options/value_semantic.hpp>
#include <charconv>
#include <filesystem>

#include "pipeline/platform.h"
#include "tools/command_line.h"
#include "tools/standard_output.h"

namespace etwpipe {
namespace {

namespace po = boost::program_options;

constexpr int kMaxThreads = 256;

// Words of --fail-on that stand for several diagnostics.
constexpr std::string_view kAny = "any";
constexpr std::string_view kLoss = "loss";
constexpr std::string_view kDamage = "damage";
constexpr std::string_view kSchema = "schema";

bool IsLoss(DiagnosticId id) { return id == DiagnosticId::kEventsLost || id == DiagnosticId::kBuffersLost; }

bool Matches(std::string_view wanted, DiagnosticId id) {
  if (wanted == kAny) return true;
  if (wanted == kLoss) return IsLoss(id);
  if (wanted == kDamage) return InfoOf(id).severity != Severity::kInfo;
  if (wanted == kSchema) return InfoOf(id).id.starts_with("schema-");
  return InfoOf(id).id == wanted;
}

std::vector<std::string> FailOnWords() {
  std::vector<std::string> words = {std::string(kAny), std::string(kLoss), std::string(kDamage), std::string(kSchema)};
  for (int id = 0; id < static_cast<int>(DiagnosticId::kCount); ++id) {
    words.emplace_back(InfoOf(static_cast<DiagnosticId>(id)).id);
  }
  return words;
}

std::vector<std::string> SplitAtCommas(const std::vector<std::string>& values) {
  std::vector<std::string> words;
  for (const auto& value : values) {
    for (size_t begin = 0; begin <= value.size();) {
      const size_t end = std::min(value.find(',', begin), value.size());
      words.push_back(value.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return words;
}

}  // namespace

void ReadOptions::Add(po::options_description& options) {
  const auto asked = [this](int) { threads_asked_ = true; };
  options.add_options()  //
      ("threads", po::value(&threads)->value_name("N")->notifier(asked),
       "threads to use; 1 to 256 (default: all cores)")  //
      ("spool", po::value(&spool_dir)->value_name("DIR"), "folder for spool files (default: TMPDIR or /tmp)");
}

Status ReadOptions::Check() {
  if (!threads_asked_) threads = AvailableCores();
  if (threads < 1 || threads > kMaxThreads) {
    return Status::InvalidArgument(fmt::format("--threads: {} is not possible; use 1 to {}", threads, kMaxThreads));
  }
  std::error_code ignored;
  if (!spool_dir.empty() && !std::filesystem::is_directory(spool_dir, ignored)) {
    return Status::InvalidArgument(fmt::format("--spool: {}: no such folder; create it or name another", spool_dir));
  }
  return {};
}

void SchemaOptions::Add(po::options_description& options) {
  options.add_options()  //
      ("manifest", po::value(&sources.manifests)->value_name("FILE|DIR"),
       "describe events, other than the CLR's, by a manifest (.man, .xml, .schema); repeatable")  //
      ("clr-ids", po::value(&clr_ids)->value_name("safe|strict|lenient"),
       "how far to believe the documentation's ids of CLR method events (default: safe)");
}

Result<SurveyorFactory> SchemaOptions::Surveyors() {
  ETWPIPE_RETURN_IF_ERROR(CheckChoice("--clr-ids", clr_ids, {"safe", "strict", "lenient"}));
  sources.clr_ids = clr_ids == "strict"    ? schema::ClrIds::kStrict
                    : clr_ids == "lenient" ? schema::ClrIds::kLenient
                                           : schema::ClrIds::kSafe;
  sources.environment = Environment("ETWPIPE_MANIFEST_PATH");
  auto made = facts::MakeSurveyors(sources);
  if (!made.ok()) return made.status();
  for (const auto& problem : made->problems) PrintNote(problem);
  return std::move(made->factory);
}

void FormatOption::Add(po::options_description& options, std::initializer_list<std::string_view> choices) {
  choices_.assign(choices.begin(), choices.end());
  value = choices_.front();
  const std::string name = fmt::format("{}", fmt::join(choices_, "|"));
  options.add_options()("format", po::value(&value)->value_name(name),
                        fmt::format("how to print (default: {})", choices_.front()).c_str());
}

Status FormatOption::Check() const { return CheckChoice("--format", value, choices_); }

void FailOnOption::Add(po::options_description& options) {
  options.add_options()("fail-on", po::value(&values)->value_name("WHAT[,WHAT]..."),
                        "exit with status 3 on any|loss|damage|schema or a diagnostic's id");
}

Status FailOnOption::Check() {
  values = SplitAtCommas(values);
  const auto words = FailOnWords();
  for (const auto& value : values) ETWPIPE_RETURN_IF_ERROR(CheckChoice("--fail-on", value, words));
  return {};
}

bool FailOnOption::WantsDamage() const {
  return std::any_of(values.begin(), values.end(),
                     [](const std::string& wanted) { return Matches(wanted, DiagnosticId::kArchiveFrameBad); });
}

void NoteDamage(std::string_view file, const Diagnostics& diagnostics) {
  for (const auto& entry : diagnostics.entries()) {
    if (InfoOf(entry.id).severity == Severity::kInfo) continue;
    PrintNote(fmt::format("{}: {} x {}: {}; what cannot be read is not in the result", file, entry.count,
                          InfoOf(entry.id).id, entry.text));
  }
}

Status FailOnOption::Judge(std::string_view file, const TraceInfo& info, const Diagnostics& diagnostics) const {
  for (const auto& wanted : values) {
    if ((wanted == kAny || wanted == kLoss) && (info.events_lost != 0 || info.buffers_lost != 0)) {
      return {StatusCode::kAnswerNo, fmt::format("{}: lost {} events and {} buffers (--fail-on {})", file,
                                                 info.events_lost, info.buffers_lost, wanted)};
    }
    for (const auto& entry : diagnostics.entries()) {
      if (!Matches(wanted, entry.id)) continue;
      return {StatusCode::kAnswerNo,
              fmt::format("{}: {} x {} (--fail-on {})", file, entry.count, InfoOf(entry.id).id, wanted)};
    }
  }
  return {};
}

Status CheckChoice(std::string_view option, const std::string& value, const std::vector<std::string>& choices) {
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return {};
  const std::string all =
      choices.size() <= 8 ? fmt::format("; use {}", fmt::join(choices, ", ")) : std::string("; see --help");
  return Status::InvalidArgument(
      fmt::format("{}: \"{}\" is not known{}", option, value, DidYouMean(value, choices, all)));
}

Result<std::optional<uint64_t>> ParseCount(std::string_view option, const std::string& text) {
  if (text.empty()) return std::optional<uint64_t>();
  uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size()) {
    return Status::InvalidArgument(fmt::format("{}: \"{}\" is no count; use a number like 20", option, text));
  }
  return std::optional(count);
}

}  // namespace etwpipe
