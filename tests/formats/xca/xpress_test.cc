#include "formats/xca/xpress.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "tests/formats/xca/test_bytes.h"
#include "tests/formats/xca/xpress_reference.h"
#include "tests/formats/xca/xpress_stream_builder.h"

namespace etwpipe::xca {
namespace {

using testing::Bytes;
using testing::CheckDamagedInput;
using testing::Decoded;
using testing::DecodeGuarded;
using testing::FromHex;
using testing::FromText;
using testing::LengthForm;
using testing::Random;
using testing::RandomBytes;
using testing::ReferenceXpressDecode;
using testing::Repeat;
using testing::XpressStreamBuilder;

// Bytes of padding literals that keep what stands before them inside the reach of the fast loop.
constexpr std::size_t kFarFromTheEnd = 200;

void ExpectDecodesTo(const Bytes& stream, const Bytes& plain) {
  const Decoded decoded = DecodeGuarded(XpressDecode, stream, plain.size());
  ASSERT_TRUE(decoded.result.ok()) << ErrorText(decoded.result.error) << " at " << decoded.result.consumed;
  EXPECT_EQ(decoded.bytes, plain);
  EXPECT_LE(stream.size() - decoded.result.consumed, 4u);
}

// The fast loop and the reference must agree on everything, also on streams that make no sense.
void ExpectSameAsReference(const Bytes& stream, std::size_t out_size) {
  const Decoded decoded = DecodeGuarded(XpressDecode, stream, out_size);
  const Decoded expected = DecodeGuarded(ReferenceXpressDecode, stream, out_size);
  ASSERT_EQ(decoded.result, expected.result)
      << ErrorText(decoded.result.error) << " / " << ErrorText(expected.result.error);
  ASSERT_EQ(decoded.bytes, expected.bytes);
}

// [MS-XCA] 3.1, first example.
TEST(XpressDecode, PublishedExampleOfLiterals) {
  Bytes stream = FromHex("3f 00 00 00");
  const Bytes plain = FromText("abcdefghijklmnopqrstuvwxyz");
  stream.insert(stream.end(), plain.begin(), plain.end());
  ExpectDecodesTo(stream, plain);
}

// [MS-XCA] 3.1, second example: "abc" 100 times.
TEST(XpressDecode, PublishedExampleOfALongMatch) {
  const Bytes stream = FromHex("ff ff ff 1f 61 62 63 17 00 0f ff 26 01");
  ExpectDecodesTo(stream, Repeat("abc", 100));
  EXPECT_EQ(DecodeGuarded(XpressDecode, stream, 300).result.consumed, stream.size());
}

TEST(XpressDecode, LeavesInputAfterTheLastByteAlone) {
  Bytes stream = FromHex("ff ff ff 1f 61 62 63 17 00 0f ff 26 01");
  stream.insert(stream.end(), 100, std::byte{0x55});
  const Decoded decoded = DecodeGuarded(XpressDecode, stream, 300);
  EXPECT_EQ(decoded.result, (DecodeResult{DecodeError::kNone, 300, 13}));
}

TEST(XpressDecode, EveryLengthFormAtItsBoundaries) {
  for (const std::size_t padding : {std::size_t{0}, kFarFromTheEnd}) {
    for (const std::size_t length :
         {3u,   4u,   8u,   9u,   10u,   11u,    17u,    18u,    23u,    24u,    25u,    26u,    278u,
          279u, 280u, 281u, 282u, 1000u, 65534u, 65537u, 65538u, 65539u, 65540u, 70000u, 200000u}) {
      XpressStreamBuilder builder;
      builder.Literals("0123456789").Match(7, length).Literals("#").Match(1, length);
      builder.Literals(std::string(padding, '.'));
      SCOPED_TRACE(length);
      ExpectDecodesTo(builder.Finish(), builder.plain());
      ExpectSameAsReference(builder.Finish(), builder.plain().size());
    }
  }
}

TEST(XpressDecode, LongerFormsThanNeeded) {
  XpressStreamBuilder builder;
  builder.Literals("ab").Match(2, 25, LengthForm::k16Bit).Match(1, 25, LengthForm::k32Bit);
  builder.Match(2, 300, LengthForm::k32Bit).Match(2, 40, LengthForm::k16Bit).Match(2, 25, LengthForm::kByte);
  ExpectDecodesTo(builder.Finish(), builder.plain());
  builder.Literals(std::string(kFarFromTheEnd, '.'));
  ExpectDecodesTo(builder.Finish(), builder.plain());
}

TEST(XpressDecode, RefusesLongLengthsBelowTheirMinimum) {
  for (const std::size_t padding : {std::size_t{0}, kFarFromTheEnd}) {
    for (const LengthForm form : {LengthForm::k16Bit, LengthForm::k32Bit}) {
      for (const std::size_t stored : {std::size_t{1}, std::size_t{15}, std::size_t{21}}) {
        XpressStreamBuilder builder;
        builder.Literals("abc").RawMatch(3, stored, form).Literals(std::string(padding, '.'));
        const Decoded decoded = DecodeGuarded(XpressDecode, builder.Finish(), 3 + 24 + padding);
        EXPECT_EQ(decoded.result, (DecodeResult{DecodeError::kBadLength, 3, 7}));
      }
    }
  }
  // A 32-bit length of 0 and the largest one, which overflows 32 bits when 3 is added.
  for (const auto& [stored, error] : {std::pair{std::size_t{0}, DecodeError::kBadLength},
                                      std::pair{std::size_t{0xFFFFFFFF}, DecodeError::kOutputOverrun}}) {
    XpressStreamBuilder builder;
    builder.Literals("abc").RawMatch(3, stored, LengthForm::k32Bit).Literals(std::string(kFarFromTheEnd, '.'));
    EXPECT_EQ(DecodeGuarded(XpressDecode, builder.Finish(), 1000).result, (DecodeResult{error, 3, 7}));
  }
}

TEST(XpressDecode, HalfBytesAreSharedAcrossLiteralsAndShortMatches) {
  XpressStreamBuilder builder;
  builder.Literals("xyz").Match(3, 10).Literals("q").Match(2, 5).Match(3, 24).Match(1, 12).Match(2, 300).Match(4, 30);
  builder.Match(5, 11).Literals(std::string(40, '-')).Match(9, 19);
  ExpectDecodesTo(builder.Finish(), builder.plain());
  builder.Literals(std::string(kFarFromTheEnd, '.'));
  ExpectDecodesTo(builder.Finish(), builder.plain());
}

TEST(XpressDecode, OverlappingMatchesOfEveryOffsetAndLength) {
  for (std::size_t offset = 1; offset <= 40; ++offset) {
    for (std::size_t length = 3; length <= 100; ++length) {
      XpressStreamBuilder builder;
      for (std::size_t i = 0; i < 40; ++i) builder.Literal(static_cast<std::byte>(i * 7 + 1));
      builder.Match(offset, length);
      ExpectSameAsReference(builder.Finish(), builder.plain().size());
      builder.Literals(std::string(kFarFromTheEnd, '.'));
      ExpectDecodesTo(builder.Finish(), builder.plain());
      if (HasFailure()) FAIL() << "offset " << offset << " length " << length;
    }
  }
}

TEST(XpressDecode, LargestOffset) {
  XpressStreamBuilder builder;
  for (const std::byte value : RandomBytes(8192, 1)) builder.Literal(value);
  builder.Match(8192, 50).Match(8191, 20).Match(8192, 3);
  ExpectDecodesTo(builder.Finish(), builder.plain());
}

TEST(XpressDecode, RefusesOffsetsBeforeTheStart) {
  for (const std::size_t padding : {std::size_t{0}, kFarFromTheEnd}) {
    for (const std::size_t before : {std::size_t{0}, std::size_t{1}, std::size_t{30}, std::size_t{8191}}) {
      XpressStreamBuilder builder;
      for (std::size_t i = 0; i < before; ++i) builder.Literal(std::byte{'a'});
      const std::size_t at = before + (before / 32 + 1) * 4;
      builder.Match(before + 1, 9).Literals(std::string(padding, '.'));
      const Decoded decoded = DecodeGuarded(XpressDecode, builder.Finish(), before + 9 + padding);
      EXPECT_EQ(decoded.result, (DecodeResult{DecodeError::kBadOffset, before, at}));
    }
  }
}

TEST(XpressDecode, RefusesMatchesPastTheEnd) {
  for (const std::size_t length : {std::size_t{4}, std::size_t{20}, std::size_t{100}, std::size_t{70000}}) {
    XpressStreamBuilder builder;
    builder.Literals("abcdef").Match(6, length);
    EXPECT_EQ(DecodeGuarded(XpressDecode, builder.Finish(), 6 + length - 1).result,
              (DecodeResult{DecodeError::kOutputOverrun, 6, 10}));
  }
}

TEST(XpressDecode, TellsTheEndMarkFromACut) {
  XpressStreamBuilder builder;
  builder.Literals("abc");
  EXPECT_EQ(DecodeGuarded(XpressDecode, builder.Finish(), 4).result, (DecodeResult{DecodeError::kOutputShort, 3, 7}));
  const Bytes half_a_match = FromHex("ff ff ff 1f 61 62 63 17");
  EXPECT_EQ(DecodeGuarded(XpressDecode, half_a_match, 4).result, (DecodeResult{DecodeError::kInputTruncated, 3, 7}));
}

TEST(XpressDecode, DamagedInput) {
  XpressStreamBuilder builder;
  Random random(7);
  const std::size_t lengths[] = {3, 5, 9, 10, 15, 24, 25, 100, 279, 280, 300};
  for (int i = 0; i < 60; ++i) {
    for (std::uint32_t n = random() % 5 + (i == 0 ? 1 : 0); n > 0; --n) {
      builder.Literal(static_cast<std::byte>(random() >> 24));
    }
    builder.Match(1 + random() % builder.plain().size(), lengths[random() % 11]);
  }
  builder.Match(3, 66000);
  CheckDamagedInput(XpressDecode, builder.Finish(), builder.plain());
}

TEST(XpressDecode, AgreesWithTheReferenceOnDamagedAndRandomStreams) {
  Random random(11);
  for (int round = 0; round < 3000; ++round) {
    XpressStreamBuilder builder;
    builder.Literals("seed");
    while (builder.plain().size() < 600) {
      for (std::uint32_t n = random() % 40 < 3 ? random() % 70 : random() % 4; n > 0; --n) {
        builder.Literal(static_cast<std::byte>(random() >> 24));
      }
      const std::size_t reach = random() % 2 == 0 ? 20 : builder.plain().size();
      const std::size_t offset = 1 + random() % std::min(reach, builder.plain().size());
      builder.Match(offset, 3 + random() % (random() % 8 == 0 ? 400 : 30));
    }
    Bytes stream = builder.Finish();
    ExpectSameAsReference(stream, builder.plain().size());
    for (std::uint32_t n = 1 + random() % 4; n > 0; --n) {
      stream[random() % stream.size()] = static_cast<std::byte>(random() >> 24);
    }
    ExpectSameAsReference(stream, builder.plain().size() + random() % 100);
    ExpectSameAsReference(RandomBytes(random() % 500, random()), random() % 5000);
    if (HasFailure()) FAIL() << "round " << round;
  }
}

}  // namespace
}  // namespace etwpipe::xca
