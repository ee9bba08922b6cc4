// Names of CLR types by TypeID: what BulkType events tell, which come after the events that need them
// (semantics.md 6.4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace etwpipe::facts {

/// One name as a BulkType event gives it.
struct TypeRecord {
  uint32_t pid = 0;
  uint64_t type_id = 0;
  int64_t timestamp = 0;  ///< raw ticks
  std::string name;
};

/// Built once, then read from any thread.
class TypeTable {
 public:
  /// Order of the records does not matter.
  static TypeTable Build(std::vector<TypeRecord> records);

  /// The name told last at or before `timestamp`, else the one told first: a type is used before it is told of. Empty
  /// if nobody tells. Lives as long as the table.
  std::string_view Find(uint32_t pid, uint64_t type_id, int64_t timestamp) const;

 private:
  struct Key {
    uint32_t pid;
    uint64_t type_id;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      return static_cast<size_t>((key.type_id ^ uint64_t{key.pid} << 40) * 0x9E3779B97F4A7C15u >> 16);
    }
  };

  std::vector<TypeRecord> records_;  // by pid, TypeID, time; of equal names in a row only the first
  std::unordered_map<Key, std::pair<size_t, size_t>, KeyHash> ranges_;
};

}  // namespace etwpipe::facts
