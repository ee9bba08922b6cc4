// StackWalk records belong to an event they do not stand beside: which one says their payload.
#pragma once

#include <cstdint>
#include <optional>

#include "pipeline/event.h"
#include "pipeline/trace_context.h"

namespace etwpipe {

/// The event a stack was taken for.
struct StackOwner {
  int64_t timestamp = 0;  ///< raw ticks
  uint32_t pid = kNoId;
  uint32_t tid = kNoId;
};

/// Recognises stack records of one trace. Made when a stage is bound.
class StackOwners {
 public:
  StackOwners() = default;
  explicit StackOwners(const TraceContext& trace);

  /// The owner named in the payload of a StackWalk record of type 32, 37 or 38 (etl-format.md 8.5); nullopt for every
  /// other record and for one too short to say.
  std::optional<StackOwner> Find(const EventHeader& row) const {
    if (row.provider != provider_) return std::nullopt;
    return Read(row);
  }

 private:
  static constexpr ProviderIndex kNoProvider = 0xFFFFFFFF;
  static std::optional<StackOwner> Read(const EventHeader& row);

  ProviderIndex provider_ = kNoProvider;
};

}  // namespace etwpipe
