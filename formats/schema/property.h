// One model for the layout of every event, whatever source describes it: TraceLogging, manifests, merged traces, MOF.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace etwpipe::schema {

/// How a value lies in the payload. Numbers are those of TDH_INTYPE, so that TRACE_EVENT_INFO and TraceLogging in-types
/// (etl-format.md 7.1, 7.4) need no table; kPad is ours.
enum class InType : uint16_t {
  kNull = 0,
  kUnicodeString = 1,  ///< UTF-16; to its terminator unless Property::length says otherwise
  kAnsiString = 2,     ///< bytes; to its terminator unless Property::length says otherwise
  kInt8 = 3,
  kUInt8 = 4,
  kInt16 = 5,
  kUInt16 = 6,
  kInt32 = 7,
  kUInt32 = 8,
  kInt64 = 9,
  kUInt64 = 10,
  kFloat = 11,
  kDouble = 12,
  kBoolean = 13,  ///< 4 bytes
  kBinary = 14,   ///< its length comes from Property::length
  kGuid = 15,
  kPointer = 16,     ///< as wide as the event's pointers
  kFileTime = 17,    ///< 100 ns since 1601 UTC
  kSystemTime = 18,  ///< eight u16
  kSid = 19,         ///< 8 + 4 * count bytes
  kHexInt32 = 20,
  kHexInt64 = 21,
  kCountedUtf16 = 22,            ///< u16 byte count, UTF-16
  kCountedAnsi = 23,             ///< u16 byte count, bytes
  kStruct = 24,                  ///< no bytes of its own: its members follow
  kCountedBinary = 25,           ///< u16 byte count, bytes
  kCountedString = 300,          ///< as kCountedUtf16
  kCountedAnsiString = 301,      ///< as kCountedAnsi
  kReversedCountedString = 302,  ///< the count is big-endian
  kReversedCountedAnsiString = 303,
  kRestUtf16 = 304,  ///< UTF-16 up to the end of the payload
  kRestAnsi = 305,   ///< bytes up to the end of the payload
  kUnicodeChar = 306,
  kAnsiChar = 307,
  kSizeT = 308,    ///< an integer as wide as the event's pointers
  kHexDump = 309,  ///< u32 byte count, bytes
  kWbemSid = 310,  ///< a u32 0, or TOKEN_USER (two pointers) and a SID (etl-format.md 8.1)
  kPad = 1000,     ///< Property::length bytes that mean nothing and are never shown
};

/// How a value is shown. kDefault is what its in-type suggests.
enum class OutType : uint8_t {
  kDefault,
  kNoPrint,
  kString,
  kBoolean,
  kHex,
  kPid,
  kTid,
  kPort,  ///< the two bytes are in network order
  kIpv4,
  kIpv6,
  kSocketAddress,
  kXml,   ///< text is UTF-8
  kJson,  ///< text is UTF-8
  kUtf8,  ///< text is UTF-8
  kWin32Error,
  kNtStatus,
  kHResult,
  kDateTime,  ///< a FILETIME
  kSigned,
  kUnsigned,
  kCodePointer,
  kPkcs7,
};

/// Where a count or a length comes from.
enum class Extent : uint8_t {
  kNone,      ///< one value; a length of its own
  kFixed,     ///< a number of the schema
  kField,     ///< the value of an earlier property
  kPrefix16,  ///< a u16 before the elements
  kRest,      ///< as many as the payload holds
};

constexpr uint16_t kNoMap = 0xFFFF;

/// One property. Properties of an event are a flat list: the top level first, the members of structs after it, each
/// struct naming its range (as TRACE_EVENT_INFO does, etl-format.md 7.4).
struct Property {
  std::string name;  ///< UTF-8
  InType in = InType::kNull;
  OutType out = OutType::kDefault;
  Extent count = Extent::kNone;   ///< elements; anything but kNone makes an array
  Extent length = Extent::kNone;  ///< bytes of binary and pads, characters of strings
  bool optional = false;          ///< a payload that ends before it is complete all the same
  uint16_t count_value = 0;       ///< kFixed: elements; kField: index of the property that holds them
  uint16_t length_value = 0;      ///< kFixed: length; kField: index of the property that holds it
  uint16_t first_member = 0;      ///< structs: index of the first member ...
  uint16_t member_count = 0;      ///< ... and how many follow
  uint16_t map = kNoMap;          ///< index into EventSchema::maps

  friend bool operator==(const Property&, const Property&) = default;
};

/// Names of values, or of bits.
struct ValueMap {
  struct Entry {
    uint64_t value = 0;
    std::string name;
    uint64_t mask = 0;  ///< for bits: the field whose value this is; 0 means the bits of `value` themselves
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  std::string name;
  bool bits = false;           ///< a value has the name of every entry that equals its bits under the entry's mask
  std::vector<Entry> entries;  ///< in the order of the source

  /// The name of `value`; for bits all names joined by '|', with what has no name as hex at the end. Empty if there is
  /// none.
  std::string NameOf(uint64_t value) const;

  friend bool operator==(const ValueMap&, const ValueMap&) = default;
};

/// Bytes of a value whose size does not depend on the payload; 0 for the others and for structs.
constexpr uint32_t FixedSize(InType in, uint32_t pointer_size) {
  switch (in) {
    case InType::kInt8:
    case InType::kUInt8:
    case InType::kAnsiChar: return 1;
    case InType::kInt16:
    case InType::kUInt16:
    case InType::kUnicodeChar: return 2;
    case InType::kInt32:
    case InType::kUInt32:
    case InType::kFloat:
    case InType::kBoolean:
    case InType::kHexInt32: return 4;
    case InType::kInt64:
    case InType::kUInt64:
    case InType::kDouble:
    case InType::kFileTime:
    case InType::kHexInt64: return 8;
    case InType::kGuid:
    case InType::kSystemTime: return 16;
    case InType::kPointer:
    case InType::kSizeT: return pointer_size;
    default: return 0;
  }
}

/// Whether the bytes are text, one or two bytes a character.
constexpr bool IsUtf16(InType in) {
  return in == InType::kUnicodeString || in == InType::kCountedUtf16 || in == InType::kCountedString ||
         in == InType::kReversedCountedString || in == InType::kRestUtf16 || in == InType::kUnicodeChar;
}
constexpr bool IsNarrowText(InType in) {
  return in == InType::kAnsiString || in == InType::kCountedAnsi || in == InType::kCountedAnsiString ||
         in == InType::kReversedCountedAnsiString || in == InType::kRestAnsi || in == InType::kAnsiChar;
}

}  // namespace etwpipe::schema
