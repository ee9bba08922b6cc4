#include "tools/many_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "tools/json_writer.h"
#include "tools/standard_output.h"
#include "tools/table.h"

namespace etwpipe {
namespace {

namespace fs = std::filesystem;

// Whether an earlier run can have finished `path`: what is empty, or of another kind, it did not write.
bool IsDone(const std::string& path, const std::string& format) {
  std::error_code error;
  if (format == "csv") return fs::is_directory(path, error) && !fs::is_empty(path, error);
  if (!fs::is_regular_file(path, error)) return false;
  // Rows have no header: none make an empty file.
  return format == "ndjson" || fs::file_size(path, error) > 0;
}

// What became of one file.
struct FileResult {
  std::string input;
  std::string output;
  bool skipped = false;
  Status status;
  std::optional<RunReport> report;  // where an output was written
};

double Percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string LineOf(const FileResult& result) {
  if (result.skipped) return fmt::format("{}: skipped, {} exists", Printable(result.input), Printable(result.output));
  // The message names the input or the output itself.
  if (!result.status.ok()) return fmt::format("failed: {}", Printable(result.status.message()));
  const RunReport& report = *result.report;
  const std::string verified = report.verified.empty() ? std::string() : ", verified: " + report.verified;
  return fmt::format("{} -> {}: {} events, {} bytes in, {} out ({:.1f} %){}, {:.1f} s", Printable(result.input),
                     Printable(result.output), Grouped(report.summary.events_out), Grouped(report.bytes_in),
                     Grouped(report.bytes_out), Percent(report.bytes_out, report.bytes_in), verified, report.seconds);
}

struct Totals {
  uint64_t done = 0;
  uint64_t skipped = 0;
  uint64_t failed = 0;
  uint64_t bytes_in = 0;
  uint64_t bytes_out = 0;
  double seconds = 0;

  void Add(const FileResult& result) {
    if (result.skipped) {
      ++skipped;
    } else if (!result.status.ok()) {
      ++failed;
    } else {
      ++done;
      bytes_in += result.report->bytes_in;
      bytes_out += result.report->bytes_out;
    }
  }
};

// Files go to threads in order; results are told in order, whoever is done first.
class Runner {
 public:
  Runner(const ManyRuns& runs, const RunSettings& settings, const FailOnOption& fail_on, const CancelToken& cancel,
         std::vector<std::string> outputs)
      : runs_(runs), settings_(settings), fail_on_(fail_on), cancel_(cancel), outputs_(std::move(outputs)) {
    settings_.progress = settings.progress && runs.jobs == 1;
  }

  Status Run() {
    const double started = MonotonicSeconds();
    if (runs_.json) {
      json_.BeginObject();
      json_.Key("files").BeginArray();
    }
    std::vector<std::jthread> threads;
    const size_t count = std::min(static_cast<size_t>(runs_.jobs), runs_.inputs.size());
    for (size_t i = 1; i < count; ++i) threads.emplace_back([this] { Work(); });
    Work();
    threads.clear();
    if (cancel_.cancelled()) return Status::Cancelled();
    totals_.seconds = MonotonicSeconds() - started;
    ETWPIPE_RETURN_IF_ERROR(PrintTotals());
    if (worst_.ok()) return {};
    return {worst_.code(), fmt::format("{} of {} files failed", totals_.failed, runs_.inputs.size())};
  }

 private:
  void Work() {
    while (!cancel_.cancelled()) {
      const size_t file = next_++;
      if (file >= runs_.inputs.size()) return;
      FileResult result = RunFile(file);
      const std::lock_guard lock(mutex_);
      waiting_.emplace(file, std::move(result));
      while (!waiting_.empty() && waiting_.begin()->first == told_) {
        Tell(waiting_.begin()->second);
        waiting_.erase(waiting_.begin());
        ++told_;
      }
    }
  }

  FileResult RunFile(size_t file) const {
    FileResult result{runs_.inputs[file], outputs_[file], false, {}, std::nullopt};
    if (runs_.skip_existing && IsDone(result.output, runs_.output.to)) {
      result.skipped = true;
      return result;
    }
    OutputOptions output = runs_.output;
    output.path = result.output;
    try {
      auto outcome = RunJob(settings_, result.input, output, cancel_);
      result.status = outcome.status();
      if (!outcome.ok()) return result;
      result.report.emplace(std::move(outcome->report));
      result.status = fail_on_.Judge(result.input, outcome->info, *result.report->diagnostics);
    } catch (const std::bad_alloc&) {
      result.status = Status::Internal(result.input + ": out of memory");
    } catch (const std::exception& error) {
      result.status = Status::Internal(fmt::format("{}: internal error: {}", result.input, error.what()));
    }
    return result;
  }

