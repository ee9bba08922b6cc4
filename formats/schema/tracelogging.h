// Schemas that TraceLogging events carry with them (etl-format.md sections 7.1, 7.2).
#pragma once

#include <memory>

#include "formats/schema/schema_registry.h"
#include "pipeline/status.h"

namespace etwpipe::schema {

/// The schema in `request.metadata`; its provider is named by `request.traits`, else by provider_names.h, else by its
/// GUID. Level and keyword stay 0: the metadata does not hold them, and they may differ from event to event.
///
/// An error where the event has no readable name. A blob that is cut or broken behind the name gives the top-level
/// fields that are whole, and EventSchema::note says what is wrong; the note is empty for a sound blob.
Result<std::shared_ptr<const EventSchema>> SchemaFromTraceLogging(const SchemaRequest& request);

/// Answers for the events that carry metadata; null for the others and where the event has no readable name.
class TraceLoggingSupplier final : public SchemaSupplier {
 public:
  std::shared_ptr<const EventSchema> Find(const SchemaRequest& request) const override;
};

}  // namespace etwpipe::schema
