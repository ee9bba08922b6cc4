// Blocks of plain Event messages (proto/event.proto) in place of columns: `run --layout rows`.
#pragma once

#include <optional>

#include "formats/etwp/block_decoder.h"
#include "formats/etwp/block_encoder.h"
#include "formats/etwp/column_set.h"
#include "pipeline/status.h"
#include "pipeline/trace_context.h"
#include "proto/archive.pb.h"

namespace etwpipe::etwp {

/// Writes `events` (at least one; annotations are left out) as a block. Providers are added to
/// the table of `trace`. `level` is zstd's.
Status EncodeRows(const BlockEvents& events, const TraceContext& trace, int level, Compressor& compressor,
                  v1::Block& block);

/// Takes such a block apart. Any block is safe: events are read one at a time, against the numbers that the block
/// declares.
std::optional<DecodeError> DecodeRows(const v1::Block& block, DecodedBlock& decoded);

}  // namespace etwpipe::etwp
