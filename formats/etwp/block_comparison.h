// Whether a block gives back what was put into it.
#pragma once

#include <cstddef>

#include "formats/etwp/block_decoder.h"
#include "formats/etwp/block_encoder.h"
#include "proto/archive.pb.h"

namespace etwpipe::etwp {

/// Whether an event came back as it was.
bool SameEvent(const BlockRow& was, const DecodedBlock::Row& is, const std::byte* record);

/// True if every annotation came back. `decoded` was made of `block`, and `block` of `events`.
bool SameAnnotations(const BlockEvents& events, const v1::Block& block, const DecodedBlock& decoded);

}  // namespace etwpipe::etwp
