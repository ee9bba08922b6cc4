// Self-describing (TraceLogging) events: the metadata that travels with each event, and payloads that fit it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "pipeline/byte_reader.h"
#include "pipeline/guid.h"

namespace etwpipe::etl {

/// How a field stands in the payload, etl-format.md 7.1.
enum class InType : uint8_t {
  kNull = 0,
  kUnicodeString = 1,  ///< NUL-terminated UTF-16
  kAnsiString = 2,     ///< NUL-terminated
  kInt8 = 3,
  kUint8 = 4,
  kInt16 = 5,
  kUint16 = 6,
  kInt32 = 7,
  kUint32 = 8,
  kInt64 = 9,
  kUint64 = 10,
  kFloat = 11,
  kDouble = 12,
  kBool32 = 13,
  kBinary = 14,  ///< u16 byte count, bytes
  kGuid = 15,
  kFileTime = 17,
  kSystemTime = 18,
  kSid = 19,
  kHexInt32 = 20,
  kHexInt64 = 21,
  kCountedString = 22,      ///< u16 byte count, UTF-16
  kCountedAnsiString = 23,  ///< u16 byte count, bytes
  kStruct = 24,
  kCountedBinary = 25,
};

/// How a field is shown, etl-format.md 7.1.
enum class OutType : uint8_t {
  kDefault = 0,
  kNoPrint = 1,
  kString = 2,
  kBoolean = 3,
  kHex = 4,
  kPid = 5,
  kTid = 6,
  kPort = 7,
  kIpv4 = 8,
  kIpv6 = 9,
  kSocketAddress = 10,
  kXml = 11,
  kJson = 12,
  kWin32Error = 13,
  kNtStatus = 14,
  kHresult = 15,
  kFileTime = 16,
  kSigned = 17,
  kUnsigned = 18,
  kUtf8 = 35,
  kCodePointer = 37,
};

/// Event descriptor channel of TraceLogging events.
constexpr uint8_t kTraceLoggingChannel = 11;

/// The data of a SCHEMA_TL item: event name and fields in the order of the payload (etl-format.md 7.1).
class TraceLoggingSchema {
 public:
  explicit TraceLoggingSchema(std::string_view event_name);

  TraceLoggingSchema& Field(std::string_view name, InType in, OutType out = OutType::kDefault);
  /// The payload holds a u16 count, then that many values.
  TraceLoggingSchema& Array(std::string_view name, InType in, OutType out = OutType::kDefault);
  /// The next `member_count` fields (1..127) belong to it; a nested struct counts as one. With `array` the payload
  /// holds a u16 count, then that many times all members.
  TraceLoggingSchema& Struct(std::string_view name, uint8_t member_count, bool array = false);

  /// The blob; valid until a field is added.
  std::span<const std::byte> metadata() const { return bytes_; }

 private:
  void AddName(std::string_view name);
  void AddTypes(uint8_t in, uint8_t out);
  void StoreSize();

  std::vector<std::byte> bytes_;
};

/// The data of a PROV_TRAITS item: provider name and, optionally, its group (etl-format.md 7.2).
std::vector<std::byte> ProviderTraits(std::string_view provider_name, const std::optional<Guid>& group = std::nullopt);

/// Appends payload values, packed and little-endian. Keeps its memory over Clear(), so that one writer serves a stream
/// of events without allocating.
class PayloadWriter {
 public:
  /// Numbers and GUIDs as they are.
  template <typename T>
  PayloadWriter& Add(const T& value) {
    StoreAt(Grow(sizeof value), 0, value);
    return *this;
  }
  PayloadWriter& AddBytes(std::span<const std::byte> bytes);
  /// kUnicodeString from UTF-8; broken UTF-8 becomes U+FFFD.
  PayloadWriter& AddUnicode(std::string_view text);
  /// kUnicodeString from UTF-16.
  PayloadWriter& AddUnicode(std::u16string_view text);
  /// kAnsiString. The text holds no NUL.
  PayloadWriter& AddAnsi(std::string_view text);
  /// kCountedAnsiString; at most 65,535 bytes.
  PayloadWriter& AddCountedAnsi(std::string_view text);
  /// kBinary and kCountedBinary; at most 65,535 bytes.
  PayloadWriter& AddBinary(std::span<const std::byte> bytes);
  PayloadWriter& AddZeros(size_t count);

  size_t size() const { return used_; }
  /// Valid until the writer changes.
  std::span<const std::byte> bytes() const { return {bytes_.data(), used_}; }
  PayloadWriter& Clear() {
    used_ = 0;
    return *this;
  }

 private:
  std::byte* Grow(size_t count) {
    if (bytes_.size() - used_ < count) Reserve(count);
    std::byte* place = bytes_.data() + used_;
    used_ += count;
    return place;
  }
  void Reserve(size_t count);

  std::vector<std::byte> bytes_;
  size_t used_ = 0;
};

}  // namespace etwpipe::etl
