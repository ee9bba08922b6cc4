#include "tools/progress_line.h"

#include <fmt/format.h>

#include <string>

#include "pipeline/platform.h"
#include "tools/standard_output.h"

namespace etwpipe {
namespace {

constexpr double kSecondsBetween = 0.2;
constexpr double kMebi = 1024.0 * 1024.0;

std::string Line(const ProgressListener::Report& report, double seconds) {
  const auto done = static_cast<double>(report.bytes_done);
  const auto total = static_cast<double>(report.bytes_total);
  std::string line = fmt::format("{:.0f} MiB, {:.2f} M events/s", done / kMebi,
                                 static_cast<double>(report.events_done) / seconds / 1e6);
  if (report.bytes_total == 0 || report.bytes_done == 0) return line;
  const double left = seconds * (total - done) / done;
  return fmt::format("{:3.0f} % of {:.0f} MiB, {}, {:.0f} s left", 100 * done / total, total / kMebi, line,
                     left > 0 ? left : 0);
}

}  // namespace

ProgressLine::ProgressLine(bool quiet) : shown_(!quiet && IsTerminal(2)), started_(MonotonicSeconds()) {}

ProgressLine::~ProgressLine() { Clear(); }

void ProgressLine::OnProgress(const Report& report) {
  bytes_done_ = report.bytes_done;
  if (!shown_) return;
  const double now = MonotonicSeconds();
  if (now - last_shown_ < kSecondsBetween || now - started_ < kSecondsBetween) return;
  last_shown_ = now;
  const std::string line = Line(report, now - started_);
  PrintToError(fmt::format("\r{:<{}}", line, width_));
  width_ = line.size();
}

void ProgressLine::Clear() {
  if (width_ == 0) return;
  PrintToError(fmt::format("\r{:<{}}\r", "", width_));
  width_ = 0;
}

}  // namespace etwpipe
