// Makes the schema registry of a trace.
#pragma once

#include <memory>

#include "formats/schema/clr_aliases.h"
#include "formats/schema/listed_schemas.h"
#include "pipeline/survey.h"

namespace etwpipe::schema {

/// Collects what the trace says of its own events (manifests of EventSources, metadata of merged traces, schemas of an
/// earlier run), wherever it stands, and sets a SchemaRegistry. Suppliers are asked in this order: TraceLogging
/// metadata, EventSource manifests, the CLR's own (clr_supplier.h), merged metadata, embedded schemas, `files`,
/// built-in schemas. What is defective is counted as schema-bad.
std::unique_ptr<Surveyor> MakeSchemaSurveyor(std::shared_ptr<const ListedSchemas> files, ClrIds clr_ids);

}  // namespace etwpipe::schema
