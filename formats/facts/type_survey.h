// Fills the table of CLR types.
#pragma once

#include <memory>

#include "formats/facts/type_table.h"
#include "pipeline/survey.h"

namespace etwpipe::facts {

/// Reads BulkType events of the CLR's runtime provider (clr-events.tsv, id 15). Sets a TypeTable.
std::unique_ptr<Surveyor> MakeTypeSurveyor();

}  // namespace etwpipe::facts
