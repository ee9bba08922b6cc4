#include "formats/etl/tracelogging_builder.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "formats/schema/utf16.h"

namespace etwpipe::etl {
namespace {

constexpr uint8_t kInTypeVariableCount = 0x40;
constexpr uint8_t kInTypeChain = 0x80;
constexpr uint8_t kTraitGroup = 1;

void AppendText(std::vector<std::byte>& bytes, std::string_view text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  bytes.insert(bytes.end(), data, data + text.size());
  bytes.push_back(std::byte{0});
}

void AppendU16(std::vector<std::byte>& bytes, size_t value) {
  bytes.resize(bytes.size() + 2);
  StoreAt(bytes.data(), bytes.size() - 2, static_cast<uint16_t>(value));
}

}  // namespace

TraceLoggingSchema::TraceLoggingSchema(std::string_view event_name) {
  AppendU16(bytes_, 0);
  bytes_.push_back(std::byte{0});
  AddName(event_name);
  StoreSize();
}

TraceLoggingSchema& TraceLoggingSchema::Field(std::string_view name, InType in, OutType out) {
  AddName(name);
  AddTypes(static_cast<uint8_t>(in), static_cast<uint8_t>(out));
  return *this;
}

TraceLoggingSchema& TraceLoggingSchema::Array(std::string_view name, InType in, OutType out) {
  AddName(name);
  AddTypes(static_cast<uint8_t>(in) | kInTypeVariableCount, static_cast<uint8_t>(out));
  return *this;
}

TraceLoggingSchema& TraceLoggingSchema::Struct(std::string_view name, uint8_t member_count, bool array) {
  assert(member_count >= 1 && member_count <= 127);
  AddName(name);
  AddTypes(static_cast<uint8_t>(static_cast<unsigned>(InType::kStruct) | (array ? kInTypeVariableCount : 0u)),
           member_count);
  return *this;
}

void TraceLoggingSchema::AddName(std::string_view name) { AppendText(bytes_, name); }

void TraceLoggingSchema::AddTypes(uint8_t in, uint8_t out) {
  if (out == 0) {
    bytes_.push_back(std::byte{in});
  } else {
    bytes_.push_back(static_cast<std::byte>(in | kInTypeChain));
    bytes_.push_back(std::byte{out});
  }
  StoreSize();
}

void TraceLoggingSchema::StoreSize() { StoreAt(bytes_.data(), 0, static_cast<uint16_t>(bytes_.size())); }

std::vector<std::byte> ProviderTraits(std::string_view provider_name, const std::optional<Guid>& group) {
  std::vector<std::byte> bytes;
  AppendU16(bytes, 0);
  AppendText(bytes, provider_name);
  if (group) {
    AppendU16(bytes, 3 + sizeof(Guid));
    bytes.push_back(std::byte{kTraitGroup});
    bytes.insert(bytes.end(), group->bytes.begin(), group->bytes.end());
  }
  StoreAt(bytes.data(), 0, static_cast<uint16_t>(bytes.size()));
  return bytes;
}

PayloadWriter& PayloadWriter::AddBytes(std::span<const std::byte> bytes) {
  std::byte* place = Grow(bytes.size());
  if (!bytes.empty()) std::memcpy(place, bytes.data(), bytes.size());
  return *this;
}

PayloadWriter& PayloadWriter::AddUnicode(std::string_view text) {
  // Nearly all text is ASCII, which needs no conversion.
  if (!std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; })) {
    return AddUnicode(schema::Utf8ToUtf16(text));
  }
  std::byte* place = Grow(2 * (text.size() + 1));
  for (size_t i = 0; i < text.size(); ++i) StoreAt(place, 2 * i, static_cast<uint16_t>(text[i]));
  StoreAt(place, 2 * text.size(), uint16_t{0});
  return *this;
}

PayloadWriter& PayloadWriter::AddUnicode(std::u16string_view text) {
  return AddBytes(std::as_bytes(std::span(text))).Add(uint16_t{0});
}

PayloadWriter& PayloadWriter::AddAnsi(std::string_view text) {
  return AddBytes(std::as_bytes(std::span(text))).Add(uint8_t{0});
}

PayloadWriter& PayloadWriter::AddCountedAnsi(std::string_view text) {
  return AddBinary(std::as_bytes(std::span(text)));
}

PayloadWriter& PayloadWriter::AddBinary(std::span<const std::byte> bytes) {
  assert(bytes.size() <= 0xFFFF);
  Add(static_cast<uint16_t>(bytes.size()));
  return AddBytes(bytes);
}

PayloadWriter& PayloadWriter::AddZeros(size_t count) {
  std::memset(Grow(count), 0, count);
  return *this;
}

void PayloadWriter::Reserve(size_t count) { bytes_.resize(std::max(2 * bytes_.size(), used_ + count + 256)); }

}  // namespace etwpipe::etl
