// Extended items of EVENT_HEADER records (etl-format.md section 5).
#pragma once

#include <cstdint>
#include <span>

#include "pipeline/event.h"

namespace etwpipe::schema {

/// Types of items. Names are those of EVENT_HEADER_EXT_TYPE_*.
enum class ExtendedType : uint16_t {
  kRelatedActivityId = 0x01,  ///< GUID
  kSid = 0x02,
  kTerminalSession = 0x03,  ///< u32
  kInstanceInfo = 0x04,     ///< u32, u32, GUID
  kStackTrace32 = 0x05,     ///< u64 match id, u32[]
  kStackTrace64 = 0x06,     ///< u64 match id, u64[]
  kPebsIndex = 0x07,
  kPmcCounters = 0x08,  ///< u64[]
  kPsmKey = 0x09,
  kEventKey = 0x0A,
  kTraceLogging = 0x0B,    ///< event metadata (etl-format.md 7.1)
  kProviderTraits = 0x0C,  ///< etl-format.md 7.2
  kProcessStartKey = 0x0D,
  kControlGuid = 0x0E,
  kQpcDelta = 0x0F,
  kContainerId = 0x10,
  kStackKey32 = 0x11,  ///< u64 match id, u32 key, u32 pad
  kStackKey64 = 0x12,  ///< u64 match id, u64 key
};

/// One item; its bytes belong to the record.
struct ExtendedItemView {
  ExtendedType type{};
  std::span<const std::byte> data;
};

/// Steps through EventHeader::extended_items(): takes the first item off `items`; false at the end.
bool NextExtendedItem(std::span<const std::byte>& items, ExtendedItemView& item);

/// The data of the first item of that type; empty if the event has none.
std::span<const std::byte> FindExtendedItem(const EventHeader& row, ExtendedType type);

}  // namespace etwpipe::schema
