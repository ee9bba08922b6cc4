#include "formats/schema/schema_words.h"

namespace etwpipe::schema {
namespace {

struct InWord {
  InType type;
  std::string_view word;
};
constexpr InWord kInWords[] = {
    {InType::kNull, "null"},
    {InType::kUnicodeString, "wstr"},
    {InType::kAnsiString, "astr"},
    {InType::kInt8, "i8"},
    {InType::kUInt8, "u8"},
    {InType::kInt16, "i16"},
    {InType::kUInt16, "u16"},
    {InType::kInt32, "i32"},
    {InType::kUInt32, "u32"},
    {InType::kInt64, "i64"},
    {InType::kUInt64, "u64"},
    {InType::kFloat, "f32"},
    {InType::kDouble, "f64"},
    {InType::kBoolean, "bool"},
    {InType::kBinary, "binary"},
    {InType::kGuid, "guid"},
    {InType::kPointer, "ptr"},
    {InType::kFileTime, "filetime"},
    {InType::kSystemTime, "systemtime"},
    {InType::kSid, "sid"},
    {InType::kHexInt32, "hex32"},
    {InType::kHexInt64, "hex64"},
    {InType::kCountedUtf16, "counted_wstr"},
    {InType::kCountedAnsi, "counted_astr"},
    {InType::kCountedBinary, "counted_binary"},
    {InType::kCountedString, "counted_string"},
    {InType::kCountedAnsiString, "counted_ansi_string"},
    {InType::kReversedCountedString, "reversed_wstr"},
    {InType::kReversedCountedAnsiString, "reversed_astr"},
    {InType::kRestUtf16, "rest_wstr"},
    {InType::kRestAnsi, "rest_astr"},
    {InType::kUnicodeChar, "wchar"},
    {InType::kAnsiChar, "char"},
    {InType::kSizeT, "size"},
    {InType::kHexDump, "hexdump"},
    {InType::kWbemSid, "wbemsid"},
    {InType::kPad, "pad"},
};

struct OutWord {
  OutType type;
  std::string_view word;
};
constexpr OutWord kOutWords[] = {
    {OutType::kNoPrint, "noprint"},   {OutType::kString, "string"},
    {OutType::kBoolean, "bool"},      {OutType::kHex, "hex"},
    {OutType::kPid, "pid"},           {OutType::kTid, "tid"},
    {OutType::kPort, "port"},         {OutType::kIpv4, "ip4"},
    {OutType::kIpv6, "ip6"},          {OutType::kSocketAddress, "sockaddr"},
    {OutType::kXml, "xml"},           {OutType::kJson, "json"},
    {OutType::kUtf8, "utf8"},         {OutType::kWin32Error, "win32"},
    {OutType::kNtStatus, "ntstatus"}, {OutType::kHResult, "hresult"},
    {OutType::kDateTime, "time"},     {OutType::kSigned, "signed"},
    {OutType::kUnsigned, "unsigned"}, {OutType::kCodePointer, "code"},
    {OutType::kPkcs7, "pkcs7"},
};

}  // namespace

std::string_view WordOf(InType in) {
  for (const auto& word : kInWords) {
    if (word.type == in) return word.word;
  }
  return {};
}

std::string_view WordOf(OutType out) {
  for (const auto& word : kOutWords) {
    if (word.type == out) return word.word;
  }
  return {};
}

std::optional<InType> InTypeOf(std::string_view text) {
  for (const auto& word : kInWords) {
    if (word.word == text) return word.type;
  }
  return std::nullopt;
}

std::optional<OutType> OutTypeOf(std::string_view text) {
  for (const auto& word : kOutWords) {
    if (word.word == text) return word.type;
  }
  return std::nullopt;
}

}  // namespace etwpipe::schema
