// The pid and tid that outputs show for an event.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "pipeline/batch.h"

namespace etwpipe {

/// nullopt where the event has none. Text shows kNoId, which some headers hold, likewise.
struct ShownIds {
  std::optional<uint32_t> pid;
  std::optional<uint32_t> tid;
};

/// The columns in which enrich.process says whose an event is, where its header does not say so: shown in the place of
/// the header's ids and not as columns of their own.
class IdColumns {
 public:
  static constexpr std::string_view kPid = "enrich.process.pid";
  static constexpr std::string_view kTid = "enrich.process.tid";

  explicit IdColumns(const EventBatch& batch) : pid_(batch.FindAnnotation(kPid)), tid_(batch.FindAnnotation(kTid)) {}

  ShownIds Of(const EventHeader& row, size_t index) const {
    const auto found = [&](const AnnotationColumn* column) {
      const bool has = column != nullptr && column->has(index);
      return has ? std::optional(static_cast<uint32_t>(column->u64(index))) : std::nullopt;
    };
    const ShownIds attributed{found(pid_), found(tid_)};
    if (attributed.pid || attributed.tid) return attributed;
    return row.has(kHasPid) ? ShownIds{row.pid, row.tid} : ShownIds{};
  }

  /// The columns without these two.
  static std::vector<AnnotationInfo> WithoutIds(const std::vector<AnnotationInfo>& columns) {
    std::vector<AnnotationInfo> others;
    for (const auto& column : columns) {
      if (column.name != kPid && column.name != kTid) others.push_back(column);
    }
    return others;
  }

 private:
  const AnnotationColumn* pid_;
  const AnnotationColumn* tid_;
};

}  // namespace etwpipe
