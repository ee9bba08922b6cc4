// Rows of the documents' tables of kernel layouts, payloads built from them, and what decoding must give.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "tests/formats/schema/decoded_event.h"

namespace etwpipe::schema {

/// The last version of a row that later ones share.
constexpr uint16_t kOpen = 0xFFFF;

/// One row of the tables. Fields are "Name type" with commas between. Types: u i x and bits (decimal, signed, hex), ptr
/// (hex) and size (decimal) as wide as pointers, port, ip4, ip6, guid, sid, nosid (a token without one), astr, wstr, wN
/// (N characters of two bytes); "?" marks a field that older writers leave out. "Name n2" is a u32 count that says 2;
/// "Name 2*type" are that many elements.
struct Row {
  const char* name;
  uint8_t type;
  uint16_t first_version;
  uint16_t last_version;
  std::string fields;
};

/// Writes a payload field by field and the lines that its decoding must give.
class PayloadBuilder {
 public:
  explicit PayloadBuilder(uint32_t pointer_size) : pointer_size_(pointer_size) {}

  void Add(const std::string& name, std::string type) {
    size_t count = 1;
    if (const size_t star = type.find('*'); star != std::string::npos) {
      count = static_cast<size_t>(std::stoul(type.substr(0, star)));
      type = type.substr(star + 1);
    }
    for (size_t i = 0; i < count; ++i) lines += name + "=" + One(type) + "\n";
  }

  std::vector<std::byte> bytes;
  std::string lines;

 private:
  // A different value each time, with different bytes: fields that change places are noticed.
  uint64_t Next(size_t width) {
    const uint64_t value = 0x8899AABBCCDDEEFFu * ++counter_;
    return width == 8 ? value : value & ((uint64_t{1} << width * 8) - 1);
  }
  void Put(const void* data, size_t size) {
    const auto* begin = static_cast<const std::byte*>(data);
    bytes.insert(bytes.end(), begin, begin + size);
  }
  uint64_t PutNumber(size_t width) {
    const uint64_t value = Next(width);
    Put(&value, width);
    return value;
  }
  void PutWide(const std::string& text, size_t units) {
    for (size_t i = 0; i < units; ++i) {
      const char16_t unit = i < text.size() ? static_cast<char16_t>(text[i]) : u'\0';
      Put(&unit, 2);
    }
  }

  std::string One(const std::string& type) {
    if (type == "ptr") return fmt::format("0x{:x}", PutNumber(pointer_size_));
    if (type == "size") return fmt::format("{}", PutNumber(pointer_size_));
    if (type == "port") {
      const uint64_t value = PutNumber(2);
      return fmt::format("{}", (value & 0xFF) << 8 | value >> 8);
    }
    if (type == "ip4") {
      const uint64_t value = PutNumber(4);
      return fmt::format("{}.{}.{}.{}", value & 255, value >> 8 & 255, value >> 16 & 255, value >> 24);
    }
    if (type == "ip6") {
      const uint8_t address[16] = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ++counter_};
      Put(address, sizeof address);
      return fmt::format("2001:db8::{:x}", counter_);
    }
    if (type == "guid") {
      const std::string text = fmt::format("{:08x}-1234-5678-9abc-def012345678", ++counter_);
      const Guid guid = GuidOf(text);
      Put(&guid, sizeof guid);
      return text;
    }
    if (type == "sid") {
      // TOKEN_USER, whose first word is not 0, and S-1-5-18.
      for (int i = 0; i < 2; ++i) PutNumber(pointer_size_);
      const uint8_t sid[] = {1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0};
      Put(sid, sizeof sid);
      return "S-1-5-18";
    }
    if (type == "nosid") {
      const uint32_t none = 0;
      Put(&none, 4);
      return "";
    }
    if (type == "astr" || type == "wstr") {
      const std::string text = fmt::format("text {}", ++counter_);
      if (type == "astr") Put(text.c_str(), text.size() + 1);
      if (type == "wstr") PutWide(text, text.size() + 1);
      return text;
    }
    const auto number = static_cast<uint32_t>(std::stoul(type.substr(1)));
    if (type[0] == 'n') {
      Put(&number, 4);
      return fmt::format("{}", number);
    }
    if (type[0] == 'w') {
      const std::string text = fmt::format("{}", ++counter_).substr(0, number);
      PutWide(text, number);
      return text;
    }
    const uint64_t value = PutNumber(number / 8);
    if (type[0] == 'x') return fmt::format("0x{:x}", value);
    if (type[0] == 'u') return fmt::format("{}", value);
    const auto shift = static_cast<int>(64 - number);
    return fmt::format("{}", static_cast<int64_t>(value << shift) >> shift);
  }

  uint32_t pointer_size_;
  uint8_t counter_ = 0;
};

/// The payload of one row.
struct Built {
  std::vector<std::byte> bytes;
  std::string lines;
  size_t required = 0;  ///< bytes up to the first field that may be left out
};

/// Fills the fields of a row with values that all differ.
inline Built Build(const std::string& fields, uint32_t pointer_size) {
  PayloadBuilder builder(pointer_size);
  std::istringstream list(fields);
  size_t required = SIZE_MAX;
  for (std::string field; std::getline(list, field, ',');) {
    std::istringstream words(field);
    std::string name;
    std::string type;
    words >> name >> type;
    if (type.ends_with('?')) {
      required = std::min(required, builder.bytes.size());
      type.pop_back();
    }
    builder.Add(name, type);
  }
  return {builder.bytes, builder.lines, std::min(required, builder.bytes.size())};
}

/// One version and pointer width: all fields, every cut, one byte too much.
inline void CheckRow(const Guid& provider, const Row& row, uint16_t version, uint32_t pointer_size) {
  SCOPED_TRACE(fmt::format("{} type {} version {}, {}-byte pointers", row.name, row.type, version, pointer_size));
  const Built built = Build(row.fields, pointer_size);
  const std::span payload(built.bytes);
  auto decoded = DecodeClassic(provider, row.type, version, payload, pointer_size);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->schema->name, row.name);
  EXPECT_EQ(decoded->lines, built.lines);
  EXPECT_EQ(decoded->outcome, DecodeOutcome::kComplete);

  // Whatever is cut off: no field is invented, and only what may be missing is not missed.
  for (size_t size = 0; size < payload.size(); ++size) {
    decoded = DecodeClassic(provider, row.type, version, payload.first(size), pointer_size);
    ASSERT_TRUE(decoded);
    if (size == built.required) {
      EXPECT_EQ(decoded->outcome, DecodeOutcome::kComplete) << size << " bytes";
    } else {
      EXPECT_EQ(decoded->outcome, DecodeOutcome::kShort) << size << " bytes";
    }
  }
  auto longer = built.bytes;
  longer.push_back(std::byte{1});
  decoded = DecodeClassic(provider, row.type, version, longer, pointer_size);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->outcome, DecodeOutcome::kExtra);
  EXPECT_EQ(decoded->lines, built.lines);
}

/// All rows in both widths, first and last version.
inline void CheckRows(std::string_view provider, const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    for (const uint32_t pointer_size : {4u, 8u}) {
      CheckRow(GuidOf(provider), row, row.first_version, pointer_size);
      if (row.last_version != row.first_version) CheckRow(GuidOf(provider), row, row.last_version, pointer_size);
    }
  }
}

}  // namespace etwpipe::schema
