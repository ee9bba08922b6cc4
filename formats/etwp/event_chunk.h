// What an archive takes of a batch, before it is known which block the events go to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "formats/etwp/images_hash.h"
#include "formats/etwp/record_template.h"
#include "formats/etwp/restore_section.h"
#include "formats/etwp/statistics.h"
#include "formats/schema/schema_registry.h"
#include "pipeline/annotation.h"
#include "pipeline/batch.h"
#include "pipeline/object_pool.h"
#include "pipeline/sink.h"
#include "pipeline/source_buffer.h"
#include "pipeline/trace_context.h"

namespace etwpipe::etwp {

/// The selected events of a batch with their bytes, and what the restore section needs.
struct EventChunk : SinkChunk {
  struct Row {
    uint64_t instance_id = 0;
    int64_t timestamp = 0;
    uint64_t weight_end = 0;  // bytes of events up to and with this one
    uint32_t offset = 0;      // in bytes
    uint16_t kind = 0;        // in kinds
    uint16_t size = 0;
    uint16_t cpu = 0;
    uint16_t extended_size = 0;
    uint16_t batch_row = 0;
  };
  struct Kind {
    RecordTemplate made;
    uint64_t hash = 0;
    uint32_t number = kRawKind;  // given by Cut
    bool numbered = false;
  };
  std::vector<std::byte> bytes;
  std::vector<Row> rows;
  std::vector<Kind> kinds;  // in order of first use
  std::vector<AnnotationColumn> annotations;
  std::vector<std::pair<uint32_t, uint32_t>> notes;  // first row with a value, and column; by row
  RestoreBuffers restore;
  std::vector<std::shared_ptr<const SourceBuffer>> opened;  // the buffers of `restore`
  std::vector<ImageHash> image_hashes;                      // of the buffers of `restore`, if they are kept
  uint64_t max_injected = 0;
  std::unique_ptr<StatisticsBuilder::Part> counts;
};

/// Makes chunks, on any threads.
class ChunkMaker {
 public:
  struct Options {
    bool layouts = true;       ///< payloads fall into fields where there is a schema
    bool restore = false;      ///< the buffers are kept, too
    bool hash_images = false;  ///< and hashed
  };
  /// `trace` outlives this; so do its schemas. Where it has none, those that this program knows are taken.
  ChunkMaker(const TraceContext& trace, const Options& options);
  ~ChunkMaker();

  /// Takes the annotations of the batch.
  std::unique_ptr<EventChunk> Make(EventBatch& batch) const;
  /// Gives the counts of a chunk back, to be used again.
  void GiveCounts(std::unique_ptr<StatisticsBuilder::Part> counts) const { counts_.Give(std::move(counts)); }
  const schema::SchemaRegistry& registry() const { return *registry_; }

 private:
  struct LayoutFinder;

  const TraceContext& trace_;
  Options options_;
  std::shared_ptr<const schema::SchemaRegistry> own_registry_;
  const schema::SchemaRegistry* registry_ = nullptr;
  mutable ObjectPool<LayoutFinder> finders_;
  mutable ObjectPool<StatisticsBuilder::Part> counts_;
};

}  // namespace etwpipe::etwp
