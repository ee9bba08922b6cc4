// Schemas of the common language runtime.
#pragma once

#include "formats/schema/clr_aliases.h"
#include "formats/schema/schema_registry.h"

namespace etwpipe::schema {

/// Answers for the four CLR providers: the documentation's ids as far as they are believed (clr_aliases.h), then the
/// built-in schemas of exactly the event's version. Asked before the metadata of merged traces, which describes a
/// CLRStackWalk as two frames whatever the record holds, and names events in another way than PerfView.
class ClrSupplier final : public SchemaSupplier {
 public:
  explicit ClrSupplier(ClrIds ids) : ids_(ids) {}
  std::shared_ptr<const EventSchema> Find(const SchemaRequest& request) const override;
  bool DependsOnPayload(const SchemaRequest& request) const override;

 private:
  ClrIds ids_;
};

}  // namespace etwpipe::schema
