// Records as event rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "formats/etl/record.h"
#include "formats/etwp/record_template.h"
#include "pipeline/event.h"

namespace etwpipe::etwp {

/// Fills `row` from a rebuilt record. cpu, timestamp and instance id are the caller's business.
void ParseRow(std::span<const std::byte> record, uint32_t pointer_size, etl::ProviderResolver& providers,
              EventHeader& row);

/// The row of a record that is nothing but the header of a kind: the header fields that all events of the kind have in
/// common. Times, ids and sizes mean nothing, and `record` is null. False for kind 0, whose events can be anything.
bool KindHeader(const RecordTemplate& kind, uint32_t pointer_size, etl::ProviderResolver& providers, EventHeader& row);

}  // namespace etwpipe::etwp
