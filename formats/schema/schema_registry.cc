#include "formats/schema/schema_registry.h"

#include <xxhash.h>

#include <algorithm>

#include "formats/schema/extended_items.h"

namespace etwpipe::schema {

bool SchemaRegistry::IsClassic(HeaderKind kind) { return kind != HeaderKind::kEvent32 && kind != HeaderKind::kEvent64; }

std::shared_ptr<const EventSchema> SchemaRegistry::Ask(const SchemaRequest& request) const {
  for (const auto& supplier : suppliers_) {
    if (auto schema = supplier->Find(request)) return schema;
  }
  return nullptr;
}

bool SchemaRegistry::DependsOnPayload(const SchemaRequest& request) const {
  return std::any_of(suppliers_.begin(), suppliers_.end(),
                     [&](const auto& supplier) { return supplier->DependsOnPayload(request); });
}

const std::shared_ptr<const EventSchema>& SchemaLookup::FindShared(const EventHeader& row) {
  static const std::shared_ptr<const EventSchema> kNone;
  const bool classic = SchemaRegistry::IsClassic(row.kind);
  const bool opaque = row.kind == HeaderKind::kUnknown || row.kind == HeaderKind::kMessage ||
                      row.kind == HeaderKind::kError || !row.has(kHasProvider);
  if (opaque) return kNone;
  std::span<const std::byte> metadata;
  if (row.has(kHasExtended)) metadata = FindExtendedItem(row, ExtendedType::kTraceLogging);
  Key key;
  key.kind = uint64_t{row.provider} << 41 | uint64_t{classic} << 40 | uint64_t{row.version} << 24 |
             uint64_t{row.id} << 8 | row.opcode;
  if (!metadata.empty()) {
    const XXH128_hash_t hash = XXH3_128bits(metadata.data(), metadata.size());
    key.metadata_low = hash.low64;
    key.metadata_high = hash.high64;
  }
  if (last_ != nullptr && key == last_key_) return last_->schema;
  auto known = known_.find(key);
  if (known != known_.end() && !known->second.ask_again) {
    last_key_ = key;
    last_ = &known->second;
    return last_->schema;
  }
  const SchemaRequest request{row, trace_.provider_guid(row), metadata,
                              FindExtendedItem(row, ExtendedType::kProviderTraits)};
  if (known == known_.end()) {
    if (known_.size() >= SchemaRegistry::kMaxKinds) {
      known_.clear();
      last_ = nullptr;
      ++generation_;
    }
    known = known_.emplace(key, Known{nullptr, registry_.DependsOnPayload(request)}).first;
  }
  known->second.schema = registry_.Ask(request);
  return known->second.schema;
}

}  // namespace etwpipe::schema
