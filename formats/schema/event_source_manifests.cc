#include "formats/schema/event_source_manifests.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "formats/schema/context_records.h"
#include "formats/schema/manifest.h"
#include "formats/schema/provider_names.h"
#include "pipeline/byte_reader.h"

namespace etwpipe::schema {
namespace {

// What all manifests of a trace may add up to, beyond what ParseManifest() allows one.
constexpr size_t kMaxMemory = size_t{256} << 20;

constexpr size_t kMaxProblems = 1000;

using Schemas = std::map<std::tuple<Guid, uint16_t, uint16_t>, std::shared_ptr<const EventSchema>>;
using Providers = std::map<Guid, std::shared_ptr<const ProviderSchema>>;

// The layout of the chunk records themselves.
std::shared_ptr<const EventSchema> ChunkSchema(std::shared_ptr<const ProviderSchema> provider) {
  EventSchema schema;
  schema.provider = std::move(provider);
  schema.key = {false, kEventSourceManifestId, 0, std::numeric_limits<uint16_t>::max()};
  schema.origin = SchemaOrigin::kEventSource;
  schema.name = "ManifestData";
  schema.task = 0xFFFE;
  schema.opcode = 0xFE;
  const std::pair<const char*, InType> fields[] = {{"Format", InType::kUInt8},       {"MajorVersion", InType::kUInt8},
                                                   {"MinorVersion", InType::kUInt8}, {"Magic", InType::kUInt8},
                                                   {"TotalChunks", InType::kUInt16}, {"ChunkNumber", InType::kUInt16},
                                                   {"Data", InType::kRestAnsi}};
  for (const auto& [name, in] : fields) {
    Property property;
    property.name = name;
    property.in = in;
    if (in == InType::kRestAnsi) property.out = OutType::kUtf8;
    schema.properties.push_back(std::move(property));
  }
  schema.top_level = static_cast<uint16_t>(schema.properties.size());
  if (!schema.Finish().ok()) return nullptr;
  return std::make_shared<const EventSchema>(std::move(schema));
}

std::string TitleOf(const Guid& provider) { return "manifest of " + ToString(provider); }

}  // namespace

uint32_t EventSourceManifests::Intern(std::string_view text) {
  if (const auto known = text_indices_.find(text); known != text_indices_.end()) return known->second;
  const auto index = static_cast<uint32_t>(texts_.size());
  texts_.push_back(std::make_unique<const std::string>(text));
  text_indices_.emplace(*texts_.back(), index);
  bytes_ += text.size();
  return index;
}

void EventSourceManifests::Add(const EventHeader& row, const Guid& provider) {
  const bool has_id = row.kind == HeaderKind::kEvent32 || row.kind == HeaderKind::kEvent64;
  if (!has_id || row.id != kEventSourceManifestId) return;
  constexpr uint8_t kSimpleXml = 1;
  constexpr uint8_t kMagic = 0x5B;
  ByteReader reader(row.payload());
  const auto format = reader.Read<uint8_t>();
  const auto major = reader.Read<uint8_t>();
  const auto minor = reader.Read<uint8_t>();
  const auto magic = reader.Read<uint8_t>();
  const auto total = reader.Read<uint16_t>();
  const auto number = reader.Read<uint16_t>();
  if (reader.failed() || format != kSimpleXml || magic != kMagic || number >= total) {
    ++no_chunks_;
    return;
  }
  const auto data = reader.ReadBytes(reader.remaining());
  if (bytes_ + sizeof(Chunk) + data.size() > kMaxBytes) {
    ++dropped_;
    return;
  }
  bytes_ += sizeof(Chunk);
  Chunk chunk{provider, row.pid, row.tid, row.timestamp, row.instance_id};
  chunk.version = static_cast<uint16_t>(major << 8 | minor);
  chunk.total = total;
  chunk.number = number;
  chunk.text = Intern({reinterpret_cast<const char*>(data.data()), data.size()});
  chunks_.push_back(chunk);
}

// The distinct manifests in the order in which each was last written.
std::vector<EventSourceManifests::Manifest> EventSourceManifests::Assemble(std::vector<std::string>& problems) {
  // Only an emitter's own chunks are in order: threads and processes write theirs at the same time.
  std::sort(chunks_.begin(), chunks_.end(), [](const Chunk& a, const Chunk& b) {
    return std::tie(a.provider, a.pid, a.tid, a.timestamp, a.instance_id) <
           std::tie(b.provider, b.pid, b.tid, b.timestamp, b.instance_id);
  });
  std::set<std::string> losses;  // many processes may lose the same chunk
  const auto missing = [&](const Chunk& of, size_t number) {
    if (losses.size() == kMaxProblems) return;
    losses.insert(fmt::format("{}: chunk {} of {} is missing", TitleOf(of.provider), number + 1, of.total));
  };
  std::map<std::pair<Guid, std::vector<uint32_t>>, Manifest> found;
  const Chunk* first = nullptr;  // chunk 0 of the manifest that is being put together
  const Chunk* last = nullptr;
  bool skipping = false;  // up to the next chunk 0
  std::vector<uint32_t> texts;
  const auto close = [&] {
    if (first != nullptr && texts.size() < first->total) missing(*first, texts.size());
    first = nullptr;
  };
  for (const Chunk& chunk : chunks_) {
    const bool same_emitter =
        last != nullptr && last->provider == chunk.provider && last->pid == chunk.pid && last->tid == chunk.tid;
    last = &chunk;
    if (!same_emitter || chunk.number == 0) {
      close();
      skipping = false;
    }
    if (skipping) continue;
    if (chunk.number == 0) {
      first = &chunk;
      texts.clear();
    } else if (first == nullptr || chunk.number != texts.size() || chunk.total != first->total ||
               chunk.version != first->version) {
      if (first == nullptr) missing(chunk, 0);
      close();
      skipping = true;
      continue;
    }
    texts.push_back(chunk.text);
    if (texts.size() < first->total) continue;
    Manifest& manifest = found[{chunk.provider, texts}];
    if (manifest.texts.empty() ||
        std::tie(manifest.timestamp, manifest.instance_id) < std::tie(chunk.timestamp, chunk.instance_id)) {
      manifest = {chunk.provider, texts, chunk.timestamp, chunk.instance_id};
    }
    first = nullptr;
  }
  close();
  problems.insert(problems.end(), losses.begin(), losses.end());

  std::vector<Manifest> manifests;
  for (auto& entry : found) manifests.push_back(std::move(entry.second));
  std::sort(manifests.begin(), manifests.end(), [](const Manifest& a, const Manifest& b) {
    return std::tie(a.timestamp, a.instance_id) < std::tie(b.timestamp, b.instance_id);
  });
  return manifests;
}

std::vector<std::shared_ptr<const EventSchema>> EventSourceManifests::Finish(std::vector<std::string>& problems) {
  if (no_chunks_ > 0) problems.push_back(fmt::format("{} records with the id of manifests hold none", no_chunks_));
  if (dropped_ > 0) {
    problems.push_back(
        fmt::format("{} chunks of manifests were ignored: those before them take {} MiB", dropped_, kMaxBytes >> 20));
  }
  Providers providers;
  std::map<Guid, size_t> manifests_of;
  Schemas schemas;
  size_t parsed_bytes = 0;
  size_t memory = 0;
  size_t parsed = 0;
  size_t ignored = 0;
  size_t unlisted = 0;
  for (const Manifest& manifest : Assemble(problems)) {
    size_t size = 0;
    for (const uint32_t index : manifest.texts) size += texts_[index]->size();
    // Chunks that several manifests share count for each: they are parsed for each.
    if (parsed == kMaxManifests || parsed_bytes + size > kMaxBytes || memory > kMaxMemory) {
      ++ignored;
      continue;
    }
    ++parsed;
    parsed_bytes += size;
    std::string text;
    text.reserve(size);
    for (const uint32_t index : manifest.texts) text += *texts_[index];
    const std::string title = TitleOf(manifest.provider);
    auto result = ParseManifest(text, title, SchemaOrigin::kEventSource);
    if (!result.ok()) {
      problems.emplace_back(result.status().message());
      continue;
    }
    memory += result->memory;
    if (problems.size() + result->problems.size() <= kMaxProblems) {
      problems.insert(problems.end(), result->problems.begin(), result->problems.end());
    } else {
      unlisted += result->problems.size();
    }
    bool described = false;
    for (auto& schema : result->schemas) {
      // An EventSource speaks for itself only.
      if (schema->provider->guid != manifest.provider) continue;
      described = true;
      providers[manifest.provider] = schema->provider;
      schemas[{manifest.provider, schema->key.number, schema->key.first_version}] = std::move(schema);
    }
    if (!described) {
      problems.push_back(title + ": it describes no event of its provider");
      continue;
    }
    ++manifests_of[manifest.provider];
  }
  for (const auto& [provider, count] : manifests_of) {
    if (count == 1) continue;
    problems.push_back(
        fmt::format("{}: there are {} different ones; of an event that several describe, the one "
                    "written last counts",
                    TitleOf(provider), count));
  }
  if (unlisted > 0) problems.push_back(fmt::format("manifests of EventSources: {} more problems", unlisted));
  if (ignored > 0) problems.push_back(fmt::format("{} manifests of EventSources were ignored: too many", ignored));

  for (const Chunk& chunk : chunks_) {
    auto& provider = providers[chunk.provider];
    if (provider == nullptr) {
      const ProviderName* known = FindProvider(chunk.provider);
      provider = std::make_shared<const ProviderSchema>(
          ProviderSchema{chunk.provider, known == nullptr ? ToString(chunk.provider) : std::string(known->name), {}});
    }
  }
  for (const auto& [guid, provider] : providers) schemas[{guid, kEventSourceManifestId, 0}] = ChunkSchema(provider);

  std::vector<std::shared_ptr<const EventSchema>> list;
  for (auto& entry : schemas) list.push_back(std::move(entry.second));
  *this = {};
  return list;
}

}  // namespace etwpipe::schema
