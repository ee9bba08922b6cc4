#include "formats/schema/value_text.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <utf8.h>

#include <iterator>

#include "formats/schema/utf16.h"
#include "pipeline/byte_reader.h"
#include "pipeline/clock.h"
#include "pipeline/guid.h"

namespace etwpipe::schema {
namespace {

using Bytes = std::span<const std::byte>;

void SetForm(Value& value) { value.kind = ValueKind::kForm; }

void SetHexBytes(Bytes bytes, Value& value) {
  constexpr char kDigits[] = "0123456789abcdef";
  SetForm(value);
  value.text.clear();
  value.text.reserve(bytes.size() * 2);
  for (const std::byte byte : bytes) {
    value.text.push_back(kDigits[std::to_integer<unsigned>(byte) >> 4]);
    value.text.push_back(kDigits[std::to_integer<unsigned>(byte) & 15]);
  }
}

void SetUtf16(Bytes bytes, Value& value) {
  value.kind = ValueKind::kText;
  value.text.clear();
  value.text.reserve(bytes.size() / 2);
  for (size_t at = 0; at + 2 <= bytes.size(); at += 2) {
    const auto unit = LoadAt<uint16_t>(bytes.data(), at);
    if (unit < 0x80) {
      value.text.push_back(static_cast<char>(unit));
      continue;
    }
    uint32_t code_point = unit;
    if (IsHighSurrogate(unit) && at + 4 <= bytes.size() && IsLowSurrogate(LoadAt<uint16_t>(bytes.data(), at + 2))) {
      at += 2;
      code_point = 0x10000 + ((unit & 0x3FFu) << 10 | (LoadAt<uint16_t>(bytes.data(), at) & 0x3FFu));
    } else if (IsHighSurrogate(unit) || IsLowSurrogate(unit)) {
      code_point = kReplacementCharacter;
    }
    utf8::unchecked::append(code_point, std::back_inserter(value.text));
  }
}

// Narrow text is UTF-8 where it can be. What is not is read as Latin-1: the code page of the machine is unknown.
void SetNarrow(Bytes bytes, Value& value) {
  const auto* begin = reinterpret_cast<const char*>(bytes.data());
  value.kind = ValueKind::kText;
  if (utf8::is_valid(begin, begin + bytes.size())) {
    value.text.assign(begin, bytes.size());
    return;
  }
  value.text.clear();
  for (const std::byte byte : bytes) {
    utf8::unchecked::append(std::to_integer<uint32_t>(byte), std::back_inserter(value.text));
  }
}

void SetSid(Bytes bytes, Value& value) {
  SetForm(value);
  value.text.clear();
  if (bytes.size() < 8) return;
  uint64_t authority = 0;
  for (size_t i = 2; i < 8; ++i) authority = authority << 8 | std::to_integer<uint64_t>(bytes[i]);
  const auto out = std::back_inserter(value.text);
  // Windows writes an authority beyond 32 bits as hex.
  fmt::format_to(out, "S-{}-", std::to_integer<unsigned>(bytes[0]));
  if (authority < (uint64_t{1} << 32)) {
    fmt::format_to(out, "{}", authority);
  } else {
    fmt::format_to(out, "0x{:x}", authority);
  }
  for (size_t at = 8; at + 4 <= bytes.size(); at += 4) fmt::format_to(out, "-{}", LoadAt<uint32_t>(bytes.data(), at));
}

void SetSystemTime(Bytes bytes, Value& value) {
  const auto part = [&](size_t index) { return LoadAt<uint16_t>(bytes.data(), index * 2); };
  SetForm(value);
  value.text.clear();
  // Year, month, day of week, day, hour, minute, second, millisecond; written as they are, possible or not.
  fmt::format_to(std::back_inserter(value.text), "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", part(0), part(1),
                 part(3), part(4), part(5), part(6), part(7));
}

void SetAddress(int family, Bytes bytes, Value& value) {
  char text[INET6_ADDRSTRLEN] = {};
  SetForm(value);
  value.text = inet_ntop(family, bytes.data(), text, sizeof text) != nullptr ? text : "";
}

// A SOCKADDR_IN or SOCKADDR_IN6 as address and port; anything else as bytes.
void SetSocketAddress(Bytes bytes, Value& value) {
  constexpr uint16_t kInet = 2;
  constexpr uint16_t kInet6 = 23;
  const auto family = bytes.size() >= 2 ? LoadAt<uint16_t>(bytes.data()) : uint16_t{0};
  const bool v4 = family == kInet && bytes.size() >= 8;
  const bool v6 = family == kInet6 && bytes.size() >= 24;
  if (!v4 && !v6) return SetHexBytes(bytes, value);
  const auto port =
      static_cast<uint16_t>(std::to_integer<unsigned>(bytes[2]) << 8 | std::to_integer<unsigned>(bytes[3]));
  SetAddress(v4 ? AF_INET : AF_INET6, bytes.subspan(v4 ? 4 : 8), value);
  value.text = v4 ? fmt::format("{}:{}", value.text, port) : fmt::format("[{}]:{}", value.text, port);
}

uint64_t Unsigned(Bytes bytes) {
  switch (bytes.size()) {
    case 1: return LoadAt<uint8_t>(bytes.data());
    case 2: return LoadAt<uint16_t>(bytes.data());
    case 4: return LoadAt<uint32_t>(bytes.data());
    case 8: return LoadAt<uint64_t>(bytes.data());
    default: return 0;
  }
}

int64_t Signed(Bytes bytes) {
  const uint64_t bits = Unsigned(bytes);
  const auto shift = static_cast<int>(64 - 8 * bytes.size());
  return static_cast<int64_t>(bits << shift) >> shift;
}

bool IsSignedType(InType in) {
  return in == InType::kInt8 || in == InType::kInt16 || in == InType::kInt32 || in == InType::kInt64;
}

bool IsHexType(InType in) { return in == InType::kPointer || in == InType::kHexInt32 || in == InType::kHexInt64; }

void SetInteger(const Property& property, Bytes bytes, Value& value) {
  value.bits = Unsigned(bytes);
  value.kind = ValueKind::kUnsigned;
  switch (property.out) {
    case OutType::kHex:
    case OutType::kCodePointer:
    case OutType::kNtStatus:
    case OutType::kHResult: value.kind = ValueKind::kHex; return;
    case OutType::kBoolean: value.kind = ValueKind::kBool; return;
    case OutType::kPort:
      if (bytes.size() == 2) value.bits = (value.bits << 8 | value.bits >> 8) & 0xFFFF;
      return;
    case OutType::kIpv4:
      if (bytes.size() == 4) SetAddress(AF_INET, bytes, value);
      return;
    case OutType::kDateTime:
      if (bytes.size() != 8) return;
      SetForm(value);
      value.text = FormatFileTime(static_cast<int64_t>(value.bits));
      return;
    case OutType::kSigned:
      value.kind = ValueKind::kSigned;
      value.bits = static_cast<uint64_t>(Signed(bytes));
      return;
    case OutType::kUnsigned:
    case OutType::kPid:
    case OutType::kTid: return;
    default: break;
  }
  if (IsHexType(property.in)) {
    value.kind = ValueKind::kHex;
  } else if (IsSignedType(property.in)) {
    value.kind = ValueKind::kSigned;
    value.bits = static_cast<uint64_t>(Signed(bytes));
  }
}

}  // namespace

void ReadValue(const Property& property, Bytes bytes, Value& value) {
  value.bits = 0;
  value.real = 0;
  value.single = false;
  value.text.clear();
  // A lone character is its code; several are text.
  const bool code = property.length == Extent::kNone;
  if (IsUtf16(property.in) && !(property.in == InType::kUnicodeChar && code)) return SetUtf16(bytes, value);
  if (IsNarrowText(property.in) && !(property.in == InType::kAnsiChar && code)) return SetNarrow(bytes, value);
  switch (property.in) {
    case InType::kNull:
    case InType::kStruct:
    case InType::kPad: value.kind = ValueKind::kNull; return;
    case InType::kFloat:
      if (bytes.size() != 4) break;
      value.kind = ValueKind::kReal;
      value.real = static_cast<double>(LoadAt<float>(bytes.data()));
      value.single = true;
      return;
    case InType::kDouble:
      if (bytes.size() != 8) break;
      value.kind = ValueKind::kReal;
      value.real = LoadAt<double>(bytes.data());
      return;
    case InType::kBoolean:
      value.kind = ValueKind::kBool;
      value.bits = Unsigned(bytes);
      return;
    case InType::kGuid:
      if (bytes.size() != 16) break;
      SetForm(value);
      value.text = ToString(LoadAt<Guid>(bytes.data()));
      return;
    case InType::kFileTime:
      if (bytes.size() != 8) break;
      SetForm(value);
      value.bits = Unsigned(bytes);
      value.text = FormatFileTime(static_cast<int64_t>(value.bits));
      return;
    case InType::kSystemTime:
      if (bytes.size() != 16) break;
      return SetSystemTime(bytes, value);
    case InType::kSid:
    case InType::kWbemSid: return SetSid(bytes, value);
    case InType::kBinary:
    case InType::kCountedBinary:
    case InType::kHexDump:
      if (property.out == OutType::kIpv6 && bytes.size() == 16) return SetAddress(AF_INET6, bytes, value);
      if (property.out == OutType::kSocketAddress) return SetSocketAddress(bytes, value);
      return SetHexBytes(bytes, value);
    default:
      if (bytes.empty() || (bytes.size() & (bytes.size() - 1)) != 0 || bytes.size() > 8) break;
      return SetInteger(property, bytes, value);
  }
  SetHexBytes(bytes, value);
}

void AppendText(const Value& value, std::string& out) {
  const auto end = std::back_inserter(out);
  switch (value.kind) {
    case ValueKind::kNull: return;
    case ValueKind::kUnsigned: fmt::format_to(end, "{}", value.bits); return;
    case ValueKind::kSigned: fmt::format_to(end, "{}", value.integer()); return;
    case ValueKind::kHex: fmt::format_to(end, "0x{:x}", value.bits); return;
    case ValueKind::kReal:
      if (value.single) {
        fmt::format_to(end, "{}", static_cast<float>(value.real));
      } else {
        fmt::format_to(end, "{}", value.real);
      }
      return;
    case ValueKind::kBool: out += value.bits != 0 ? "true" : "false"; return;
    case ValueKind::kText:
    case ValueKind::kForm: out += value.text; return;
  }
}

}  // namespace etwpipe::schema
