// Finds the schema of an event: asks suppliers in order, remembers the answers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "formats/schema/event_schema.h"
#include "pipeline/diagnostics.h"
#include "pipeline/trace_context.h"

namespace etwpipe::schema {

/// What a supplier may look at. The views are valid during the call.
struct SchemaRequest {
  const EventHeader& row;
  const Guid& provider;                 ///< of row.provider
  std::span<const std::byte> metadata;  ///< TraceLogging metadata item; empty if the event has none
  std::span<const std::byte> traits;    ///< provider traits item; empty if the event has none
};

/// Gives schemas. Const and safe from any thread once the survey is over.
class SchemaSupplier {
 public:
  SchemaSupplier() = default;
  SchemaSupplier(const SchemaSupplier&) = delete;
  SchemaSupplier& operator=(const SchemaSupplier&) = delete;
  virtual ~SchemaSupplier() = default;
  /// The schema of the event, or null.
  virtual std::shared_ptr<const EventSchema> Find(const SchemaRequest& request) const = 0;
  /// Whether two events of the same provider, id, opcode, version and metadata may get different schemas.
  virtual bool DependsOnPayload(const SchemaRequest&) const { return false; }
};

/// Suppliers in the order they are asked. Fixed before the first event; lookups from any thread.
class SchemaRegistry {
 public:
  /// A lookup that has seen more distinct kinds than this forgets them: a hostile file cannot fill the memory.
  static constexpr size_t kMaxKinds = 1 << 16;

  void Add(std::shared_ptr<const SchemaSupplier> supplier) { suppliers_.push_back(std::move(supplier)); }

  /// Whether the record is told apart by opcode (SYSTEM, PERFINFO, COMPACT, FULL, INSTANCE) and not by id.
  static bool IsClassic(HeaderKind kind);

 private:
  friend class SchemaLookup;
  std::shared_ptr<const EventSchema> Ask(const SchemaRequest& request) const;
  bool DependsOnPayload(const SchemaRequest& request) const;

  std::vector<std::shared_ptr<const SchemaSupplier>> suppliers_;
};

/// One thread's way into the registry: one hash per event, no lock. A schema it gave lives until generation() changes.
class SchemaLookup {
 public:
  SchemaLookup(const SchemaRegistry& registry, const TraceContext& trace) : registry_(registry), trace_(trace) {}

  /// The schema of the event, or null where nobody knows it.
  const EventSchema* Find(const EventHeader& row) { return FindShared(row).get(); }
  /// The same, for whoever keeps it. The reference lives until the next call.
  const std::shared_ptr<const EventSchema>& FindShared(const EventHeader& row);
  /// Changes when schemas that Find() gave before are gone: whoever keeps something by schema forgets it then.
  uint64_t generation() const { return generation_; }

 private:
  struct Key {
    uint64_t kind = 0;  // provider, id, opcode, version, whether classic
    uint64_t metadata_low = 0;
    uint64_t metadata_high = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      return static_cast<size_t>((key.kind ^ key.metadata_low) * 0x9E3779B97F4A7C15u);
    }
  };

  struct Known {
    std::shared_ptr<const EventSchema> schema;
    bool ask_again = false;  // the answer depends on the payload
  };

  const SchemaRegistry& registry_;
  const TraceContext& trace_;
  std::unordered_map<Key, Known, KeyHash> known_;
  Key last_key_;
  const Known* last_ = nullptr;  // null where it must not be used again
  uint64_t generation_ = 0;
};

}  // namespace etwpipe::schema
