// Times of events as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pipeline/clock.h"
#include "pipeline/trace_context.h"

namespace etwpipe {

/// Raw ticks as ISO 8601 text. Keeps the text of the last second, so that a run of events costs a few digits each.
/// Not for several threads at once.
class TimeText {
 public:
  /// `bias_minutes` as FormatFileTime takes it.
  TimeText(const Clock& clock, std::optional<int32_t> bias_minutes) : clock_(clock), bias_minutes_(bias_minutes) {}

  /// Valid until the next call.
  std::string_view Format(int64_t ticks);

 private:
  Clock clock_;
  std::optional<int32_t> bias_minutes_;
  std::optional<int64_t> second_;  // FILETIME of the whole second in text_
  std::string text_;
};

/// The bias to show times with: nothing (UTC) unless `local`.
inline std::optional<int32_t> DisplayBias(const TraceInfo& info, bool local) {
  return local ? std::optional(info.utc_bias_minutes) : std::nullopt;
}

}  // namespace etwpipe
