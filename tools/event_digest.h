// Fingerprints of events, for comparing traces by EventInstanceId.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "pipeline/event.h"
#include "pipeline/sink.h"

namespace etwpipe {

/// An event and xxh3-128 over all that `diff` compares: record bytes, processor, own timestamp.
struct EventDigest {
  EventInstanceId id = 0;
  uint64_t low = 0;
  uint64_t high = 0;

  friend auto operator<=>(const EventDigest&, const EventDigest&) = default;
};
static_assert(sizeof(EventDigest) == 24);

EventDigest DigestOf(const EventHeader& row);

/// Ids are spread over this many buckets by a hash of the id.
constexpr size_t kDigestBuckets = 1 << 16;
size_t DigestBucket(EventInstanceId id);

/// Hashes on all cores, hands on in order. Derived classes say what becomes of the digests.
class DigestSink : public Sink {
 public:
  SinkInfo info() const override { return {Order::kPerCpu, true}; }
  Status Begin(const BeginArgs&) override { return {}; }
  Result<std::unique_ptr<SinkChunk>> Prepare(EventBatch& batch) const override;
  Status Cut(std::unique_ptr<SinkChunk> chunk, std::vector<std::unique_ptr<SinkBlock>>& blocks) override;
  Status CutEnd(std::vector<std::unique_ptr<SinkBlock>>&) override { return {}; }
  Status Encode(SinkBlock&) const override { return {}; }
  Status Write(SinkBlock&) override { return {}; }
  Status Finish() override { return {}; }

 protected:
  /// False for ids whose digests are not needed. Any thread.
  virtual bool Wanted(EventInstanceId) const { return true; }
  virtual void Take(std::span<const EventDigest> digests) = 0;
};

/// Per bucket: how many events, and the sum of their digests, whatever their order.
class BucketSums final : public DigestSink {
 public:
  struct Bucket {
    uint64_t count = 0;
    uint64_t low = 0;
    uint64_t high = 0;

    friend bool operator==(const Bucket&, const Bucket&) = default;
  };
  BucketSums() : buckets_(kDigestBuckets) {}
  const std::vector<Bucket>& buckets() const { return buckets_; }
  uint64_t events() const { return events_; }

 private:
  void Take(std::span<const EventDigest> digests) override;

  std::vector<Bucket> buckets_;
  uint64_t events_ = 0;
};

/// Keeps the digests of some buckets.
class DigestList final : public DigestSink {
 public:
  /// `wanted` has one entry per bucket, not 0 for those to keep; it must outlive the sink. `expected` digests find room
  /// without moving.
  DigestList(const std::vector<uint8_t>& wanted, size_t expected) : wanted_(wanted) { digests_.reserve(expected); }
  std::vector<EventDigest>& digests() { return digests_; }

 private:
  bool Wanted(EventInstanceId id) const override { return wanted_[DigestBucket(id)] != 0; }
  void Take(std::span<const EventDigest> digests) override {
    digests_.insert(digests_.end(), digests.begin(), digests.end());
  }

  const std::vector<uint8_t>& wanted_;
  std::vector<EventDigest> digests_;
};

}  // namespace etwpipe
