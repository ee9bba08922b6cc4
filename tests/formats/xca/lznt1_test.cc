#include "formats/xca/lznt1.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/formats/xca/lznt1_test_encoder.h"
#include "tests/formats/xca/test_bytes.h"

namespace etwpipe::xca {
namespace {

using testing::Bytes;
using testing::CheckDamagedInput;
using testing::Decoded;
using testing::DecodeGuarded;
using testing::FromHex;
using testing::FromText;
using testing::Lznt1Encode;
using testing::RandomBytes;
using testing::RecordLikeBytes;
using testing::Repeat;

void ExpectDecodesTo(const Bytes& stream, const Bytes& plain) {
  const Decoded decoded = DecodeGuarded(Lznt1Decode, stream, plain.size());
  ASSERT_TRUE(decoded.result.ok()) << ErrorText(decoded.result.error) << " at " << decoded.result.consumed;
  EXPECT_EQ(decoded.bytes, plain);
}

// A compressed chunk around `body`.
Bytes Chunk(const Bytes& body) {
  const std::size_t header = 0xB000 | (body.size() - 1);
  Bytes chunk(2 + body.size());
  chunk[0] = static_cast<std::byte>(header & 0xFF);
  chunk[1] = static_cast<std::byte>(header >> 8);
  std::copy(body.begin(), body.end(), chunk.begin() + 2);
  return chunk;
}

// [MS-XCA] 3.3.
TEST(Lznt1Decode, PublishedExample) {
  const Bytes stream = FromHex(
      "38 b0 88 46 23 20 00 20 47 20 41 00 10 a2 47 01 a0 45 20 44 00 08 45 01 50 79 00 c0 45 20 05 24 13 88 05 b4 02 "
      "4a 44 ef 03 58 02 8c 09 16 01 48 45 00 be 00 9e 00 04 01 18 90 00");
  Bytes plain = FromText(
      "F# F# G A A G F# E D D E F# F# E E F# F# G A A G F# E D D E F# E D D E E F# D E F# G F# D E F# G F# E D E A "
      "F# F# G A A G F# E D D E F# E D D");
  plain.push_back(std::byte{0});
  ASSERT_EQ(stream.size(), 59u);
  ASSERT_EQ(plain.size(), 142u);
  ExpectDecodesTo(stream, plain);
  CheckDamagedInput(Lznt1Decode, stream, plain);
}

TEST(Lznt1Decode, RoundTripsRawCompressedAndMixedChunks) {
  for (const std::size_t size : {1u, 2u, 15u, 16u, 17u, 33u, 4095u, 4096u, 4097u, 8192u, 10000u, 30000u}) {
    SCOPED_TRACE(size);
    for (const Bytes& plain : {RandomBytes(size, 1), RecordLikeBytes(size, 2), Bytes(size, std::byte{9})}) {
      ExpectDecodesTo(Lznt1Encode(plain), plain);
    }
  }
  Bytes mixed = RandomBytes(4096, 3);
  const Bytes soft = RecordLikeBytes(5000, 4);
  mixed.insert(mixed.end(), soft.begin(), soft.end());
  ExpectDecodesTo(Lznt1Encode(mixed), mixed);
}

TEST(Lznt1Decode, OffsetWidthGrowsWithThePosition) {
  // One match at, before and after each position where the offset field gets wider, reaching to the chunk's start.
  for (std::size_t boundary = 16; boundary <= 2048; boundary *= 2) {
    for (const std::size_t position : {boundary - 1, boundary, boundary + 1}) {
      Bytes plain = RandomBytes(position, 5);
      plain.insert(plain.end(), plain.begin(), plain.begin() + 5);
      const Bytes stream = Lznt1Encode(plain);
      ASSERT_LT(stream.size(), plain.size() + (position + 15) / 8 + 2);
      SCOPED_TRACE(position);
      ExpectDecodesTo(stream, plain);
    }
  }
}

TEST(Lznt1Decode, LongestMatchFillsAChunk) {
  const Bytes stream = Chunk(FromHex("02 41 fc 0f"));
  ExpectDecodesTo(stream, Repeat("A", 4096));
}

TEST(Lznt1Decode, OverlappingMatches) {
  for (std::size_t period = 1; period <= 20; ++period) {
    Bytes plain = RandomBytes(period, 6);
    while (plain.size() < 500) plain.push_back(plain[plain.size() - period]);
    ExpectDecodesTo(Lznt1Encode(plain), plain);
  }
}

TEST(Lznt1Decode, StopsAtTheEndMark) {
  Bytes stream = Lznt1Encode(FromText("abc"));
  stream.insert(stream.end(), 10, std::byte{0});
  ExpectDecodesTo(stream, FromText("abc"));
  EXPECT_EQ(DecodeGuarded(Lznt1Decode, stream, 4).result, (DecodeResult{DecodeError::kOutputShort, 3, 5}));
  EXPECT_EQ(DecodeGuarded(Lznt1Decode, std::span(stream).first(6), 4).result,
            (DecodeResult{DecodeError::kInputTruncated, 3, 5}));
}

TEST(Lznt1Decode, LeavesTheRestOfAChunkAlone) {
  EXPECT_EQ(DecodeGuarded(Lznt1Decode, FromHex("04 30 61 62 63 64 65"), 2).result,
            (DecodeResult{DecodeError::kNone, 2, 4}));
  EXPECT_EQ(DecodeGuarded(Lznt1Decode, Chunk(FromHex("00 61 62 63 64 65")), 2).result,
            (DecodeResult{DecodeError::kNone, 2, 5}));
}

TEST(Lznt1Decode, RefusesBadChunks) {
  // Signatures other than 3.
  EXPECT_EQ(DecodeGuarded(Lznt1Decode, FromHex("02 20 61 62 63"), 3).result.error, DecodeError::kBadChunk);
  EXPECT_EQ(DecodeGuarded(Lznt1Decode, FromHex("02 f0 61 62 63"), 3).result.error, DecodeError::kBadChunk);
  // A short chunk in the middle.
  EXPECT_EQ(DecodeGuarded(Lznt1Decode, FromHex("02 30 61 62 63 02 30 61 62 63"), 6).result,
            (DecodeResult{DecodeError::kBadChunk, 3, 5}));
  // More than 4,096 bytes from one chunk: by a literal and by a match.
  EXPECT_EQ(DecodeGuarded(Lznt1Decode, Chunk(FromHex("02 41 fc 0f 42")), 5000).result,
            (DecodeResult{DecodeError::kBadChunk, 4096, 6}));
  EXPECT_EQ(DecodeGuarded(Lznt1Decode, Chunk(FromHex("02 41 fd 0f")), 5000).result,
            (DecodeResult{DecodeError::kBadChunk, 1, 4}));
}

TEST(Lznt1Decode, RefusesBadMatches) {
  // At the chunk's start, before it, past the output, cut in the middle.
  EXPECT_EQ(DecodeGuarded(Lznt1Decode, Chunk(FromHex("01 00 00")), 3).result.error, DecodeError::kBadOffset);
  EXPECT_EQ(DecodeGuarded(Lznt1Decode, Chunk(FromHex("02 41 00 10")), 4).result.error, DecodeError::kBadOffset);
  EXPECT_EQ(DecodeGuarded(Lznt1Decode, Chunk(FromHex("02 41 00 00")), 3).result.error, DecodeError::kOutputOverrun);
  EXPECT_EQ(DecodeGuarded(Lznt1Decode, Chunk(FromHex("02 41 00")), 4).result.error, DecodeError::kInputTruncated);
  // Matches may not reach into the previous chunk.
  Bytes stream = Chunk(FromHex("02 41 fc 0f"));
  const Bytes second = Chunk(FromHex("01 00 00"));
  stream.insert(stream.end(), second.begin(), second.end());
  EXPECT_EQ(DecodeGuarded(Lznt1Decode, stream, 4099).result.error, DecodeError::kBadOffset);
}

TEST(Lznt1Decode, DamagedInput) {
  const Bytes plain = RecordLikeBytes(4700, 12);
  CheckDamagedInput(Lznt1Decode, Lznt1Encode(plain), plain);
}

}  // namespace
}  // namespace etwpipe::xca
