#include "formats/schema/manifest_words.h"

#include <strings.h>

#include <charconv>

namespace etwpipe::schema {
namespace {

bool SameWord(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

struct TypeWord {
  std::string_view name;
  ManifestType type;
};
constexpr TypeWord kTypes[] = {
    {"win:UnicodeString", {InType::kUnicodeString}},
    {"win:AnsiString", {InType::kAnsiString}},
    {"win:Int8", {InType::kInt8}},
    {"win:UInt8", {InType::kUInt8}},
    {"win:Int16", {InType::kInt16}},
    {"win:UInt16", {InType::kUInt16}},
    {"win:Int32", {InType::kInt32}},
    {"win:UInt32", {InType::kUInt32}},
    {"win:Int64", {InType::kInt64}},
    {"win:UInt64", {InType::kUInt64}},
    {"win:Float", {InType::kFloat}},
    {"win:Double", {InType::kDouble}},
    {"win:Boolean", {InType::kBoolean}},
    {"win:Binary", {InType::kBinary}},
    {"win:GUID", {InType::kGuid}},
    {"win:Pointer", {InType::kPointer}},
    {"win:FILETIME", {InType::kFileTime}},
    {"win:SYSTEMTIME", {InType::kSystemTime}},
    {"win:SID", {InType::kSid}},
    {"win:HexInt32", {InType::kHexInt32}},
    {"win:HexInt64", {InType::kHexInt64}},
    {"win:CountedUnicodeString", {InType::kCountedUtf16}},
    {"win:CountedAnsiString", {InType::kCountedAnsi}},
    {"win:CountedBinary", {InType::kCountedBinary}},
    {"trace:CountedString", {InType::kCountedString}},
    {"trace:CountedAnsiString", {InType::kCountedAnsiString}},
    {"trace:ReversedCountedString", {InType::kReversedCountedString}},
    {"trace:ReversedCountedAnsiString", {InType::kReversedCountedAnsiString}},
    {"trace:NonNullTerminatedString", {InType::kRestUtf16}},
    {"trace:NonNullTerminatedAnsiString", {InType::kRestAnsi}},
    {"trace:UnicodeChar", {InType::kUnicodeChar}},
    {"trace:AnsiChar", {InType::kAnsiChar}},
    {"trace:SizeT", {InType::kSizeT}},
    {"trace:HexDump", {InType::kHexDump}},
    {"trace:WBEMSid", {InType::kWbemSid}},
    // Ticks of the session's clock, which need not be a FILETIME.
    {"trace:WmiTime", {InType::kUInt64}},
    {"trace:Port", {InType::kUInt16, OutType::kPort}},
    {"trace:IPAddr", {InType::kUInt32, OutType::kIpv4}},
    {"trace:IPAddrV4", {InType::kUInt32, OutType::kIpv4}},
    {"trace:IPAddrV6", {InType::kBinary, OutType::kIpv6, 16}},
};

struct OutWord {
  std::string_view name;
  OutType out;
};
constexpr OutWord kOutTypes[] = {
    {"xs:string", OutType::kString},
    {"xs:boolean", OutType::kBoolean},
    {"xs:dateTime", OutType::kDateTime},
    {"xs:byte", OutType::kDefault},
    {"xs:unsignedByte", OutType::kDefault},
    {"xs:short", OutType::kDefault},
    {"xs:unsignedShort", OutType::kDefault},
    {"xs:int", OutType::kDefault},
    {"xs:unsignedInt", OutType::kDefault},
    {"xs:long", OutType::kDefault},
    {"xs:unsignedLong", OutType::kDefault},
    {"xs:float", OutType::kDefault},
    {"xs:double", OutType::kDefault},
    {"xs:GUID", OutType::kDefault},
    {"xs:hexBinary", OutType::kDefault},
    {"win:HexInt8", OutType::kHex},
    {"win:HexInt16", OutType::kHex},
    {"win:HexInt32", OutType::kHex},
    {"win:HexInt64", OutType::kHex},
    {"win:HexBinary", OutType::kDefault},
    {"win:PID", OutType::kPid},
    {"win:TID", OutType::kTid},
    {"win:Port", OutType::kPort},
    {"win:IPv4", OutType::kIpv4},
    {"win:IPv6", OutType::kIpv6},
    {"win:SocketAddress", OutType::kSocketAddress},
    {"win:ETWTIME", OutType::kDefault},
    {"win:Xml", OutType::kXml},
    {"win:Json", OutType::kJson},
    {"win:Utf8", OutType::kUtf8},
    {"win:ErrorCode", OutType::kHex},
    {"win:Win32Error", OutType::kWin32Error},
    {"win:NTSTATUS", OutType::kNtStatus},
    {"win:HResult", OutType::kHResult},
    {"win:DateTimeCultureInsensitive", OutType::kDateTime},
    {"win:DateTimeUtc", OutType::kDateTime},
    {"win:CodePointer", OutType::kCodePointer},
    {"win:Pkcs7WithTypeInfo", OutType::kPkcs7},
    {"win:NoPrint", OutType::kNoPrint},
};

// Whether values of that type are shown in that way without being told.
bool IsNatural(OutType out, InType in) {
  switch (out) {
    case OutType::kString: return IsUtf16(in) || IsNarrowText(in) || in == InType::kSid || in == InType::kWbemSid;
    case OutType::kBoolean: return in == InType::kBoolean;
    case OutType::kDateTime: return in == InType::kFileTime || in == InType::kSystemTime;
    case OutType::kHex: return in == InType::kHexInt32 || in == InType::kHexInt64 || in == InType::kPointer;
    default: return false;
  }
}

}  // namespace

std::optional<ManifestType> ManifestTypeOf(std::string_view name) {
  for (const TypeWord& word : kTypes) {
    if (SameWord(word.name, name)) return word.type;
  }
  return std::nullopt;
}

std::optional<OutType> ManifestOutTypeOf(std::string_view name, InType in) {
  for (const OutWord& word : kOutTypes) {
    if (SameWord(word.name, name)) return IsNatural(word.out, in) ? OutType::kDefault : word.out;
  }
  return std::nullopt;
}

const NameTable& WinOpcodes() {
  static const NameTable table = {{"win:Info", 0},    {"win:Start", 1},     {"win:Stop", 2},     {"win:DC_Start", 3},
                                  {"win:DC_Stop", 4}, {"win:Extension", 5}, {"win:Reply", 6},    {"win:Resume", 7},
                                  {"win:Suspend", 8}, {"win:Send", 9},      {"win:Receive", 240}};
  return table;
}

const NameTable& WinLevels() {
  static const NameTable table = {{"win:LogAlways", 0}, {"win:Critical", 1},      {"win:Error", 2},
                                  {"win:Warning", 3},   {"win:Informational", 4}, {"win:Verbose", 5}};
  return table;
}

const NameTable& WinKeywords() {
  static const NameTable table = {
      {"win:AnyKeyword", 0},
      {"win:ResponseTime", uint64_t{1} << 48},
      {"win:WDIContext", uint64_t{1} << 49},
      {"win:WDIDiag", uint64_t{1} << 50},
      {"win:SQM", uint64_t{1} << 51},
      {"win:AuditFailure", uint64_t{1} << 52},
      {"win:AuditSuccess", uint64_t{1} << 53},
      {"win:CorrelationHint", uint64_t{1} << 54},
      {"win:EventlogClassic", uint64_t{1} << 55},
  };
  return table;
}

std::optional<uint64_t> ManifestNumber(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return std::nullopt;
  text = text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    base = 16;
  }
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string WithoutPrefix(const std::string& name) { return name.starts_with("win:") ? name.substr(4) : name; }

}  // namespace etwpipe::schema
