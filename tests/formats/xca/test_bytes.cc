#include "tests/formats/xca/test_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace etwpipe::xca::testing {
namespace {

constexpr std::size_t kGuard = 64;
constexpr std::byte kGuardByte{0xA5};

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

Bytes FromText(std::string_view text) {
  Bytes bytes(text.size());
  std::transform(text.begin(), text.end(), bytes.begin(), [](char c) { return static_cast<std::byte>(c); });
  return bytes;
}

Bytes FromHex(std::string_view hex) {
  Bytes bytes;
  int high = -1;
  for (const char c : hex) {
    const int digit = HexDigit(c);
    if (digit < 0) continue;
    if (high < 0) {
      high = digit;
    } else {
      bytes.push_back(static_cast<std::byte>(high << 4 | digit));
      high = -1;
    }
  }
  return bytes;
}

Bytes Repeat(std::string_view text, std::size_t count) {
  Bytes bytes;
  const Bytes one = FromText(text);
  for (std::size_t i = 0; i < count; ++i) bytes.insert(bytes.end(), one.begin(), one.end());
  return bytes;
}

Bytes RandomBytes(std::size_t size, std::uint32_t seed) {
  Random random(seed);
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() >> 24);
  return bytes;
}

Bytes RecordLikeBytes(std::size_t size, std::uint32_t seed) {
  Random random(seed);
  const Bytes header = RandomBytes(48, seed + 1);
  const Bytes words = FromText("\\Device\\HarddiskVolume1\\Windows\\System32\\ntdll.dll");
  Bytes bytes;
  std::uint32_t counter = random();
  while (bytes.size() < size) {
    bytes.insert(bytes.end(), header.begin(), header.begin() + 8 + static_cast<std::ptrdiff_t>(random() % 40));
    counter += random() % 5000;
    for (unsigned shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<std::byte>(counter >> shift & 0xFF));
    switch (random() % 4) {
      case 0: bytes.insert(bytes.end(), random() % 200, std::byte{0}); break;
      case 1:
        bytes.insert(bytes.end(), words.begin(), words.begin() + static_cast<std::ptrdiff_t>(random() % words.size()));
        break;
      case 2:
        for (std::uint32_t i = random() % 12; i > 0; --i) bytes.push_back(static_cast<std::byte>(random() >> 24));
        break;
      default: break;
    }
  }
  bytes.resize(size);
  return bytes;
}

Decoded DecodeGuarded(DecodeResult (*decode)(std::span<const std::byte>, std::span<std::byte>),
                      std::span<const std::byte> in, std::size_t out_size) {
  // Plain arrays: a vector may have spare capacity, which a sanitizer treats as reachable.
  const std::unique_ptr<std::byte[]> in_copy(new std::byte[in.size()]);
  if (!in.empty()) std::memcpy(in_copy.get(), in.data(), in.size());

  Bytes guarded(out_size + 2 * kGuard, kGuardByte);
  const DecodeResult result = decode({in_copy.get(), in.size()}, std::span(guarded).subspan(kGuard, out_size));
  const auto intact = [](std::span<const std::byte> zone) {
    return std::all_of(zone.begin(), zone.end(), [](std::byte b) { return b == kGuardByte; });
  };
  EXPECT_TRUE(intact(std::span(guarded).first(kGuard)));
  EXPECT_TRUE(intact(std::span(guarded).last(kGuard)));
  EXPECT_LE(result.produced, out_size);
  EXPECT_LE(result.consumed, in.size());
  EXPECT_EQ(result.ok(), result.produced == out_size && result.error == DecodeError::kNone);

  // Once more without guard zones, for the sanitizer.
  const std::unique_ptr<std::byte[]> exact(new std::byte[out_size]);
  EXPECT_EQ(decode({in_copy.get(), in.size()}, {exact.get(), out_size}), result);

  const auto first = guarded.begin() + static_cast<std::ptrdiff_t>(kGuard);
  return {result, Bytes(first, first + static_cast<std::ptrdiff_t>(std::min(result.produced, out_size)))};
}

void CheckDamagedInput(DecodeResult (*decode)(std::span<const std::byte>, std::span<std::byte>),
                       std::span<const std::byte> stream, std::span<const std::byte> plain) {
  const Bytes expected(plain.begin(), plain.end());
  const Decoded whole = DecodeGuarded(decode, stream, plain.size());
  ASSERT_TRUE(whole.result.ok()) << ErrorText(whole.result.error);
  ASSERT_EQ(whole.bytes, expected);

  for (std::size_t length = 0; length < stream.size(); ++length) {
    const Decoded cut = DecodeGuarded(decode, stream.first(length), plain.size());
    ASSERT_LE(cut.bytes.size(), expected.size());
    if (cut.result.ok()) {
      ASSERT_EQ(cut.bytes, expected) << "cut at " << length;
    } else {
      ASSERT_TRUE(cut.result.error == DecodeError::kInputTruncated || cut.result.error == DecodeError::kOutputShort)
          << "cut at " << length << ": " << ErrorText(cut.result.error);
      ASSERT_TRUE(std::equal(cut.bytes.begin(), cut.bytes.end(), expected.begin())) << "cut at " << length;
    }
    // A decoder reads at most 4 bytes (two words of a bit stream) before it needs them.
    if (length + 4 < whole.result.consumed) {
      ASSERT_FALSE(cut.result.ok()) << "cut at " << length;
    }
  }

  Bytes damaged(stream.begin(), stream.end());
  for (std::size_t i = 0; i < damaged.size(); ++i) {
    const std::byte good = damaged[i];
    for (unsigned bit = 0; bit < 8; ++bit) {
      damaged[i] = good ^ static_cast<std::byte>(1u << bit);
      (void)DecodeGuarded(decode, damaged, plain.size());
    }
    damaged[i] = std::byte{0xFF};
    (void)DecodeGuarded(decode, damaged, plain.size());
    damaged[i] = good;
    if (::testing::Test::HasFailure()) FAIL() << "damaged byte " << i;
  }
}

}  // namespace etwpipe::xca::testing