  void Tell(const FileResult& result) {
    if (result.status.code() == StatusCode::kCancelled) return;
    totals_.Add(result);
    const Status& status = result.status;
    if (!status.ok() &&
        (worst_.ok() || (worst_.code() == StatusCode::kAnswerNo && status.code() != StatusCode::kAnswerNo))) {
      worst_ = status;
    }
    if (runs_.json) WriteJson(result);
    if (!runs_.json && !runs_.quiet) {
      PrintToError(LineOf(result) + "\n");
    } else if (!status.ok()) {
      PrintError(status.message());
    }
  }

  void WriteJson(const FileResult& result) {
    json_.BeginObject();
    json_.Key("status").String(result.skipped ? "skipped" : result.status.ok() ? "done" : "failed");
    json_.Key("error").StringOrNull(result.status.message());
    json_.Key("input").String(result.input);
    json_.Key("output").String(result.output);
    if (result.report) result.report->WriteResult(json_);
    json_.EndObject();
  }

  Status PrintTotals() {
    if (runs_.json) {
      json_.EndArray();
      json_.Key("done").Uint(totals_.done);
      json_.Key("skipped").Uint(totals_.skipped);
      json_.Key("failed").Uint(totals_.failed);
      json_.Key("bytes").BeginObject();
      json_.Key("in").Uint(totals_.bytes_in);
      json_.Key("out").Uint(totals_.bytes_out);
      json_.EndObject();
      json_.Key("seconds").Double(totals_.seconds);
      json_.EndObject();
      json_.EndLine();
      return Print(json_.text());
    }
    if (runs_.quiet) return {};
    PrintToError(fmt::format("{} files: {} done, {} skipped, {} failed; {} bytes in, {} out ({:.1f} %), {:.1f} s\n",
                             runs_.inputs.size(), totals_.done, totals_.skipped, totals_.failed,
                             Grouped(totals_.bytes_in), Grouped(totals_.bytes_out),
                             Percent(totals_.bytes_out, totals_.bytes_in), totals_.seconds));
    return {};
  }

  const ManyRuns& runs_;
  RunSettings settings_;
  const FailOnOption& fail_on_;
  const CancelToken& cancel_;
  const std::vector<std::string> outputs_;
  std::atomic<size_t> next_ = 0;
  std::mutex mutex_;  // of all that follows
  std::map<size_t, FileResult> waiting_;
  size_t told_ = 0;
  Totals totals_;
  Status worst_;
  JsonWriter json_;
};

}  // namespace

Result<std::vector<std::string>> OutputPaths(const ManyRuns& runs) {
  std::error_code error;
  std::map<fs::path, std::string> inputs;
  for (const auto& input : runs.inputs) {
    if (input == "-") return Status::InvalidArgument("run: standard input has no name for -d; use -o OUTPUT");
    inputs.emplace(fs::weakly_canonical(input, error), input);
  }
  std::map<std::string, std::string> taken;  // output, its input
  std::vector<std::string> outputs;
  for (const auto& input : runs.inputs) {
    const fs::path path = fs::path(runs.folder) / (fs::path(input).stem().string() + "." + runs.output.to);
    const auto [other, fresh] = taken.emplace(path.string(), input);
    if (!fresh) {
      return Status::InvalidArgument(fmt::format("{}: is the output of {} and of {}; run them into different folders",
                                                 path.string(), other->second, input));
    }
    const auto overwritten = inputs.find(fs::weakly_canonical(path, error));
    if (overwritten != inputs.end()) {
      return Status::InvalidArgument(
          fmt::format("{}: is input and output at once; give another folder", overwritten->second));
    }
    outputs.push_back(path.string());
  }
  return outputs;
}

Status RunMany(const ManyRuns& runs, const RunSettings& settings, const FailOnOption& fail_on,
               const CancelToken& cancel) {
  auto outputs = OutputPaths(runs);
  if (!outputs.ok()) return outputs.status();
  std::error_code error;
  fs::create_directories(runs.folder, error);
  if (error) return Status::Output(fmt::format("{}: cannot create the folder: {}", runs.folder, error.message()));
  if (!fs::is_directory(runs.folder, error)) return Status::Output(fmt::format("{}: is no folder", runs.folder));
  return Runner(runs, settings, fail_on, cancel, std::move(*outputs)).Run();
}

}  // namespace etwpipe
