// etwpipe verify: structure and checksums; the exit status says it all.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/program_options.hpp>
#include <iterator>
#include <utility>

#include "formats/open.h"
#include "formats/verify_against.h"
#include "tools/command_line.h"
#include "tools/commands.h"
#include "tools/common_options.h"
#include "tools/json_writer.h"
#include "tools/per_file.h"
#include "tools/standard_output.h"
#include "tools/table.h"

namespace etwpipe {
namespace {

namespace po = boost::program_options;
using Level = VerifyFinding::Level;

std::string_view LevelText(Level level) {
  switch (level) {
    case Level::kOk: return "ok";
    case Level::kNote: return "note";
    case Level::kError: return "error";
  }
  return "error";
}

bool HasError(const std::vector<VerifyFinding>& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const VerifyFinding& finding) { return finding.level == Level::kError; });
}

void WriteJson(JsonWriter& json, const std::string& file, const std::vector<VerifyFinding>& findings) {
  json.BeginObject();
  json.Key("file").String(file);
  json.Key("ok").Bool(!HasError(findings));
  json.Key("checks").BeginArray();
  for (const auto& finding : findings) {
    json.BeginObject();
    json.Key("check").String(finding.check);
    json.Key("level").String(LevelText(finding.level));
    json.Key("text").String(finding.text);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

std::string ToText(const std::string& file, const std::vector<VerifyFinding>& findings) {
  const Colours colours = ColoursFor(1);
  size_t width = 0;
  for (const auto& finding : findings) width = std::max(width, finding.check.size());
  std::string text = fmt::format("{}{}{}: {}\n", colours.bold, Printable(file), colours.reset,
                                 HasError(findings) ? "errors found" : "ok");
  for (const auto& finding : findings) {
    const std::string_view colour = finding.level == Level::kOk     ? colours.green
                                    : finding.level == Level::kNote ? colours.yellow
                                                                    : colours.red;
    std::string line = fmt::format("  {}{:<5}{}  {:<{}}  {}", colour, LevelText(finding.level), colours.reset,
                                   finding.check, width, Printable(finding.text));
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

class VerifyCommand final : public Subcommand {
 public:
  CommandHelp help() const override {
    return {
        .name = "verify",
        .summary = "Checks structure and checksums of traces, or a trace against its original.",
        .arguments = "FILE...",
        .details =
            "Each check is ok, note or error. What only our own files promise is a note in files of "
            "others. Exit status: 0 no error,\n3 errors found.\n\n"
            "An archive is checked without being restored: whether it gives its original back bit for bit, "
            "--against or run tells.\n"
            "With --against every event of ORIGINAL must be in FILE, in its order, with its id and all its bytes; if "
            "FILE is an\nexact archive, so must every other byte of ORIGINAL.",
        .examples =
            "  etwpipe verify trace.etl\n"
            "  etwpipe verify -q archive.etwp --against original.etl && rm original.etl",
        .min_arguments = 1,
        .max_arguments = kAnyNumber};
  }

  void AddOptions(po::options_description& options) override {
    format_.Add(options, {"text", "json"});
    options.add_options()  //
        ("against", po::value(&against_)->value_name("ORIGINAL"),
         "compare FILE with the trace that it was made from")  //
        ("quiet,q", po::bool_switch(&quiet_), "print nothing but errors that prevent the check");
    read_.Add(options);
  }

  Status Run(const CommandArgs& args) override {
    ETWPIPE_RETURN_IF_ERROR(format_.Check());
    ETWPIPE_RETURN_IF_ERROR(read_.Check());
    if (!against_.empty() && args.arguments.size() > 1) {
      return Status::InvalidArgument("--against: compares one FILE with one ORIGINAL; give one FILE");
    }
    JsonFiles json(args.arguments.size());
    const Status status = ForEachFile(args.arguments, [&](const std::string& path) -> Status {
      const auto findings = VerifyFile(path, args.cancel);
      if (!findings.ok()) return findings.status();
      if (format_.json()) {
        WriteJson(json.writer, path, *findings);
      } else if (!quiet_) {
        ETWPIPE_RETURN_IF_ERROR(Print(ToText(path, *findings)));
      }
      return HasError(*findings) ? Status(StatusCode::kAnswerNo, "") : Status();
    });
    return format_.json() && !quiet_ ? json.PrintUnlessCancelled(status) : status;
  }

 private:
  Result<std::vector<VerifyFinding>> VerifyFile(const std::string& path, const CancelToken& cancel) const {
    const OpenOptions options{.spool_dir = read_.spool_dir, .cancel = &cancel};
    const auto file = OpenInput(path, options);
    if (!file.ok()) return file.status();
    if (against_.empty()) return VerifyStructure(*file, read_.threads, &cancel);
    if (path != "-" && (*file)->IsSameFile(against_)) {
      return Status::InvalidArgument(fmt::format("--against: {} is FILE itself; give its original", against_));
    }
    if (path == "-" && against_ == "-") {
      return Status::InvalidArgument("--against: standard input cannot be FILE and ORIGINAL at once");
    }
    const auto original = OpenInput(against_, options);
    if (!original.ok()) return original.status();
    auto findings = VerifyStructure(*file, read_.threads, &cancel);
    if (!findings.ok()) return findings;
    auto compared = VerifyAgainst(*file, *original, read_.threads, &cancel);
    if (!compared.ok()) return compared;
    std::move(compared->begin(), compared->end(), std::back_inserter(*findings));
    return findings;
  }

  FormatOption format_;
  ReadOptions read_;
  std::string against_;
  bool quiet_ = false;
};

}  // namespace

std::unique_ptr<Subcommand> MakeVerifyCommand() { return std::make_unique<VerifyCommand>(); }

}  // namespace etwpipe
