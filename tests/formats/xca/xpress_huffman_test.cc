#include "formats/xca/xpress_huffman.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/formats/xca/huffman_test_encoder.h"
#include "tests/formats/xca/test_bytes.h"

namespace etwpipe::xca {
namespace {

using testing::Bytes;
using testing::CheckDamagedInput;
using testing::Decoded;
using testing::DecodeGuarded;
using testing::FromHex;
using testing::FromText;
using testing::HuffmanBlock;
using testing::HuffmanEncode;
using testing::HuffmanToken;
using testing::RandomBytes;
using testing::RecordLikeBytes;
using testing::Repeat;

void ExpectDecodesTo(const Bytes& stream, const Bytes& plain) {
  const Decoded decoded = DecodeGuarded(XpressHuffmanDecode, stream, plain.size());
  ASSERT_TRUE(decoded.result.ok()) << ErrorText(decoded.result.error) << " at " << decoded.result.consumed;
  EXPECT_EQ(decoded.bytes, plain);
}

Bytes Apply(const std::vector<HuffmanToken>& tokens) {
  Bytes plain;
  for (const HuffmanToken& token : tokens) {
    if (token.length == 0) plain.push_back(token.literal);
    for (std::uint64_t i = 0; i < token.length; ++i) plain.push_back(plain[plain.size() - token.offset]);
  }
  return plain;
}

std::vector<HuffmanToken> Literals(const Bytes& bytes) {
  std::vector<HuffmanToken> tokens;
  for (const std::byte byte : bytes) tokens.push_back({byte, 0, 0});
  return tokens;
}

void SetLength(Bytes& table, std::size_t symbol, unsigned bits) {
  table[symbol / 2] |= static_cast<std::byte>(symbol % 2 == 0 ? bits : bits << 4);
}

// [MS-XCA] 3.2, first example: 'a' to 'v' have codes of 5 bits, 'w' to 'z' and the end symbol of 4.
TEST(XpressHuffmanDecode, PublishedExampleOfLiterals) {
  Bytes stream(256);
  for (std::size_t symbol = 'a'; symbol <= 'z'; ++symbol) SetLength(stream, symbol, symbol < 'w' ? 5 : 4);
  SetLength(stream, 256, 4);
  const Bytes bits = FromHex("d8 52 3e d7 94 11 5b e9 19 5f f9 d6 7c df 8d 04 00 00 00 00");
  stream.insert(stream.end(), bits.begin(), bits.end());
  ExpectDecodesTo(stream, FromText("abcdefghijklmnopqrstuvwxyz"));
  CheckDamagedInput(XpressHuffmanDecode, stream, FromText("abcdefghijklmnopqrstuvwxyz"));
}

// [MS-XCA] 3.2, second example: "abc" 100 times.
TEST(XpressHuffmanDecode, PublishedExampleOfALongMatch) {
  Bytes stream(256);
  SetLength(stream, 'a', 3);
  SetLength(stream, 'b', 3);
  SetLength(stream, 'c', 2);
  SetLength(stream, 256, 2);
  SetLength(stream, 256 + 16 + 15, 2);
  const Bytes bits = FromHex("a8 dc 00 00 ff 26 01");
  stream.insert(stream.end(), bits.begin(), bits.end());
  ExpectDecodesTo(stream, Repeat("abc", 100));
  CheckDamagedInput(XpressHuffmanDecode, stream, Repeat("abc", 100));
}

TEST(XpressHuffmanDecode, RoundTrips) {
  for (const std::size_t size : {1u, 2u, 3u, 100u, 65535u, 65536u, 65537u, 200000u}) {
    for (const Bytes& plain : {RandomBytes(size, 1), RecordLikeBytes(size, 2), Bytes(size, std::byte{7})}) {
      for (const bool matches : {false, true}) {
        for (const bool cross : {false, true}) {
          for (const bool steep : {false, true}) {
            SCOPED_TRACE(::testing::Message() << size << " " << matches << cross << steep);
            ExpectDecodesTo(HuffmanEncode(plain, {matches, cross, steep}), plain);
          }
        }
      }
    }
  }
}

TEST(XpressHuffmanDecode, EveryLengthFormAtItsBoundaries) {
  for (const std::uint64_t length :
       {3u, 4u, 17u, 18u, 19u, 272u, 273u, 274u, 65537u, 65538u, 65539u, 65540u, 70000u, 300000u}) {
    std::vector<HuffmanToken> tokens = Literals(FromText("0123456789"));
    tokens.push_back({{}, length, 9});
    const Bytes plain = Apply(tokens);
    SCOPED_TRACE(length);
    ExpectDecodesTo(HuffmanBlock(tokens, true), plain);
  }
}

TEST(XpressHuffmanDecode, EveryOffsetWidth) {
  // In the second block every offset, up to the largest, 65535, is within reach.
  const std::vector<HuffmanToken> first = Literals(RandomBytes(65536, 4));
  std::vector<HuffmanToken> second;
  for (unsigned bits = 0; bits <= 15; ++bits) {
    for (const std::size_t offset : {std::size_t{1} << bits, (std::size_t{2} << bits) - 1}) {
      second.push_back({{}, 3 + bits, offset});
      second.push_back({static_cast<std::byte>(bits), 0, 0});
    }
  }
  Bytes stream = HuffmanBlock(first, false);
  const Bytes block = HuffmanBlock(second, true);
  stream.insert(stream.end(), block.begin(), block.end());
  std::vector<HuffmanToken> all = first;
  all.insert(all.end(), second.begin(), second.end());
  ExpectDecodesTo(stream, Apply(all));
}

TEST(XpressHuffmanDecode, Symbol256IsAMatchWhileOutputIsMissing) {
  std::vector<HuffmanToken> tokens = Literals(FromText("ab"));
  tokens.push_back({{}, 3, 1});
  ExpectDecodesTo(HuffmanBlock(tokens, true), FromText("abbbb"));
}

TEST(XpressHuffmanDecode, RefusesIncompleteAndOverfullCodes) {
  Bytes out(4);
  Bytes stream(256 + 16);
  EXPECT_EQ(XpressHuffmanDecode(stream, out).error, DecodeError::kBadTable);
  SetLength(stream, 'a', 1);
  EXPECT_EQ(XpressHuffmanDecode(stream, out).error, DecodeError::kBadTable);
  SetLength(stream, 'b', 1);
  EXPECT_EQ(XpressHuffmanDecode(stream, out).error, DecodeError::kNone);
  SetLength(stream, 'c', 15);
  EXPECT_EQ(XpressHuffmanDecode(stream, out).error, DecodeError::kBadTable);
  EXPECT_EQ(XpressHuffmanDecode(Bytes(300, std::byte{0x11}), out).error, DecodeError::kBadTable);
  // All 512 symbols with 9 bits.
  Bytes even(256, std::byte{0x99});
  even.resize(300);
  EXPECT_EQ(XpressHuffmanDecode(even, out).error, DecodeError::kNone);
}

TEST(XpressHuffmanDecode, RefusesBadMatches) {
  std::vector<HuffmanToken> tokens = Literals(FromText("ab"));
  tokens.push_back({{}, 3, 3});
  EXPECT_EQ(DecodeGuarded(XpressHuffmanDecode, HuffmanBlock(tokens, true), 5).result.error, DecodeError::kBadOffset);
  tokens.back() = {{}, 20, 2};
  EXPECT_EQ(DecodeGuarded(XpressHuffmanDecode, HuffmanBlock(tokens, true), 21).result,
            (DecodeResult{DecodeError::kOutputOverrun, 2, 260}));
  // A 16-bit length below 15, patched over the 300 - 3 of a valid stream.
  tokens.back() = {{}, 300, 2};
  Bytes stream = HuffmanBlock(tokens, true);
  ASSERT_EQ(stream[260], std::byte{0xFF});
  ASSERT_EQ(stream[261], std::byte{297 - 256});
  stream[261] = std::byte{14};
  stream[262] = std::byte{0};
  EXPECT_EQ(DecodeGuarded(XpressHuffmanDecode, stream, 302).result.error, DecodeError::kBadLength);
}

TEST(XpressHuffmanDecode, TellsAMissingBlockFromACut) {
  const Bytes plain = RecordLikeBytes(65536, 6);
  const Bytes stream = HuffmanEncode(plain);
  const DecodeResult result = DecodeGuarded(XpressHuffmanDecode, stream, plain.size()).result;
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(DecodeGuarded(XpressHuffmanDecode, std::span(stream).first(result.consumed), plain.size() + 1).result,
            (DecodeResult{DecodeError::kOutputShort, 65536, result.consumed}));
}

TEST(XpressHuffmanDecode, DamagedInput) {
  for (const bool steep : {false, true}) {
    const Bytes plain = RecordLikeBytes(1500, 5);
    CheckDamagedInput(XpressHuffmanDecode, HuffmanEncode(plain, {true, false, steep}), plain);
  }
}

}  // namespace
}  // namespace etwpipe::xca
