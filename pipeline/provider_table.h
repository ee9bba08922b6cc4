// Provider GUIDs of a trace as small numbers.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "pipeline/event.h"
#include "pipeline/guid.h"

namespace etwpipe {

/// GUID <-> ProviderIndex, append only, usable from any thread. Index 0 is the null GUID. The numbering depends on who
/// asked first and must not reach any output. Bounded: a hostile file cannot make it grow past kMaxProviders.
class ProviderTable {
 public:
  static constexpr uint32_t kMaxProviders = 1 << 18;

  ProviderTable();
  ~ProviderTable();
  ProviderTable(const ProviderTable&) = delete;
  ProviderTable& operator=(const ProviderTable&) = delete;

  /// The number of `guid`, new if need be; nullopt when the table is full. Takes a lock: callers keep a small cache.
  std::optional<ProviderIndex> Intern(const Guid& guid);
  /// The GUID of a number Intern() gave; lock-free. The reference lives as long as the table.
  const Guid& guid(ProviderIndex index) const {
    return blocks_[index / kBlockSize].load(std::memory_order_acquire)[index % kBlockSize];
  }
  /// How many numbers are given out.
  uint32_t size() const { return size_.load(std::memory_order_acquire); }

 private:
  static constexpr uint32_t kBlockSize = 1024;
  std::atomic<Guid*> blocks_[kMaxProviders / kBlockSize] = {};
  std::atomic<uint32_t> size_{0};
  std::mutex mutex_;
  std::unordered_map<Guid, ProviderIndex> index_;
};

}  // namespace etwpipe
