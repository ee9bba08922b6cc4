// Whether a block gives back what was put into it.
#pragma once

#include <cstddef>
#include <span>

#include "formats/etwp/block_decoder.h"
#include "formats/etwp/block_encoder.h"
#include "proto/archive.pb.h"

namespace etwpipe::etwp {

/// Index of the first row that did not come back as it was, or the number of rows. 0 if there are more or fewer.
size_t FirstDifference(std::span<const BlockRow> rows, const DecodedBlock& decoded);

/// True if every annotation came back. `decoded` was made of `block`, and `block` of `events`.
bool SameAnnotations(const BlockEvents& events, const v1::Block& block, const DecodedBlock& decoded);

}  // namespace etwpipe::etwp
