// Typed payloads of build events (pipeline/session/payloads.h) from the fields of their records, by a table: a provider
// with other fields needs other names in it, no other code.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/facts/record_fields.h"
#include "formats/schema/schema_registry.h"
#include "pipeline/session/event_id.h"
#include "pipeline/session/payloads.h"
#include "pipeline/trace_context.h"

namespace etwpipe::session {

enum class FieldType : uint8_t {
  kUint16,
  kInt32,
  kUint64,
  kNarrow,   ///< const char*
  kWide,     ///< const uint16_t*
  kVersion,  ///< four uint16_t from "19.29.30133.0"
  kOrdinal,  ///< uint64_t: number of the invocation
};

/// One member of a payload struct.
struct PayloadField {
  FieldType type;
  uint16_t offset;
  /// Fields of the record that have it; the first that is there counts.
  std::array<std::string_view, 3> names{};
  /// Numbers: the value where no field has it. Texts: 1 for an empty text, 0 for null.
  int32_t fallback = 0;
};

/// How a payload struct is filled.
struct PayloadShape {
  size_t size = 0;         ///< bytes of the struct
  bool text_only = false;  ///< there is no struct: the data is the one text itself
  std::span<const PayloadField> fields;
};

/// The shape of an event's payload; null where it has none.
const PayloadShape* ShapeOf(EventId id);

/// Room for one payload, for use again and again. What it gave is valid until the next Fill(). It does not move.
class BuildPayload {
 public:
  BuildPayload() = default;
  BuildPayload(const BuildPayload&) = delete;
  BuildPayload& operator=(const BuildPayload&) = delete;

  /// The payload of an event of that kind; null where it has none. `ordinal`: of an invocation.
  const void* Fill(EventId id, facts::RecordFields& fields, uint64_t ordinal);

 private:
  static constexpr size_t kMaxSize = 64;
  static constexpr size_t kMaxTexts = 4;

  alignas(8) std::array<std::byte, kMaxSize> data_{};
  std::array<std::string, kMaxTexts> narrow_;
  std::array<std::u16string, kMaxTexts> wide_;
};

/// Recognises records that tell of builds: those of etwpipe.ingest (proto/PROVIDER.md) and those vcperf relogs
/// (semantics.md 4.3).
class BuildRecords {
 public:
  explicit BuildRecords(const TraceContext& trace);

  bool IsProvider(ProviderIndex provider) const { return provider == ingest_ || provider == vcperf_; }
  /// The kind of a record whose fields are loaded; null if it is none of semantics.md 4.1. `activity`: whether it
  /// starts or stops one.
  const EventKindInfo* KindOf(const EventHeader& row, bool activity, facts::RecordFields& fields) const;

 private:
  ProviderIndex ingest_;
  ProviderIndex vcperf_;
};

}  // namespace etwpipe::session
