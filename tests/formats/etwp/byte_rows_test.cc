#include "formats/etwp/byte_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
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

// A directory that says nonsense of rows; the column between them is numbers.
TEST(ByteRows, AColumnOfRowsIsCheckedWhenItIsOpened) {
  const auto open = [](std::vector<uint8_t> first, ColumnReader& reader) {
    v1::ColumnDirectory directory;
    std::string content;
    const auto add = [&](uint32_t id, v1::Encoding encoding, const std::vector<uint8_t>& bytes) {
      directory.add_id(id);
      directory.add_of(0);
      directory.add_encoding(static_cast<uint32_t>(encoding));
      directory.add_length(static_cast<uint32_t>(bytes.size()));
      content.append(bytes.begin(), bytes.end());
    };
    add(1, v1::ENCODING_TRANSPOSED, first);
    add(2, v1::ENCODING_VARINT, {5, 6});
    add(3, v1::ENCODING_TRANSPOSED, {2, 1, 3, 2, 4});
    const std::string head = directory.SerializeAsString();
    v1::Columns columns;
    columns.set_compression(v1::Columns::COMPRESSION_NONE);
    columns.set_directory_length(static_cast<uint32_t>(head.size()));
    columns.set_content_length(static_cast<uint32_t>(head.size() + content.size()));
    columns.set_content(head + content);
    return reader.Open(columns);
  };
  ColumnReader reader;
  EXPECT_TRUE(open({0, 1, 2}, reader));
  EXPECT_TRUE(open({2, 1, 2, 3}, reader));
  EXPECT_TRUE(open({}, reader));
  ASSERT_FALSE(open({3, 7, 8, 9}, reader));
  const auto expect_bytes = [&](uint32_t id, std::vector<uint8_t> expected) {
    std::span<const std::byte> bytes;
    ASSERT_TRUE(reader.Bytes(id, 0, bytes));
    ASSERT_EQ(bytes.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(std::to_integer<uint8_t>(bytes[i]), expected[i]);
  };
  expect_bytes(1, {7, 8, 9});
  expect_bytes(3, {1, 2, 3, 4});
  std::vector<uint64_t> numbers;
  ASSERT_TRUE(reader.Numbers(2, 0, 2, numbers));
  EXPECT_EQ(numbers, (std::vector<uint64_t>{5, 6}));
  EXPECT_FALSE(reader.Numbers(3, 0, 4, numbers));
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
