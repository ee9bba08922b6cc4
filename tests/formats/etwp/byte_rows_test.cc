#include "formats/etwp/byte_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "formats/etwp/column_set.h"
#include "tests/formats/etwp/encodings.h"

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

NumberCursor CursorOf(const std::vector<uint64_t>& sizes, std::vector<std::byte>& bytes) {
  bytes.clear();
  NumberEncoder::Write(sizes, v1::ENCODING_VARINT, bytes);
  NumberCursor cursor;
  EXPECT_TRUE(cursor.Open(v1::ENCODING_VARINT, bytes));
  return cursor;
}

TEST(ByteRows, RowsOfManySizesComeBack) {
  std::mt19937 random(4);
  for (const uint32_t most : {1, 2, 7, 300}) {
    std::vector<uint64_t> sizes(500);
    size_t total = 0;
    for (auto& size : sizes) total += size = random() % most;
    const auto bytes = RandomBytes(total, most);
    std::vector<std::byte> groups;
    WriteGrouped(bytes, sizes, groups);
    ASSERT_EQ(groups.size(), total);
    std::vector<std::byte> kept;
    std::vector<std::byte> back = {std::byte{42}};
    ASSERT_TRUE(ReadGrouped(groups, CursorOf(sizes, kept), back));
    EXPECT_EQ(back.front(), std::byte{42});
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), back.begin() + 1, back.end()));
  }
}

TEST(ByteRows, RowsOfOneSizeStandTogether) {
  const std::byte rows[] = {std::byte{1}, std::byte{10}, std::byte{7}, std::byte{2}, std::byte{20}, std::byte{8}};
  std::vector<std::byte> groups;
  WriteGrouped(rows, std::vector<uint64_t>{2, 0, 1, 2, 1}, groups);
  const std::byte expected[] = {std::byte{7}, std::byte{8}, std::byte{1}, std::byte{2}, std::byte{10}, std::byte{20}};
  EXPECT_TRUE(std::equal(groups.begin(), groups.end(), std::begin(expected), std::end(expected)));
}

TEST(ByteRows, SizesThatDoNotFitAreRefused) {
  const auto bytes = RandomBytes(10, 5);
  const auto refused = [&](const std::vector<uint64_t>& sizes) {
    std::vector<std::byte> kept;
    std::vector<std::byte> back;
    return !ReadGrouped(bytes, CursorOf(sizes, kept), back) && back.empty();
  };
  EXPECT_FALSE(refused({4, 6}));
  EXPECT_FALSE(refused({4, 6, 5}));  // whoever takes the rows sees that there is one size too many
  EXPECT_TRUE(refused({}));
  EXPECT_TRUE(refused({4, 5}));
  EXPECT_TRUE(refused({4, 7}));
  EXPECT_TRUE(refused({~uint64_t{0}, 11}));
  // Zeros without end.
  std::vector<std::byte> back;
  EXPECT_FALSE(ReadGrouped(bytes, NumberCursor(), back));
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
  const auto open = [](std::vector<uint8_t> first, ColumnReader& reader,
                       v1::Encoding first_encoding = v1::ENCODING_TRANSPOSED) {
    v1::ColumnDirectory directory;
    std::string content;
    const auto add = [&](uint32_t id, v1::Encoding encoding, const std::vector<uint8_t>& bytes) {
      directory.add_id(id);
      directory.add_of(0);
      directory.add_encoding(static_cast<uint32_t>(encoding));
      directory.add_length(static_cast<uint32_t>(bytes.size()));
      content.append(bytes.begin(), bytes.end());
    };
    add(1, first_encoding, first);
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
  // No column says how long rows of this one are.
  EXPECT_TRUE(open({3, 7, 8, 9}, reader, v1::ENCODING_GROUPED));
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
  struct Case {
    bool counters;
    size_t more;  // how much longer every second row is
    v1::Encoding expected;
  };
  for (const Case& rows : {Case{true, 0, v1::ENCODING_TRANSPOSED}, Case{true, 3, v1::ENCODING_GROUPED},
                           Case{false, 0, v1::ENCODING_BYTES}, Case{false, 3, v1::ENCODING_BYTES}}) {
    std::mt19937 random(1);
    std::vector<std::byte> bytes;
    std::vector<uint64_t> sizes;
    for (uint32_t i = 0; i < 2'000; ++i) {
      sizes.push_back(12 + i % 2 * rows.more);
      for (size_t place = 0; place < sizes.back(); ++place) {
        bytes.push_back(static_cast<std::byte>(!rows.counters ? random()
                                               : place == 0   ? i
                                               : place == 4   ? i / 7
                                                              : place * 11));
      }
    }
    for (const v1::ColumnId id : {v1::COLUMN_PAYLOAD, v1::COLUMN_TABLE}) {
      ColumnWriter writer;
      writer.AddNumbers(SizesOf(id), 1, sizes);
      auto& to = writer.BeginBytes(id, 1);
      to.insert(to.end(), bytes.begin(), bytes.end());
      writer.EndRows(sizes);
      writer.BeginBytes(id, 2).push_back(std::byte{9});
      writer.EndBytes();
      Compressor compressor;
      v1::Columns columns;
      ASSERT_TRUE(writer.Finish(3, compressor, columns).ok());
      for (const v1::Encoding encoding : {v1::ENCODING_TRANSPOSED, v1::ENCODING_GROUPED}) {
        EXPECT_EQ(test::Names(columns, encoding), encoding == rows.expected);
      }
      ColumnReader reader;
      ASSERT_FALSE(reader.Open(columns));
      std::span<const std::byte> back;
      ASSERT_TRUE(reader.Bytes(id, 1, back));
      EXPECT_TRUE(std::equal(back.begin(), back.end(), bytes.begin(), bytes.end()));
      ASSERT_TRUE(reader.Bytes(id, 2, back));
      EXPECT_EQ(back.size(), 1u);
      std::vector<uint64_t> numbers;
      EXPECT_FALSE(reader.Numbers(id, 1, bytes.size(), numbers));
    }
  }
}

}  // namespace
}  // namespace etwpipe::etwp
