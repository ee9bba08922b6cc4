#include "tools/event_digest.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace etwpipe {
namespace {

// A multiplicative hash step; odd constants of the golden ratio and of the square root of two.
constexpr uint64_t kMixTime = 0x9E3779B97F4A7C15u;
constexpr uint64_t kMixCpu = 0x6A09E667F3BCC909u;

// Spreads every bit, so that sums of digests of different (id, event) pairs do not cancel out.
uint64_t Spread(uint64_t value) {
  value ^= value >> 32;
  value *= kMixTime;
  value ^= value >> 29;
  value *= kMixCpu;
  return value ^ value >> 32;
}

struct DigestChunk final : SinkChunk {
  std::vector<EventDigest> digests;
};

}  // namespace

EventDigest DigestOf(const EventHeader& row) {
  const XXH128_hash_t hash = XXH3_128bits(row.record, row.record_size);
  // An inherited timestamp depends on what else is in the trace and is no part of the event.
  const auto time = row.has(kHasTimestamp) ? static_cast<uint64_t>(row.timestamp) : 0;
  return {row.instance_id, hash.low64 ^ time * kMixTime, hash.high64 ^ (row.cpu + uint64_t{1}) * kMixCpu};
}

size_t DigestBucket(EventInstanceId id) { return static_cast<size_t>(id * kMixTime >> 48); }
static_assert(kDigestBuckets == size_t{1} << (64 - 48));

Result<std::unique_ptr<SinkChunk>> DigestSink::Prepare(EventBatch& batch) const {
  auto chunk = std::make_unique<DigestChunk>();
  chunk->digests.reserve(batch.selection.size());
  for (const uint16_t index : batch.selection) {
    const EventHeader& row = batch.rows[index];
    if (Wanted(row.instance_id)) chunk->digests.push_back(DigestOf(row));
  }
  return std::unique_ptr<SinkChunk>(std::move(chunk));
}

Status DigestSink::Cut(std::unique_ptr<SinkChunk> chunk, std::vector<std::unique_ptr<SinkBlock>>&) {
  Take(static_cast<const DigestChunk&>(*chunk).digests);
  return {};
}

void BucketSums::Take(std::span<const EventDigest> digests) {
  for (const auto& digest : digests) {
    Bucket& bucket = buckets_[DigestBucket(digest.id)];
    ++bucket.count;
    bucket.low += Spread(digest.low + digest.id * kMixCpu);
    bucket.high += Spread(digest.high + digest.id * kMixTime);
  }
  events_ += digests.size();
}

}  // namespace etwpipe
