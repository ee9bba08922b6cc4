#include "formats/etwp/byte_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

#include "formats/etwp/column_set.h"

namespace etwpipe::etwp {
namespace {

std::vector<std::byte> RandomBytes(size_t size, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(size);
  for (auto& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

TEST(ByteRows, RowsComeBack) {
  for (const size_t row : {1, 2, 3, 127, 128, 300, 65'535}) {
    for (const size_t rows : {0, 1, 2, 5, 100}) {
      const auto bytes = RandomBytes(row * rows, static_cast<uint32_t>(row + rows));
      std::vector<std::byte> places;
      WriteTransposed(bytes, row, places);
      std::vector<std::byte> back = {std::byte{42}};
      ASSERT_TRUE(ReadTransposed(places, back)) << row << " " << rows;
      EXPECT_EQ(back.front(), std::byte{42});
      EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), back.begin() + 1, back.end())) << row << " " << rows;
    }
  }
}

TEST(ByteRows, PlacesStandTogether) {
  const std::byte rows[] = {std::byte{1}, std::byte{10}, std::byte{2}, std::byte{20}, std::byte{3}, std::byte{30}};
  std::vector<std::byte> places;
  WriteTransposed(rows, 2, places);
  const std::byte expected[] = {std::byte{2},  std::byte{1},  std::byte{2}, std::byte{3},
                                std::byte{10}, std::byte{20}, std::byte{30}};
  EXPECT_TRUE(std::equal(places.begin(), places.end(), std::begin(expected), std::end(expected)));
}

TEST(ByteRows, WhatCannotBeRowsIsRefused) {
  const auto refused = [](std::vector<std::byte> bytes) {
    std::vector<std::byte> back;
    return !ReadTransposed(bytes, back) && back.empty();
  };
  EXPECT_TRUE(refused({}));
  EXPECT_TRUE(refused({std::byte{0}}));
  EXPECT_TRUE(refused({std::byte{0}, std::byte{1}}));
  EXPECT_TRUE(refused({std::byte{2}, std::byte{1}, std::byte{2}, std::byte{3}}));
  EXPECT_TRUE(refused({std::byte{0x80}}));
  EXPECT_TRUE(refused(std::vector<std::byte>(11, std::byte{0xFF})));
  // Rows longer than anything, none of them: nothing is allocated for them.
  std::vector<std::byte> long_row(9, std::byte{0xFF});
  long_row.push_back(std::byte{1});
  EXPECT_FALSE(refused(long_row));
}

// Counters in rows are smaller by place, random bytes are not; both come back.
TEST(ByteRows, AColumnOfRowsIsStoredAsItIsSmaller) {
  constexpr size_t kRow = 12;
  std::vector<std::byte> counters;
  for (uint32_t i = 0; i < 2'000; ++i) {
    for (size_t place = 0; place < kRow; ++place) {
      counters.push_back(static_cast<std::byte>(place == 0 ? i : place == 4 ? i / 7 : place * 11));
    }
  }
  for (const auto& [bytes, transposed] : {std::pair(counters, true), std::pair(RandomBytes(24'000, 1), false)}) {
    for (const size_t row : {kRow, size_t{0}}) {
      ColumnWriter writer;
      auto& to = writer.BeginBytes(7, 1);
      to.insert(to.end(), bytes.begin(), bytes.end());
      writer.EndBytes(row);
      auto& other = writer.BeginBytes(7, 2);
      other.push_back(std::byte{9});
      writer.EndBytes();
      Compressor compressor;
      v1::Columns columns;
      ASSERT_TRUE(writer.Finish(3, compressor, columns).ok());
      const bool used = std::find(columns.encodings().begin(), columns.encodings().end(),
                                  static_cast<uint32_t>(v1::ENCODING_TRANSPOSED)) != columns.encodings().end();
      EXPECT_EQ(used, transposed && row == kRow);
      ColumnReader reader;
      ASSERT_FALSE(reader.Open(columns));
      std::span<const std::byte> back;
      ASSERT_TRUE(reader.Bytes(7, 1, back));
      EXPECT_TRUE(std::equal(back.begin(), back.end(), bytes.begin(), bytes.end()));
      ASSERT_TRUE(reader.Bytes(7, 2, back));
      EXPECT_EQ(back.size(), 1u);
      std::vector<uint64_t> numbers;
      EXPECT_FALSE(reader.Numbers(7, 1, bytes.size(), numbers));
    }
  }
}

}  // namespace
}  // namespace etwpipe::etwp
