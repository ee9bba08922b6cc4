#include "tools/header_diff.h"

#include <fmt/format.h>

#include <algorithm>

#include "pipeline/header_name.h"

namespace etwpipe {
namespace {

std::string TimeOrNone(int64_t filetime) { return filetime == 0 ? "none" : FormatFileTime(filetime); }

}  // namespace

std::vector<HeaderDifference> DiffHeaders(const TraceInfo& a, const TraceInfo& b) {
  std::vector<HeaderDifference> differences;
  const auto compare = [&](std::string_view field, const std::string& of_a, const std::string& of_b) {
    if (of_a != of_b) differences.push_back({std::string(field), of_a, of_b});
  };
  const auto number = [&](std::string_view field, auto of_a, auto of_b) {
    compare(field, fmt::format("{}", of_a), fmt::format("{}", of_b));
  };
  compare("header", std::string(HeaderName(a.header_kind, 0)), std::string(HeaderName(b.header_kind, 0)));
  compare("clock.type", std::string(ToString(a.clock.type)), std::string(ToString(b.clock.type)));
  number("clock.frequency", a.clock.frequency, b.clock.frequency);
  number("clock.base_ticks", a.clock.base_ticks, b.clock.base_ticks);
  compare("start_time", TimeOrNone(a.clock.start_time), TimeOrNone(b.clock.start_time));
  compare("end_time", TimeOrNone(a.end_time), TimeOrNone(b.end_time));
  compare("boot_time", TimeOrNone(a.boot_time), TimeOrNone(b.boot_time));
  compare("logger_name", a.logger_name, b.logger_name);
  compare("log_file_name", a.log_file_name, b.log_file_name);
  compare("log_file_mode", fmt::format("0x{:x}", a.log_file_mode), fmt::format("0x{:x}", b.log_file_mode));
  number("buffer_size", a.buffer_size, b.buffer_size);
  number("pointer_size", a.pointer_size, b.pointer_size);
  number("processors", a.processors, b.processors);
  number("os.major", a.os_major, b.os_major);
  number("os.minor", a.os_minor, b.os_minor);
  number("os.build", a.os_build, b.os_build);
  number("events.lost", a.events_lost, b.events_lost);
  number("buffers_lost", a.buffers_lost, b.buffers_lost);
  number("timer_resolution", a.timer_resolution, b.timer_resolution);
  number("cpu_mhz", a.cpu_mhz, b.cpu_mhz);
  number("utc_bias_minutes", a.utc_bias_minutes, b.utc_bias_minutes);
  return differences;
}

bool ShareSource(const TraceInfo& a, const TraceInfo& b) {
  return std::any_of(a.sources.begin(), a.sources.end(), [&](const SourceRecording& of_a) {
    return std::any_of(b.sources.begin(), b.sources.end(),
                       [&](const SourceRecording& of_b) { return of_a.fingerprint == of_b.fingerprint; });
  });
}

}  // namespace etwpipe
