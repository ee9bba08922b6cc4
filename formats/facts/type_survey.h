// Fills the table of CLR types.
#pragma once

#include <memory>

#include "formats/facts/type_table.h"
#include "pipeline/survey.h"

namespace etwpipe::facts {

/// Reads BulkType events of the CLR's runtime provider (clr-events.tsv, id 15). Sets a TypeTable.
/// Bounds for hostile files; large programs use some ten thousand types. What is beyond is counted (facts-dropped).
struct TypeLimits {
  size_t records = 1 << 20;
  size_t bytes = size_t{256} << 20;  ///< of names
};
std::unique_ptr<Surveyor> MakeTypeSurveyor(const TypeLimits& limits = {});

}  // namespace etwpipe::facts
