#include "formats/xca/xca.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/formats/xca/test_bytes.h"

namespace etwpipe::xca {
namespace {

using testing::Bytes;
using testing::FromHex;
using testing::FromText;

TEST(XcaDecode, PicksTheCodecByRtlNumber) {
  Bytes out(3);
  ASSERT_TRUE(Decode(static_cast<Format>(2), FromHex("02 30 61 62 63"), out).ok());
  EXPECT_EQ(out, FromText("abc"));
  ASSERT_TRUE(Decode(static_cast<Format>(3), FromHex("ff ff ff 1f 64 65 66"), out).ok());
  EXPECT_EQ(out, FromText("def"));

  // Two literals with codes of one bit: 'g' is 0, 'h' is 1.
  Bytes huffman(256);
  huffman['g' / 2] = std::byte{0x10};
  huffman['h' / 2] = std::byte{0x01};
  const Bytes bits = FromHex("00 40 00 00");
  huffman.insert(huffman.end(), bits.begin(), bits.end());
  ASSERT_TRUE(Decode(static_cast<Format>(4), huffman, out).ok());
  EXPECT_EQ(out, FromText("ghg"));
}

TEST(XcaDecode, RefusesOtherNumbers) {
  Bytes out(1);
  for (const int number : {0, 1, 5, 0x102, 0xFFFF}) {
    EXPECT_EQ(Decode(static_cast<Format>(number), FromHex("00 00 00 00 00"), out),
              (DecodeResult{DecodeError::kUnknownFormat, 0, 0}));
  }
}

TEST(XcaDecode, EmptyOutputAlwaysSucceeds) {
  for (const Format format : {Format::kLznt1, Format::kXpress, Format::kXpressHuffman}) {
    EXPECT_EQ(Decode(format, {}, {}), (DecodeResult{DecodeError::kNone, 0, 0}));
    EXPECT_EQ(Decode(format, FromHex("ff ff ff"), {}), (DecodeResult{DecodeError::kNone, 0, 0}));
  }
}

TEST(XcaDecode, EmptyInputIsShort) {
  Bytes out(1);
  for (const Format format : {Format::kLznt1, Format::kXpress, Format::kXpressHuffman}) {
    EXPECT_EQ(Decode(format, {}, out), (DecodeResult{DecodeError::kOutputShort, 0, 0}));
  }
}

TEST(ErrorText, IsDifferentForEveryError) {
  std::set<std::string> texts;
  for (int error = 0; error <= 9; ++error) texts.insert(std::string(ErrorText(static_cast<DecodeError>(error))));
  EXPECT_EQ(texts.size(), 10u);
  EXPECT_EQ(texts.count(""), 0u);
}

}  // namespace
}  // namespace etwpipe::xca
