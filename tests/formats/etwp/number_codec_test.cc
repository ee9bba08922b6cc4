#include "formats/etwp/number_codec.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>

namespace etwpipe::etwp {
namespace {

constexpr v1::Encoding kEncodings[] = {v1::ENCODING_VARINT,       v1::ENCODING_DELTA_VARINT, v1::ENCODING_PLANES,
                                       v1::ENCODING_DELTA_PLANES, v1::ENCODING_FIXED,        v1::ENCODING_DICTIONARY};

std::vector<std::vector<uint64_t>> Columns() {
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  std::vector<std::vector<uint64_t>> columns = {
      {0}, {1}, {kMax}, {0, kMax, 0}, {127, 128, 255, 256, 65535, 65536}, {kMax, kMax - 1, kMax - 2}};
  std::mt19937_64 random(7);
  for (const int bits : {1, 7, 8, 9, 31, 32, 33, 63, 64}) {
    auto& column = columns.emplace_back(5'000);
    for (auto& value : column) value = random() >> (64 - bits);
  }
  // Cursors decode some values at a time.
  for (const size_t size : {31, 32, 33, 63, 64, 65}) {
    auto& column = columns.emplace_back(size);
    for (auto& value : column) value = random() >> 40;
  }
  auto& few = columns.emplace_back(10'000);
  for (auto& value : few) value = 0xFFFF800000000000 + random() % 5 * 0x1234567;
  return columns;
}

std::vector<std::byte> Write(std::span<const uint64_t> values, v1::Encoding encoding) {
  std::vector<std::byte> bytes;
  NumberEncoder::Write(values, encoding, bytes);
  return bytes;
}

TEST(NumberCodec, EveryEncodingGivesEveryColumnBack) {
  for (const auto encoding : kEncodings) {
    for (const auto& column : Columns()) {
      const auto bytes = Write(column, encoding);
      NumberCursor cursor;
      ASSERT_TRUE(cursor.Open(static_cast<uint32_t>(encoding), bytes));
      for (const uint64_t expected : column) {
        EXPECT_FALSE(cursor.at_end());
        uint64_t value = 0;
        ASSERT_TRUE(cursor.Next(value)) << encoding;
        ASSERT_EQ(value, expected) << encoding;
      }
      EXPECT_TRUE(cursor.at_end());
      uint64_t value = 0;
      EXPECT_FALSE(cursor.Next(value));
    }
  }
}

TEST(NumberCodec, TheChosenEncodingGivesTheColumnBack) {
  for (const Effort effort : {Effort::kEstimate, Effort::kTrial}) {
    NumberEncoder encoder(effort);
    for (const auto& column : Columns()) {
      const auto choice = encoder.Choose(column);
      const auto bytes = Write(column, choice.encoding);
      NumberCursor cursor;
      ASSERT_TRUE(cursor.Open(static_cast<uint32_t>(choice.encoding), bytes));
      for (const uint64_t expected : column) {
        uint64_t value = 0;
        ASSERT_TRUE(cursor.Next(value));
        ASSERT_EQ(value, expected);
      }
      EXPECT_TRUE(cursor.at_end());
    }
  }
}

TEST(NumberCodec, AConstantIsSeen) {
  NumberEncoder encoder;
  EXPECT_EQ(encoder.Choose(std::vector<uint64_t>(100, 42)).encoding, v1::ENCODING_CONSTANT);
  std::vector<uint64_t> almost(100'000, 42);
  almost[77'777] = 41;
  EXPECT_NE(encoder.Choose(almost).encoding, v1::ENCODING_CONSTANT);
}

TEST(NumberCodec, StepsAreToldByTheirDifferences) {
  std::vector<uint64_t> steps;
  for (uint64_t i = 0; i < 3'000; ++i) steps.push_back(0xFFFFF80012340000 + i * 0x40);
  for (const Effort effort : {Effort::kEstimate, Effort::kTrial}) {
    NumberEncoder encoder(effort);
    const auto encoding = encoder.Choose(steps).encoding;
    EXPECT_TRUE(encoding == v1::ENCODING_DELTA_VARINT || encoding == v1::ENCODING_DELTA_PLANES) << encoding;
  }
}

TEST(NumberCodec, SamplesLieInsideAndAscend) {
  for (const Effort effort : {Effort::kEstimate, Effort::kTrial}) {
    const NumberEncoder encoder(effort);
    for (const size_t count : {1u, 512u, 513u, 4096u, 4097u, 1'000'003u}) {
      size_t end = 0;
      for (const auto& [begin, stop] : encoder.Sample(count)) {
        EXPECT_GE(begin, end);
        EXPECT_GT(stop, begin);
        end = stop;
      }
      EXPECT_EQ(end, count);
    }
  }
}

// Cut anywhere, or with any byte changed: other values, or an end, but no reading past the bytes.
TEST(NumberCodec, BytesThatMakeNoSenseEnd) {
  const std::vector<uint64_t> column = {1, 300, 70'000, 5, 5, 5, 0xFFFFFFFFFFFF, 2, 2};
  for (const auto encoding : kEncodings) {
    const auto good = Write(column, encoding);
    const auto drain = [&](const std::vector<std::byte>& bytes) {
      NumberCursor cursor;
      if (!cursor.Open(static_cast<uint32_t>(encoding), bytes)) return;
      uint64_t value = 0;
      size_t taken = 0;
      while (cursor.Next(value)) ASSERT_LE(++taken, bytes.size());
    };
    for (size_t size = 0; size < good.size(); ++size) {
      drain(std::vector<std::byte>(good.begin(), good.begin() + static_cast<ptrdiff_t>(size)));
    }
    for (size_t at = 0; at < good.size(); ++at) {
      for (int bit = 0; bit < 8; ++bit) {
        auto bytes = good;
        bytes[at] ^= static_cast<std::byte>(1 << bit);
        drain(bytes);
      }
    }
  }
  NumberCursor cursor;
  EXPECT_FALSE(cursor.Open(v1::ENCODING_PLANES, {}));
  EXPECT_FALSE(cursor.Open(v1::ENCODING_BYTES, {}));
  const std::byte wide[] = {std::byte{9}, std::byte{0}};
  EXPECT_FALSE(cursor.Open(v1::ENCODING_FIXED, wide));
}

// `count` times the value, then neither a value nor an end, however often it is asked.
void ExpectThenNonsense(NumberCursor& cursor, size_t count, uint64_t expected) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) {
    ASSERT_TRUE(cursor.Next(value)) << i << " of " << count;
    EXPECT_EQ(value, expected);
  }
  for (int twice = 0; twice < 2; ++twice) {
    EXPECT_FALSE(cursor.Next(value));
    EXPECT_FALSE(cursor.at_end());
  }
}

TEST(NumberCodec, WhatComesBeforeNonsenseIsGiven) {
  for (const size_t good : {0, 1, 31, 32, 33, 64, 100}) {
    auto bytes = Write(std::vector<uint64_t>(good, 300), v1::ENCODING_VARINT);
    bytes.insert(bytes.end(), 11, std::byte{0x80});
    NumberCursor cursor;
    ASSERT_TRUE(cursor.Open(v1::ENCODING_VARINT, bytes));
    ExpectThenNonsense(cursor, good, 300);
  }
}

// Bytes of every kind against the definition of a varint, taken byte by byte.
TEST(NumberCodec, VarintsOfEveryLengthAreThoseOfTheDefinition) {
  std::mt19937_64 random(12);
  for (int turn = 0; turn < 3'000; ++turn) {
    std::vector<std::byte> bytes(random() % 40);
    const uint64_t long_ones = random() % 12;  // of 12 bytes that many go on
    for (auto& byte : bytes) {
      const bool more = random() % 12 < long_ones;
      byte = static_cast<std::byte>((random() & 0x7F) | (more ? 0x80 : 0));
    }
    NumberCursor cursor;
    ASSERT_TRUE(cursor.Open(v1::ENCODING_VARINT, bytes));
    for (size_t at = 0; at < bytes.size();) {
      uint64_t expected = 0;
      size_t length = 0;
      bool good = false;
      for (; at + length < bytes.size() && length < 10 && !good; ++length) {
        const auto byte = std::to_integer<uint64_t>(bytes[at + length]);
        if (length == 9 && byte > 1) break;
        expected |= (byte & 0x7F) << 7 * length;
        good = byte < 0x80;
      }
      uint64_t value = 0;
      ASSERT_EQ(cursor.Next(value), good) << turn << " " << at;
      if (!good) break;
      ASSERT_EQ(value, expected) << turn << " " << at;
      at += length;
    }
  }
}

TEST(NumberCodec, AnIndexWithoutAValueIsNoEnd) {
  for (const size_t good : {0, 1, 31, 32, 33}) {
    std::vector<std::byte> bytes = {std::byte{1}, std::byte{1}, std::byte{77}};  // one value of one byte
    bytes.insert(bytes.end(), good, std::byte{0});
    bytes.push_back(std::byte{1});
    bytes.push_back(std::byte{0});
    NumberCursor cursor;
    ASSERT_TRUE(cursor.Open(v1::ENCODING_DICTIONARY, bytes));
    ExpectThenNonsense(cursor, good, 77);
  }
}

TEST(NumberCodec, ACursorStartsAnew) {
  const auto bytes = Write(std::vector<uint64_t>{7, 8, 9}, v1::ENCODING_DELTA_VARINT);
  NumberCursor cursor;
  uint64_t value = 1;
  for (int turn = 0; turn < 2; ++turn) {
    ASSERT_TRUE(cursor.Open(v1::ENCODING_DELTA_VARINT, bytes));
    ASSERT_TRUE(cursor.Next(value));
    EXPECT_EQ(value, 7u);
  }
  cursor.Reset();
  EXPECT_TRUE(cursor.at_end());
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(cursor.Next(value));
    EXPECT_EQ(value, 0u);
    EXPECT_TRUE(cursor.at_end());
  }
}

// Against the definition, with more bytes than logarithms are kept for.
TEST(ByteCounts, BitsAreThoseOfTheDefinition) {
  std::mt19937_64 random(3);
  ByteCounts counts;
  for (const size_t total : {1, 2, 255, 4096, 4097, 50'000}) {
    for (const uint64_t distinct : {1, 2, 7, 256}) {
      std::array<double, 256> plain{};
      for (size_t i = 0; i < total; ++i) {
        const auto byte = static_cast<uint8_t>(random() % distinct);
        counts.Add(byte);
        ++plain[byte];
      }
      double bits = 0;
      for (const double count : plain) {
        if (count > 0) bits += count * std::log2(static_cast<double>(total) / count);
      }
      EXPECT_NEAR(counts.TakeBits(total), bits, 1e-6 * static_cast<double>(total)) << total << " " << distinct;
    }
  }
}

}  // namespace
}  // namespace etwpipe::etwp
