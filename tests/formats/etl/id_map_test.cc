#include "formats/etl/id_map.h"

#include <gtest/gtest.h>

#include <random>

#include "formats/etl/layout.h"

namespace etwpipe::etl {
namespace {

// A buffer of `count` records of odd sizes with random content.
SourceBuffer MakeBuffer(uint64_t ordinal, size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  SourceBuffer buffer;
  buffer.ordinal = ordinal;
  size_t offset = buffer::kHeaderSize;
  for (size_t i = 0; i < count; ++i) {
    const auto size = static_cast<uint16_t>(16 + random() % 200);
    buffer.records.push_back({static_cast<uint32_t>(offset), size});
    offset += Align8(size);
  }
  buffer.image.resize(offset);
  for (auto& byte : buffer.image) byte = static_cast<std::byte>(random());
  buffer.data_end = static_cast<uint32_t>(offset);
  return buffer;
}

std::vector<EventInstanceId> RoundTrip(const SourceBuffer& buffer, const std::vector<EventInstanceId>& ids,
                                       IdMap::Answer expected, size_t* bytes = nullptr) {
  IdMapWriter writer(60'000);
  constexpr size_t kPerEntry = 1000;
  for (size_t begin = 0; begin < ids.size(); begin += kPerEntry) {
    const size_t count = std::min(kPerEntry, ids.size() - begin);
    writer.Add(buffer.ordinal, begin,
               EncodeIdEntry(buffer.image, std::span(buffer.records).subspan(begin, count),
                             std::span(ids).subspan(begin, count), buffer.ordinal));
  }
  IdMap map;
  size_t total = 0;
  for (const auto& carrier : writer.carriers()) {
    EXPECT_LE(carrier.data.size(), 60'000u);
    EXPECT_TRUE(map.AddCarrier(carrier.first_buffer, carrier.first_record, carrier.data));
    total += carrier.data.size();
  }
  if (bytes != nullptr) *bytes = total;
  std::vector<EventInstanceId> back;
  bool changed = true;
  EXPECT_EQ(map.Lookup(buffer, back, changed), expected);
  EXPECT_FALSE(changed);
  return back;
}

TEST(IdMap, PlacesCostOneBit) {
  const SourceBuffer buffer = MakeBuffer(7, 500, 1);
  std::vector<EventInstanceId> ids;
  for (const auto& record : buffer.records) ids.push_back(MakeInstanceId(0, 7, record.offset));
  size_t bytes = 0;
  const auto back = RoundTrip(buffer, ids, IdMap::Answer::kPlaces, &bytes);
  EXPECT_EQ(back, ids);
  EXPECT_LE(bytes, 16u);
}

TEST(IdMap, AnyIdsComeBack) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    const SourceBuffer buffer = MakeBuffer(random() % 1000, 1 + random() % 3000, random());
    std::vector<EventInstanceId> ids;
    EventInstanceId id = random() >> (random() % 64);
    for (size_t i = 0; i < buffer.records.size(); ++i) {
      switch (random() % 8) {
        case 0: id = random() >> (random() % 64); break;  // anywhere, also backwards
        case 1: id += random() % 100; break;              // a gap
        case 2: id = MakeInstanceId(kInjectedSource, 0, 8 * (random() % 50)); break;
        case 3: id += 1; break;  // a counter
        default: id += i == 0 ? 0 : Align8(buffer.records[i - 1].size) / 8;
      }
      ids.push_back(id);
    }
    EXPECT_EQ(RoundTrip(buffer, ids, IdMap::Answer::kIds), ids);
  }
}

TEST(IdMap, ExtremesComeBack) {
  const SourceBuffer buffer = MakeBuffer(kMaxBufferOrdinal, 6, 9);
  const std::vector<EventInstanceId> ids = {UINT64_MAX, 0, 1, UINT64_MAX - 1, uint64_t{1} << 63, 5};
  EXPECT_EQ(RoundTrip(buffer, ids, IdMap::Answer::kIds), ids);
}

TEST(IdMap, CountersOfInjectedEventsAreOneRun) {
  const SourceBuffer buffer = MakeBuffer(3, 900, 4);
  std::vector<EventInstanceId> ids;
  for (size_t i = 0; i < buffer.records.size(); ++i)
    ids.push_back((kInjectedSource << kInstanceIdSourceShift) + 10 + i);
  size_t bytes = 0;
  EXPECT_EQ(RoundTrip(buffer, ids, IdMap::Answer::kIds, &bytes), ids);
  EXPECT_LE(bytes, 34u);
}

TEST(IdMap, AnAlternatingFilterStaysBelowOnePercent) {
  // Records of a realistic mean size, every second one kept: the worst case of a 1-in-2 filter.
  std::mt19937_64 random(8);
  SourceBuffer buffer;
  buffer.ordinal = 12;
  std::vector<EventInstanceId> ids;
  size_t offset = buffer::kHeaderSize;
  EventInstanceId id = MakeInstanceId(0, 55, 72);
  for (int i = 0; i < 500; ++i) {
    const auto size = static_cast<uint16_t>(60 + random() % 120);
    buffer.records.push_back({static_cast<uint32_t>(offset), size});
    ids.push_back(id);
    id += Align8(size) / 8 + Align8(60 + random() % 120) / 8;
    offset += Align8(size);
  }
  buffer.image.resize(offset);
  buffer.data_end = static_cast<uint32_t>(offset);
  size_t bytes = 0;
  EXPECT_EQ(RoundTrip(buffer, ids, IdMap::Answer::kIds, &bytes), ids);
  EXPECT_LT(bytes * 100, offset);
}

TEST(IdMap, NoticesAnyChangedByteOfTheRecords) {
  SourceBuffer buffer = MakeBuffer(5, 40, 2);
  std::vector<EventInstanceId> ids(40);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = 1000 + 3 * i;
  IdMapWriter writer(60'000);
  writer.Add(5, 0, EncodeIdEntry(buffer.image, buffer.records, ids, 5));
  IdMap map;
  ASSERT_TRUE(map.AddCarrier(5, 0, writer.carriers()[0].data));
  std::vector<EventInstanceId> back;
  bool changed = true;
  ASSERT_EQ(map.Lookup(buffer, back, changed), IdMap::Answer::kIds);
  EXPECT_FALSE(changed);
  for (size_t at = buffer::kHeaderSize; at < buffer.image.size(); at += 13) {
    buffer.image[at] ^= std::byte{1};
    EXPECT_EQ(map.Lookup(buffer, back, changed), IdMap::Answer::kIds) << at;
    EXPECT_TRUE(changed);
    EXPECT_EQ(back, ids);
    buffer.image[at] ^= std::byte{1};
  }
  ++buffer.records[3].size;
  EXPECT_EQ(map.Lookup(buffer, back, changed), IdMap::Answer::kMismatch);
  --buffer.records[3].size;
  buffer.records.pop_back();
  EXPECT_EQ(map.Lookup(buffer, back, changed), IdMap::Answer::kMismatch);
  buffer.ordinal = 6;
  EXPECT_EQ(map.Lookup(buffer, back, changed), IdMap::Answer::kNone);
}

TEST(IdMap, RandomBytesAreRefusedOrHarmless) {
  std::mt19937_64 random(77);
  const SourceBuffer buffer = MakeBuffer(1, 100, 6);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::byte> data(random() % 64);
    for (auto& byte : data) byte = static_cast<std::byte>(random());
    IdMap map;
    (void)map.AddCarrier(random() % 3, random() % 3, data);
    std::vector<EventInstanceId> ids;
    bool changed = false;
    (void)map.Lookup(buffer, ids, changed);
    EXPECT_LE(ids.size(), buffer.records.size());
  }
}

}  // namespace
}  // namespace etwpipe::etl
