#include "pipeline/byte_reader.h"

#include <gtest/gtest.h>

#include <vector>

namespace etwpipe {
namespace {

std::vector<std::byte> Bytes(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

TEST(ByteReader, ReadsLittleEndianAtAnyPlace) {
  const auto bytes = Bytes({0xAA, 0x01, 0x02, 0x03, 0x04, 0xFF});
  ByteReader reader(bytes);
  EXPECT_EQ(reader.Read<uint8_t>(), 0xAA);
  EXPECT_EQ(reader.Read<uint32_t>(), 0x04030201u);
  EXPECT_EQ(reader.remaining(), 1u);
  EXPECT_FALSE(reader.failed());
}

TEST(ByteReader, FailsForGoodAtTheEnd) {
  const auto bytes = Bytes({1, 2, 3});
  ByteReader reader(bytes);
  EXPECT_EQ(reader.Read<uint32_t>(), 0u);
  EXPECT_TRUE(reader.failed());
  EXPECT_EQ(reader.Read<uint8_t>(), 0u) << "nothing is read after a failure";
  EXPECT_TRUE(reader.ReadBytes(1).empty());
}

TEST(ByteReader, ReadsVarintsUpTo64Bits) {
  const auto small = Bytes({0x00, 0x7F, 0x80, 0x01});
  ByteReader reader(small);
  EXPECT_EQ(reader.ReadVarint(), 0u);
  EXPECT_EQ(reader.ReadVarint(), 127u);
  EXPECT_EQ(reader.ReadVarint(), 128u);
  const auto largest = Bytes({0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01});
  ByteReader large(largest);
  EXPECT_EQ(large.ReadVarint(), UINT64_MAX);
  EXPECT_FALSE(large.failed());
}

TEST(ByteReader, RefusesVarintsThatAreCutOffOrTooLong) {
  const auto cut = Bytes({0x80, 0x80});
  ByteReader reader(cut);
  EXPECT_EQ(reader.ReadVarint(), 0u);
  EXPECT_TRUE(reader.failed());
  const auto too_long = Bytes({0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02});
  ByteReader large(too_long);
  EXPECT_EQ(large.ReadVarint(), 0u);
  EXPECT_TRUE(large.failed());
}

}  // namespace
}  // namespace etwpipe
