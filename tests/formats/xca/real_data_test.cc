// Recordings made on Windows: what its encoder wrote, our decoder reads; what our encoder writes, both read back.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "formats/xca/xca.h"
#include "formats/xca/xpress.h"
#include "formats/xca/xpress_encoder.h"
#include "tests/formats/xca/test_bytes.h"
#include "tests/formats/xca/xpress_reference.h"

namespace etwpipe::xca {
namespace {

using testing::Bytes;
using testing::Decoded;
using testing::DecodeGuarded;
using testing::ReferenceXpressDecode;

constexpr std::size_t kBufferHeader = 72;  // WMI_BUFFER_HEADER

std::filesystem::path RecordingPath(const std::string& name) {
  const char* const folder = std::getenv("ETWPIPE_TEST_DATA");
  const std::filesystem::path data =
      folder != nullptr ? folder : std::filesystem::path(ETWPIPE_SOURCE_DIR) / ".." / "shared" / "data";
  return data / "etl" / name;
}

Bytes ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return testing::FromText(text);
}

std::size_t Number(std::span<const std::byte> bytes, std::size_t at, std::size_t size) {
  std::size_t value = 0;
  for (std::size_t i = 0; i < size; ++i) value |= static_cast<std::size_t>(bytes[at + i]) << (8 * i);
  return value;
}

struct CompressedBuffer {
  Bytes stream;
  std::size_t plain_size = 0;
};

std::vector<CompressedBuffer> CompressedBuffers(const Bytes& file) {
  std::vector<CompressedBuffer> buffers;
  for (std::size_t at = 0; at + kBufferHeader <= file.size();) {
    const std::size_t size = Number(file, at, 4);
    if (size < kBufferHeader || size > file.size() - at) break;
    if ((Number(file, at + 0x34, 2) & 0x40) != 0) {
      const auto first = file.begin() + static_cast<std::ptrdiff_t>(at);
      buffers.push_back({Bytes(first + kBufferHeader, first + static_cast<std::ptrdiff_t>(size)),
                         Number(file, at + 4, 4) - kBufferHeader});
    }
    at += size;
  }
  return buffers;
}

struct Recording {
  const char* name;
  std::size_t compressed_buffers;
};

class RealData : public ::testing::TestWithParam<Recording> {};

TEST_P(RealData, EveryCompressedBufferDecodesAndRoundTrips) {
  const std::filesystem::path path = RecordingPath(GetParam().name);
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "SKIPPED: no recording at " << path;
  const std::vector<CompressedBuffer> buffers = CompressedBuffers(ReadFile(path));
  ASSERT_EQ(buffers.size(), GetParam().compressed_buffers);

  XpressEncoder scratch;
  std::size_t windows_size = 0;
  std::size_t our_size = 0;
  for (const CompressedBuffer& buffer : buffers) {
    Bytes plain(buffer.plain_size);
    const DecodeResult result = Decode(Format::kXpress, buffer.stream, plain);
    ASSERT_TRUE(result.ok()) << ErrorText(result.error);
    const std::size_t left = buffer.stream.size() - result.consumed;
    ASSERT_TRUE(left == 0 || left == 4) << left;
    const Decoded guarded = DecodeGuarded(XpressDecode, buffer.stream, plain.size());
    ASSERT_EQ(guarded.result, result);
    const Decoded reference = DecodeGuarded(ReferenceXpressDecode, buffer.stream, plain.size());
    ASSERT_EQ(reference.result, result);
    ASSERT_EQ(reference.bytes, plain);

    Bytes stream(XpressEncodeBound(plain.size()));
    stream.resize(XpressEncode(plain, stream, scratch));
    ASSERT_FALSE(stream.empty());
    const Decoded again = DecodeGuarded(XpressDecode, stream, plain.size());
    ASSERT_TRUE(again.result.ok()) << ErrorText(again.result.error);
    ASSERT_EQ(again.bytes, plain);
    const Decoded again_reference = DecodeGuarded(ReferenceXpressDecode, stream, plain.size());
    ASSERT_EQ(again_reference.bytes, plain);
    windows_size += buffer.stream.size();
    our_size += stream.size();
  }
  EXPECT_LE(our_size, windows_size);
}

// The buffers whose bytes are cut or damaged must give the reference's answer.
TEST_P(RealData, DamagedBuffersAgreeWithTheReference) {
  const std::filesystem::path path = RecordingPath(GetParam().name);
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "SKIPPED: no recording at " << path;
  std::vector<CompressedBuffer> buffers = CompressedBuffers(ReadFile(path));
  std::uint32_t noise = 1;
  for (CompressedBuffer& buffer : buffers) {
    for (int i = 0; i < 3; ++i) {
      noise = noise * 1664525 + 1013904223;
      buffer.stream[noise % buffer.stream.size()] ^= static_cast<std::byte>(1 + (noise >> 24) % 255);
      const std::span<const std::byte> stream =
          std::span(buffer.stream).first(buffer.stream.size() - (i == 2 ? noise % buffer.stream.size() : 0));
      const Decoded decoded = DecodeGuarded(XpressDecode, stream, buffer.plain_size);
      const Decoded reference = DecodeGuarded(ReferenceXpressDecode, stream, buffer.plain_size);
      ASSERT_EQ(decoded.result, reference.result);
      ASSERT_EQ(decoded.bytes, reference.bytes);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Recordings, RealData,
                         ::testing::Values(Recording{"net.4.5.2.x64.etl", 359},
                                           Recording{"SelfDescribingSingleEvent.etl", 2},
                                           Recording{"DynamicEvents.etl", 87}),
                         [](const auto& info) {
                           std::string name = info.param.name;
                           std::erase_if(name, [](char c) { return c == '.'; });
                           return name;
                         });

// WinSAT events of a merged recording carry UTF-16 XML as LZNT1: u32 1, u32 plain size, data.
TEST(RealDataLznt1, WinSatPayloadsDecodeToTheirStatedSizes) {
  const std::filesystem::path path = RecordingPath("SelfDescribingSingleEvent.etl");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "SKIPPED: no recording at " << path;
  // ed54dff8-c409-4cf6-bf83-05e1e61a09c4 as stored.
  const Bytes guid = testing::FromHex("f8 df 54 ed 09 c4 f6 4c bf 83 05 e1 e6 1a 09 c4");
  constexpr std::size_t kFullHeader = 48;  // EVENT_TRACE_HEADER
  constexpr std::size_t kGuidAt = 24;

  std::vector<std::size_t> sizes;
  for (const CompressedBuffer& buffer : CompressedBuffers(ReadFile(path))) {
    Bytes plain(buffer.plain_size);
    ASSERT_TRUE(XpressDecode(buffer.stream, plain).ok());
    for (auto it = plain.begin(); (it = std::search(it, plain.end(), guid.begin(), guid.end())) != plain.end(); ++it) {
      const std::size_t record = static_cast<std::size_t>(it - plain.begin()) - kGuidAt;
      const std::size_t size = Number(plain, record, 2);
      ASSERT_LE(record + size, plain.size());
      const std::span<const std::byte> payload = std::span(plain).subspan(record + kFullHeader, size - kFullHeader);
      ASSERT_EQ(Number(payload, 0, 4), 1u);
      sizes.push_back(Number(payload, 4, 4));
      const Decoded xml = DecodeGuarded(
          [](std::span<const std::byte> in, std::span<std::byte> out) { return Decode(Format::kLznt1, in, out); },
          payload.subspan(8), sizes.back());
      ASSERT_TRUE(xml.result.ok()) << ErrorText(xml.result.error);
      EXPECT_EQ(xml.bytes[0], std::byte{'<'});
      EXPECT_EQ(xml.bytes[1], std::byte{0});
      for (std::size_t i = 1; i < xml.bytes.size(); i += 2) ASSERT_EQ(xml.bytes[i], std::byte{0}) << i;
    }
  }
  EXPECT_EQ(sizes, (std::vector<std::size_t>{1052, 2348, 17888}));
}

}  // namespace
}  // namespace etwpipe::xca
