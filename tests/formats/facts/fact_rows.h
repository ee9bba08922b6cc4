// Rows made by hand, and a survey over them.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/schema/extended_items.h"
#include "pipeline/batch.h"
#include "pipeline/survey.h"

namespace etwpipe::facts {

/// Bytes of values side by side.
class Bytes {
 public:
  template <typename T>
  Bytes& Add(T value) {
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    bytes.insert(bytes.end(), from, from + sizeof value);
    return *this;
  }
  Bytes& Pointers(const std::vector<uint64_t>& values, size_t size = 8) {
    for (const uint64_t value : values) size == 8 ? Add(value) : Add(static_cast<uint32_t>(value));
    return *this;
  }
  std::vector<std::byte> bytes;
};

/// Rows of one trace that own their records.
class FactRows {
 public:
  explicit FactRows(TraceContext& trace) : trace_(trace) {}

  struct Item {
    schema::ExtendedType type;
    std::vector<std::byte> data;
  };

  EventHeader& Add(HeaderKind kind, std::string_view provider, int64_t time, uint16_t cpu,
                   const std::vector<std::byte>& payload, const std::vector<Item>& items = {}) {
    Bytes record;
    for (const Item& item : items) {
      const size_t stride = (8 + item.data.size() + 7) / 8 * 8;
      record.Add(static_cast<uint16_t>(stride)).Add(item.type).Add(uint16_t{0});
      record.Add(static_cast<uint16_t>(item.data.size()));
      record.bytes.insert(record.bytes.end(), item.data.begin(), item.data.end());
      record.bytes.resize(record.bytes.size() + stride - 8 - item.data.size());
    }
    EventHeader& row = rows.emplace_back();
    row.payload_begin = static_cast<uint16_t>(record.bytes.size());
    record.bytes.insert(record.bytes.end(), payload.begin(), payload.end());
    row.record_size = static_cast<uint16_t>(record.bytes.size());
    records_.push_back(std::move(record.bytes));
    row.record = records_.back().data();
    row.kind = kind;
    row.flags = kHasTimestamp | kHasProvider | kPointer64;
    if (!items.empty()) row.flags |= kHasExtended;
    row.timestamp = time;
    row.cpu = cpu;
    row.provider = *trace_.providers->Intern(GuidOf(provider));
    row.instance_id = rows.size();
    return row;
  }

  /// With a thread.
  EventHeader& Add(HeaderKind kind, std::string_view provider, int64_t time, uint16_t cpu, uint32_t pid, uint32_t tid,
                   const std::vector<std::byte>& payload = {}, const std::vector<Item>& items = {}) {
    EventHeader& row = Add(kind, provider, time, cpu, payload, items);
    row.flags |= kHasPid;
    row.pid = pid;
    row.tid = tid;
    return row;
  }

  /// Shows all rows to a surveyor, one processor after the other in batches of a few, and lets it finish.
  void Survey(Surveyor& surveyor, Diagnostics* diagnostics = nullptr) const {
    for (uint32_t cpu = 0; cpu < 8; ++cpu) {
      EventBatch batch;
      for (const EventHeader& row : rows) {
        if (row.cpu != cpu) continue;
        batch.rows.push_back(row);
        if (batch.rows.size() < 3) continue;
        EXPECT_TRUE(surveyor.Observe(batch, trace_).ok());
        batch.rows.clear();
      }
      EXPECT_TRUE(surveyor.Observe(batch, trace_).ok());
    }
    EXPECT_TRUE(surveyor.Finish(trace_, diagnostics).ok());
  }

  std::deque<EventHeader> rows;  ///< in the order of time, by processor

 private:
  TraceContext& trace_;
  std::deque<std::vector<std::byte>> records_;
};

}  // namespace etwpipe::facts
