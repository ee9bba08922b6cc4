// Compares two traces by EventInstanceId.
//
// One pass over each input sums the digests of its events into 65,536 buckets by id. Equal sums mean equal traces. Only
// buckets that differ are looked at again, as many at a time as fit kMaxDigests digests, so that memory is bounded by
// that number (or by the largest bucket, if ids repeat) and not by the files: few differences cost one more pass, a
// trace with other events everywhere one more pass per kMaxDigests. A last pass fetches the events that are listed.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "pipeline/event.h"
#include "pipeline/sink.h"
#include "pipeline/status.h"

namespace etwpipe {

/// Digests of both sides held at once: 96 MiB.
constexpr uint64_t kMaxDigests = uint64_t{4} << 20;

enum class Change : uint8_t { kMissing, kAdded, kChanged };
/// "missing" (only in A), "added" (only in B), "changed".
std::string_view ToString(Change change);

struct Difference {
  EventInstanceId id = 0;
  Change change = Change::kChanged;

  friend auto operator<=>(const Difference&, const Difference&) = default;
};

struct DiffCounts {
  uint64_t events_a = 0;
  uint64_t events_b = 0;
  uint64_t missing = 0;
  uint64_t added = 0;
  uint64_t changed = 0;

  bool equal() const { return missing == 0 && added == 0 && changed == 0; }
};

struct DiffResult {
  DiffCounts counts;
  std::vector<Difference> first;  ///< the differences with the lowest ids, by id
};

/// Runs every event of one side into a sink; called several times per side.
using RunSide = std::function<Status(Sink& sink)>;

/// Compares; lists at most `limit` differences. `max_digests` is a parameter for tests.
Result<DiffResult> DiffTraces(const std::array<RunSide, 2>& sides, size_t limit, uint64_t max_digests = kMaxDigests);

}  // namespace etwpipe
