#include "formats/etwp/value_tables.h"

#include <utf8.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>

#include "formats/schema/utf16.h"
#include "pipeline/byte_reader.h"

namespace etwpipe::etwp {
namespace {

using v1::LayoutField;

// Starts an entry of a text table that is no such text: a varint length and the bytes follow. No UTF-8 has this byte.
constexpr char kEscape = '\xFF';

// Of UTF-16 taken at a time: most tables are small.
constexpr size_t kWidePiece = 4096;

// Appends the UTF-8 of UTF-16 that comes back from it; false leaves `to` as it was.
bool AppendUtf8(std::string_view value, std::string& to) {
  if (value.size() % 2 != 0) return false;
  const size_t before = to.size();
  const auto* bytes = reinterpret_cast<const std::byte*>(value.data());
  for (size_t at = 0; at < value.size(); at += 2) {
    uint32_t code = LoadAt<uint16_t>(bytes, at);
    if (schema::IsHighSurrogate(static_cast<uint16_t>(code)) && at + 4 <= value.size() &&
        schema::IsLowSurrogate(LoadAt<uint16_t>(bytes, at + 2))) {
      code = 0x10000 + ((code & 0x3FF) << 10 | (LoadAt<uint16_t>(bytes, at + 2) & 0x3FFu));
      at += 2;
    }
    if (code == 0 || (code >= 0xD800 && code < 0xE000)) {
      to.resize(before);
      return false;
    }
    utf8::unchecked::append(code, std::back_inserter(to));
  }
  return true;
}

void AppendVarint(uint64_t value, std::string& to) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>(value | 0x80);
  to += static_cast<char>(value);
}

void AppendText(std::string_view value, LayoutField::Text text, std::string& to) {
  bool plain = false;
  if (text == LayoutField::TEXT_UTF16) {
    plain = AppendUtf8(value, to);
  } else if ((value.empty() || value.front() != kEscape) && value.find('\0') == std::string_view::npos) {
    to += value;
    plain = true;
  }
  if (plain) {
    to += '\0';
    return;
  }
  to += kEscape;
  AppendVarint(value.size(), to);
  to += value;
}

}  // namespace

uint64_t TableWriter::Intern(std::span<const std::byte> value, bool& added) {
  const std::string_view view(reinterpret_cast<const char*>(value.data()), value.size());
  const auto [found, inserted] = numbers_.try_emplace(view, entries_.size());
  if (inserted) entries_.push_back(view);
  added = inserted;
  return found->second;
}

void TableWriter::Write(uint32_t context, LayoutField::Text text, ColumnWriter& columns) const {
  if (text == LayoutField::TEXT_NONE) {
    std::vector<uint64_t> sizes;
    sizes.reserve(entries_.size());
    for (const auto entry : entries_) sizes.push_back(entry.size());
    columns.AddNumbers(v1::COLUMN_TABLE_SIZE, context, sizes);
    auto& bytes = columns.BeginBytes(v1::COLUMN_TABLE, context);
    for (const auto entry : entries_) {
      const auto* from = reinterpret_cast<const std::byte*>(entry.data());
      bytes.insert(bytes.end(), from, from + entry.size());
    }
    columns.EndRows(sizes);
    return;
  }
  std::string content;
  for (const auto entry : entries_) AppendText(entry, text, content);
  const bool wide = text == LayoutField::TEXT_UTF16;
  auto& bytes = columns.BeginBytes(wide ? v1::COLUMN_TEXT : v1::COLUMN_NARROW_TEXT, context);
  const auto* from = reinterpret_cast<const std::byte*>(content.data());
  bytes.insert(bytes.end(), from, from + content.size());
  columns.EndBytes();
}

bool TableReader::Open(uint32_t context, LayoutField::Text text, const ColumnReader& columns) {
  text_ = text;
  if (text == LayoutField::TEXT_NONE) {
    return columns.Cursor(v1::COLUMN_TABLE_SIZE, context, sizes_) && columns.Bytes(v1::COLUMN_TABLE, context, bytes_);
  }
  const bool wide = text == LayoutField::TEXT_UTF16;
  return columns.Bytes(wide ? v1::COLUMN_TEXT : v1::COLUMN_NARROW_TEXT, context, bytes_);
}

bool TableReader::Advance() {
  if (text_ != LayoutField::TEXT_NONE) return AdvanceText();
  uint64_t size = 0;
  if (!sizes_.Next(size) || size > bytes_.size()) return false;
  entries_.push_back(bytes_.first(size));
  bytes_ = bytes_.subspan(size);
  return true;
}

std::span<std::byte> TableReader::Room(size_t size) {
  if (wide_.empty() || wide_.back().size() - wide_used_ < size) {
    wide_.emplace_back(std::max(size, kWidePiece));
    wide_used_ = 0;
  }
  const auto room = std::span(wide_.back()).subspan(wide_used_, size);
  wide_used_ += size;
  return room;
}

bool TableReader::AdvanceText() {
  if (bytes_.empty()) return false;
  if (std::to_integer<char>(bytes_.front()) == kEscape) {
    ByteReader reader(bytes_.subspan(1));
    const uint64_t size = reader.ReadVarint();
    if (reader.failed() || size > reader.remaining()) return false;
    entries_.push_back(reader.ReadBytes(size));
    bytes_ = bytes_.subspan(1 + reader.position());
    return true;
  }
  const void* end = std::memchr(bytes_.data(), 0, bytes_.size());
  if (end == nullptr) return false;
  const auto size = static_cast<size_t>(static_cast<const std::byte*>(end) - bytes_.data());
  const auto text = bytes_.first(size);
  bytes_ = bytes_.subspan(size + 1);
  if (text_ == LayoutField::TEXT_NARROW) {
    entries_.push_back(text);
    return true;
  }
  const bool ascii =
      std::all_of(text.begin(), text.end(), [](std::byte b) { return (b & std::byte{0x80}) == std::byte{0}; });
  if (ascii) {
    const auto wide = Room(2 * size);
    for (size_t i = 0; i < size; ++i) {
      wide[2 * i] = text[i];
      wide[2 * i + 1] = std::byte{0};
    }
    entries_.push_back(wide);
  } else {
    const auto* begin = reinterpret_cast<const char*>(text.data());
    if (!utf8::is_valid(begin, begin + size)) return false;
    std::u16string units;
    utf8::unchecked::utf8to16(begin, begin + size, std::back_inserter(units));
    const auto wide = Room(2 * units.size());
    std::memcpy(wide.data(), units.data(), wide.size());
    entries_.push_back(wide);
  }
  return true;
}

}  // namespace etwpipe::etwp
