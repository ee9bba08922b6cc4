// Order of events: what is written is read again, and merging is what its definition says.
#include "formats/etwp/event_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "tests/formats/etwp/encodings.h"

namespace etwpipe::etwp {
namespace {

constexpr uint32_t kKinds[] = {3, 7, 9};
constexpr int64_t kFirst = 1'000'000;

struct Shape {
  uint32_t events = 4'000;
  uint32_t cpus = 8;
  int64_t back = 0;      // how far a time may step back on its processor
  bool in_order = true;  // the order of the block is that of merging
};

// Bursts on each processor, and a kind whose times are regular there.
std::vector<OrderedEvent> MakeEvents(const Shape& shape, uint32_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<OrderedEvent>> by_cpu(shape.cpus);
  for (uint32_t cpu = 0; cpu < shape.cpus; ++cpu) {
    int64_t now = kFirst;
    for (uint32_t i = 0; i < shape.events / shape.cpus; ++i) {
      now += static_cast<int64_t>(random() % 40 == 0 ? random() % 90'000 : 100 + random() % 8);
      if (shape.back > 0 && random() % 10 == 0) now -= static_cast<int64_t>(random()) % shape.back;
      by_cpu[cpu].push_back(
          {static_cast<uint64_t>(now), static_cast<uint32_t>(random() % 3 * (i % 2)), static_cast<uint16_t>(cpu * 3)});
    }
  }
  // The definition, step by step: of the first ones left the one with the smallest merge time.
  std::vector<OrderedEvent> merged;
  std::vector<size_t> next(shape.cpus);
  std::vector<int64_t> before(shape.cpus, INT64_MIN);
  while (true) {
    int best = -1;
    int64_t best_time = 0;
    for (uint32_t cpu = 0; cpu < shape.cpus; ++cpu) {
      if (next[cpu] == by_cpu[cpu].size()) continue;
      const int64_t time = std::max(before[cpu], static_cast<int64_t>(by_cpu[cpu][next[cpu]].timestamp));
      if (best < 0 || time < best_time) {
        best = static_cast<int>(cpu);
        best_time = time;
      }
    }
    if (best < 0) break;
    const auto cpu = static_cast<size_t>(best);
    before[cpu] = best_time;
    merged.push_back(by_cpu[cpu][next[cpu]++]);
  }
  if (!shape.in_order) std::swap(merged[10], merged[3'000]);
  return merged;
}

v1::Columns Finish(ColumnWriter& writer) {
  Compressor compressor;
  v1::Columns columns;
  EXPECT_TRUE(writer.Finish(3, compressor, columns).ok());
  return columns;
}

void ExpectBack(std::span<const OrderedEvent> events, const v1::Columns& columns) {
  ColumnReader reader;
  ASSERT_FALSE(reader.Open(columns));
  EventOrderReader order;
  ASSERT_TRUE(order.Read(reader, kKinds, events.size(), static_cast<int64_t>(events.front().timestamp)));
  ASSERT_EQ(order.events().size(), events.size());
  for (size_t i = 0; i < events.size(); ++i) {
    const OrderedEvent& back = order.events()[i];
    ASSERT_EQ(back.timestamp, events[i].timestamp) << i;
    ASSERT_EQ(back.kind, events[i].kind) << i;
    ASSERT_EQ(back.cpu, events[i].cpu) << i;
  }
  EXPECT_FALSE(order.Read(reader, kKinds, events.size() - 1, static_cast<int64_t>(events.front().timestamp)));
  EXPECT_FALSE(order.Read(reader, kKinds, events.size() + 1, static_cast<int64_t>(events.front().timestamp)));
}

TEST(EventOrder, EveryOrderComesBack) {
  for (const Effort effort : {Effort::kEstimate, Effort::kTrial}) {
    for (const Shape& shape : {Shape{}, Shape{.cpus = 1}, Shape{.cpus = 100}, Shape{.back = 500}, Shape{.back = 3'000},
                               Shape{.in_order = false}}) {
      const auto events = MakeEvents(shape, shape.cpus);
      ColumnWriter writer;
      writer.numbers().set_effort(effort);
      WriteOrder(events, kKinds, writer);
      const auto columns = Finish(writer);
      // One processor costs nothing, and an order that merging does not give cannot be left out.
      EXPECT_EQ(test::Names(columns, v1::ENCODING_MERGED), shape.cpus > 1 && shape.in_order)
          << shape.cpus << " " << shape.back;
      ExpectBack(events, columns);
    }
  }
}

TEST(EventOrder, ASingleEventComesBack) {
  const OrderedEvent event{~uint64_t{0} - 5, 2, 65'535};
  ColumnWriter writer;
  WriteOrder({&event, 1}, kKinds, writer);
  ColumnReader reader;
  ASSERT_FALSE(reader.Open(Finish(writer)));
  EventOrderReader order;
  ASSERT_TRUE(order.Read(reader, kKinds, 1, static_cast<int64_t>(event.timestamp)));
  EXPECT_EQ(order.events()[0].timestamp, event.timestamp);
  EXPECT_EQ(order.events()[0].cpu, event.cpu);
}

TEST(EventOrder, EqualTimesGoByProcessorAndNegativeOnesComeFirst) {
  const auto at = [](int64_t time, uint16_t cpu, uint32_t kind) {
    return OrderedEvent{static_cast<uint64_t>(time), kind, cpu};
  };
  // Processor 5's second event has merge time 7, not 1.
  const OrderedEvent events[] = {at(7, 2, 0), at(9, 2, 1), at(7, 5, 2), at(1, 5, 3), at(-3, 6, 4), at(9, 6, 5)};
  const CpuCount counts[] = {{2, 2}, {5, 2}, {6, 2}};
  std::vector<OrderedEvent> merged;
  MergeProcessors(events, counts, merged);
  std::vector<uint32_t> kinds;
  for (const auto& event : merged) kinds.push_back(event.kind);
  EXPECT_EQ(kinds, (std::vector<uint32_t>{4, 0, 2, 3, 1, 5}));
}

// Four events whose processors are said so.
bool Reads(const std::vector<uint64_t>& processors, const std::vector<uint64_t>& kinds = {0, 0, 1, 1}) {
  ColumnWriter writer;
  writer.AddNumbers(v1::COLUMN_KIND, 0, kinds);
  NumberEncoder::Write(processors, v1::ENCODING_VARINT, writer.BeginBytes(v1::COLUMN_CPU, 0));
  writer.EndBytesAs(v1::ENCODING_MERGED);
  writer.AddNumbers(v1::COLUMN_TIMESTAMP, kKinds[0], std::vector<uint64_t>{2, 4});
  writer.AddNumbers(v1::COLUMN_TIMESTAMP, kKinds[1], std::vector<uint64_t>{2, 4});
  ColumnReader reader;
  EXPECT_FALSE(reader.Open(Finish(writer)));
  EventOrderReader order;
  return order.Read(reader, kKinds, 4, kFirst);
}

TEST(EventOrder, NonsenseIsRefused) {
  EXPECT_TRUE(Reads({0, 1, 3, 3}));
  EXPECT_TRUE(Reads({65'535, 4}));
  EXPECT_FALSE(Reads({65'536, 4}));
  EXPECT_FALSE(Reads({0, 1, 3}));
  EXPECT_FALSE(Reads({0, 1, 3, 2}));
  EXPECT_FALSE(Reads({0, 1, 3, 4}));
  EXPECT_FALSE(Reads({0, 1, 3, ~uint64_t{0}}));
  EXPECT_FALSE(Reads({0, 4, 3, 0}));
  EXPECT_FALSE(Reads({3, 1, 0, 3}));
  EXPECT_FALSE(Reads({3, 1, 3, 3}));
  EXPECT_FALSE(Reads({0, 4}, {0, 0, 1, 3}));
  EXPECT_FALSE(Reads({0, 4}, {0, 0, 1, 2}));
  EXPECT_FALSE(Reads({0, 4}, {0, 1, 1, 1}));
}

}  // namespace
}  // namespace etwpipe::etwp
