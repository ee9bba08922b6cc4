// Payloads of the CLR's method and loader events (layouts: semantics.md 6.2, 6.4; clr-events.tsv).
#pragma once

#include <optional>

#include "formats/facts/clr_event_kinds.h"
#include "formats/facts/clr_table.h"
#include "formats/facts/method_record.h"

namespace etwpipe::facts {

/// Nullopt where the payload ends before the fields that every version has; what later versions add is taken if it is
/// there. All need a row of the kind that ClrEventKinds gave.
std::optional<MethodRecord> ReadMethod(const ClrEventKind& kind, const EventHeader& row, StringPool& strings);
std::optional<ClrRecord<ClrModule>> ReadModule(const ClrEventKind& kind, const EventHeader& row);
std::optional<ClrRecord<ClrAssembly>> ReadAssembly(const ClrEventKind& kind, const EventHeader& row);
std::optional<ClrRecord<ClrAppDomain>> ReadAppDomain(const ClrEventKind& kind, const EventHeader& row);
std::optional<ClrRecord<ClrRuntime>> ReadRuntime(const ClrEventKind& kind, const EventHeader& row);
/// Of a DC...Init or DC...Complete event; V0 has none.
std::optional<uint16_t> ReadMarkerInstance(const EventHeader& row);

}  // namespace etwpipe::facts
