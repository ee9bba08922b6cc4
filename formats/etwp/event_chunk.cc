#include "formats/etwp/event_chunk.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "formats/etl/layout.h"
#include "formats/etwp/payload_layout.h"
#include "formats/schema/builtin_schemas.h"
#include "formats/schema/tracelogging.h"

namespace etwpipe::etwp {
namespace {

// Bytes that an event's annotations take in a block, about.
size_t AnnotationWeight(const AnnotationColumn& column, size_t row) {
  if (!column.has(row)) return 0;
  switch (column.info().type) {
    case AnnotationType::kString:
    case AnnotationType::kMessage: return column.string(row).size();
    case AnnotationType::kU64List: return 8 * (column.list_view(row).size() + 1);
    case AnnotationType::kStringList: {
      size_t bytes = 8;
      for (const uint64_t number : column.list_view(row)) bytes += 8 + column.text(number).size();
      return bytes;
    }
    default: return 8;
  }
}

ImageHash HashOf(const SourceBuffer& buffer) {
  const auto image = std::span<const std::byte>(buffer.image);
  const size_t header = std::min(image.size(), etl::buffer::kHeaderSize);
  return HashImage(image.first(header), image.subspan(header), buffer.compressed && !buffer.raw);
}

}  // namespace

// The layout of each event's payload; one per thread at a time.
struct ChunkMaker::LayoutFinder {
  LayoutFinder(const schema::SchemaRegistry& registry, const TraceContext& trace) : lookup(registry, trace) {}

  std::shared_ptr<const PayloadLayout> Find(const EventHeader& row) {
    const auto& schema = lookup.FindShared(row);
    if (schema == nullptr) return nullptr;
    if (layouts.size() >= schema::SchemaRegistry::kMaxKinds) layouts.clear();
    const auto [found, added] = layouts.try_emplace({schema.get(), row.pointer_size()});
    if (added) found->second = {schema, PayloadLayout::FromSchema(*schema, row.pointer_size())};
    return found->second.second;
  }

  schema::SchemaLookup lookup;
  // The schema is held so that no other one gets its address.
  std::map<std::pair<const schema::EventSchema*, uint32_t>,
           std::pair<std::shared_ptr<const schema::EventSchema>, std::shared_ptr<const PayloadLayout>>>
      layouts;
};

ChunkMaker::ChunkMaker(const TraceContext& trace, const Options& options)
    : trace_(trace), options_(options), registry_(trace.facts->Get<schema::SchemaRegistry>()) {
  if (registry_ != nullptr) return;
  auto registry = std::make_shared<schema::SchemaRegistry>();
  registry->Add(std::make_shared<schema::TraceLoggingSupplier>());
  registry->Add(std::make_shared<schema::BuiltInSupplier>());
  own_registry_ = std::move(registry);
  registry_ = own_registry_.get();
}

ChunkMaker::~ChunkMaker() = default;

std::unique_ptr<EventChunk> ChunkMaker::Make(EventBatch& batch) const {
  auto chunk = std::make_unique<EventChunk>();
  size_t bytes = 0;
  for (const uint16_t index : batch.selection) bytes += batch.rows[index].record_size;
  chunk->bytes.resize(bytes);
  chunk->rows.reserve(batch.selection.size());

  // Kinds of this batch by hash: a table of numbers + 1, open addressing, twice as many places as rows.
  size_t table_size = 64;
  while (table_size < 2 * batch.selection.size()) table_size *= 2;
  std::vector<uint16_t> table(table_size);
  const auto local_kind = [&](const RecordTemplate& made) {
    const uint64_t hash = made.Hash();
    size_t at = hash & (table_size - 1);
    while (table[at] != 0) {
      const auto& known = chunk->kinds[table[at] - 1u];
      if (known.hash == hash && known.made == made) return static_cast<uint16_t>(table[at] - 1);
      at = (at + 1) & (table_size - 1);
    }
    chunk->kinds.push_back({made, hash});
    table[at] = static_cast<uint16_t>(chunk->kinds.size());
    return static_cast<uint16_t>(chunk->kinds.size() - 1);
  };

  chunk->counts = counts_.Take([] { return std::make_unique<StatisticsBuilder::Part>(); });
  chunk->counts->Clear();
  auto finder = finders_.Take([&] { return std::make_unique<LayoutFinder>(*registry_, trace_); });
  uint32_t offset = 0;
  uint64_t weight = 0;
  for (const uint16_t index : batch.selection) {
    const EventHeader& event = batch.rows[index];
    chunk->counts->Add(event);
    auto& row = chunk->rows.emplace_back();
    RecordTemplate made = RecordTemplate::FromRow(event);
    const bool usual = !made.raw() && event.payload_begin >= made.header_size() &&
                       (made.extended() || event.payload_begin == made.header_size());
    if (usual && options_.layouts) made.set_layout(finder->Find(event));
    row.instance_id = event.instance_id;
    row.timestamp = event.timestamp;
    row.offset = offset;
    row.kind = local_kind(made);
    row.size = event.record_size;
    row.cpu = event.cpu;
    row.batch_row = index;
    if (made.extended() && event.extended_begin == made.header_size() && event.payload_begin >= event.extended_begin &&
        event.payload_begin <= event.record_size) {
      row.extended_size = static_cast<uint16_t>(event.payload_begin - event.extended_begin);
    }
    if (row.size != 0) std::memcpy(chunk->bytes.data() + offset, event.record, row.size);
    offset += row.size;
    weight += row.size;
    for (const auto& column : batch.annotations) weight += AnnotationWeight(column, index);
    row.weight_end = weight;
    if (event.has(kInjected)) {
      chunk->max_injected = std::max(chunk->max_injected, event.instance_id & ~kInstanceIdSourceMask);
    }
  }
  finders_.Give(std::move(finder));
  chunk->annotations = std::move(batch.annotations);
  batch.annotations.clear();
  for (uint32_t column = 0; column < chunk->annotations.size(); ++column) {
    const auto first = std::find_if(chunk->rows.begin(), chunk->rows.end(), [&](const EventChunk::Row& row) {
      return chunk->annotations[column].has(row.batch_row);
    });
    if (first == chunk->rows.end()) continue;
    chunk->notes.emplace_back(static_cast<uint32_t>(first - chunk->rows.begin()), column);
  }
  std::sort(chunk->notes.begin(), chunk->notes.end());
  if (options_.restore) {
    for (const auto& buffer : batch.opened) {
      chunk->restore.Add(*buffer);
      chunk->opened.push_back(buffer);
      if (options_.hash_images) chunk->image_hashes.push_back(HashOf(*buffer));
    }
  }
  return chunk;
}

}  // namespace etwpipe::etwp
