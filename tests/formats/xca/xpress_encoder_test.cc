#include "formats/xca/xpress_encoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "formats/xca/xpress.h"
#include "tests/formats/xca/test_bytes.h"
#include "tests/formats/xca/xpress_reference.h"

namespace etwpipe::xca {
namespace {

using testing::Bytes;
using testing::Decoded;
using testing::DecodeGuarded;
using testing::FromHex;
using testing::FromText;
using testing::RandomBytes;
using testing::RecordLikeBytes;
using testing::ReferenceXpressDecode;
using testing::Repeat;

Bytes Encode(const Bytes& plain, XpressEncoder& scratch) {
  Bytes stream(XpressEncodeBound(plain.size()));
  const std::size_t size = XpressEncode(plain, stream, scratch);
  EXPECT_GT(size, 0u);
  stream.resize(size);
  return stream;
}

void ExpectRoundTrip(const Bytes& plain, XpressEncoder& scratch) {
  const Bytes stream = Encode(plain, scratch);
  const Decoded decoded = DecodeGuarded(XpressDecode, stream, plain.size());
  ASSERT_TRUE(decoded.result.ok()) << ErrorText(decoded.result.error);
  ASSERT_EQ(decoded.bytes, plain);
  const Decoded reference = DecodeGuarded(ReferenceXpressDecode, stream, plain.size());
  ASSERT_EQ(reference.result, decoded.result);
  ASSERT_EQ(reference.bytes, plain);
  // The stream ends with the end mark: one byte more of output cannot be had, and that is not taken for a cut.
  ASSERT_EQ(DecodeGuarded(XpressDecode, stream, plain.size() + 1).result.error, DecodeError::kOutputShort);
}

// [MS-XCA] 3.1: both examples show the only sensible encoding, so ours must be the same.
TEST(XpressEncode, PublishedExamples) {
  XpressEncoder scratch;
  const Bytes letters = FromText("abcdefghijklmnopqrstuvwxyz");
  Bytes expected = FromHex("3f 00 00 00");
  expected.insert(expected.end(), letters.begin(), letters.end());
  EXPECT_EQ(Encode(letters, scratch), expected);
  EXPECT_EQ(Encode(Repeat("abc", 100), scratch), FromHex("ff ff ff 1f 61 62 63 17 00 0f ff 26 01"));
}

TEST(XpressEncode, EmptyInputIsOneFlagWord) {
  XpressEncoder scratch;
  EXPECT_EQ(Encode({}, scratch), FromHex("ff ff ff ff"));
}

TEST(XpressEncode, RoundTripsEverySmallSize) {
  XpressEncoder scratch;
  for (std::size_t size = 0; size <= 300; ++size) {
    ExpectRoundTrip(Bytes(size, std::byte{'z'}), scratch);
    ExpectRoundTrip(RandomBytes(size, 3), scratch);
    ExpectRoundTrip(RecordLikeBytes(size, 4), scratch);
    if (HasFailure()) FAIL() << "size " << size;
  }
}

TEST(XpressEncode, RoundTripsEveryRunLength) {
  // Runs around each length form, each followed by other bytes so that the run is one match.
  XpressEncoder scratch;
  for (const std::size_t length :
       {3u, 4u, 9u, 10u, 24u, 25u, 26u, 279u, 280u, 281u, 65537u, 65538u, 65539u, 65540u, 70000u, 200000u}) {
    Bytes plain(length + 1, std::byte{'r'});
    const Bytes tail = FromText("tail");
    plain.insert(plain.end(), tail.begin(), tail.end());
    SCOPED_TRACE(length);
    ExpectRoundTrip(plain, scratch);
  }
}

TEST(XpressEncode, RoundTripsLargeInputs) {
  XpressEncoder scratch;
  for (const std::size_t size : {65464u, 1000000u}) {
    ExpectRoundTrip(RandomBytes(size, 5), scratch);
    ExpectRoundTrip(RecordLikeBytes(size, 6), scratch);
    ExpectRoundTrip(Bytes(size), scratch);
  }
  ExpectRoundTrip(RecordLikeBytes(kXpressMaxInput, 8), scratch);
}

TEST(XpressEncode, FindsMatchesAsFarAsTheWindowAndNoFarther) {
  XpressEncoder scratch;
  const Bytes marker = RandomBytes(64, 20);
  const auto saved_bytes = [&](std::size_t distance) {
    Bytes plain = marker;
    const Bytes filler = RandomBytes(distance - marker.size(), 21);
    plain.insert(plain.end(), filler.begin(), filler.end());
    plain.insert(plain.end(), marker.begin(), marker.end());
    ExpectRoundTrip(plain, scratch);
    return XpressEncodeBound(plain.size()) - Encode(plain, scratch).size();
  };
  EXPECT_GT(saved_bytes(8191), 50u);
  EXPECT_GT(saved_bytes(8192), 50u);
  EXPECT_LT(saved_bytes(8193), 20u);
}

TEST(XpressEncode, NeverExceedsItsBoundAndReachesIt) {
  XpressEncoder scratch;
  for (const std::size_t size : {0u, 1u, 31u, 32u, 33u, 63u, 64u, 5000u}) {
    const Bytes plain = RandomBytes(size, 77);
    EXPECT_LE(Encode(plain, scratch).size(), XpressEncodeBound(size));
  }
  Bytes distinct(128);
  for (std::size_t i = 0; i < distinct.size(); ++i) distinct[i] = static_cast<std::byte>(i);
  EXPECT_EQ(Encode(distinct, scratch).size(), XpressEncodeBound(distinct.size()));
}

TEST(XpressEncode, SaysWhenTheResultDoesNotFit) {
  XpressEncoder scratch;
  for (const Bytes& plain : {Bytes{}, RandomBytes(100, 9), RecordLikeBytes(700, 10), Repeat("abc", 400)}) {
    const Bytes stream = Encode(plain, scratch);
    for (std::size_t room = 0; room <= stream.size() + 1; ++room) {
      Bytes out(room + 16, std::byte{0xA5});
      const std::size_t size = XpressEncode(plain, std::span(out).first(room), scratch);
      EXPECT_EQ(size, room < stream.size() ? 0 : stream.size());
      EXPECT_EQ(std::count(out.end() - 16, out.end(), std::byte{0xA5}), 16);
      if (size != 0) {
        EXPECT_TRUE(std::equal(stream.begin(), stream.end(), out.begin()));
      }
    }
  }
}

TEST(XpressEncode, RefusesInputAboveItsLimit) {
  XpressEncoder scratch;
  const Bytes plain(kXpressMaxInput + 1);
  Bytes out(1 << 20);
  EXPECT_EQ(XpressEncode(plain, out, scratch), 0u);
}

TEST(XpressEncode, DoesNotDependOnEarlierCalls) {
  XpressEncoder used;
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const Bytes plain = RecordLikeBytes(20000 + 777 * seed, seed);
    XpressEncoder fresh;
    EXPECT_EQ(Encode(plain, used), Encode(plain, fresh));
  }
}

}  // namespace
}  // namespace etwpipe::xca
