// Collects the schemas that the events of an output need: --embed-schemas.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "formats/schema/schema_registry.h"
#include "pipeline/object_pool.h"
#include "pipeline/stage.h"

namespace etwpipe {

/// The last stage of a plan: looks at what reaches the sink and changes nothing. Left out are schemas that events carry
/// themselves (TraceLogging), that come with every etwpipe (built-in) and that the input has embedded already.
class SchemaRecorder final : public Stage {
 public:
  SchemaRecorder();

  const StageInfo& info() const override { return info_; }
  Status Process(const ProcessArgs& args) const override;

  /// After the run: the schemas as text, the same for any number of threads; empty if there are none.
  std::string Text() const;

 private:
  StageInfo info_;
  mutable ObjectPool<schema::SchemaLookup> lookups_;
  mutable std::mutex mutex_;
  mutable std::map<const schema::EventSchema*, std::shared_ptr<const schema::EventSchema>> used_;
};

}  // namespace etwpipe
