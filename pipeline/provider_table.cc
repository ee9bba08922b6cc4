#include "pipeline/provider_table.h"

namespace etwpipe {

ProviderTable::ProviderTable() { (void)Intern(Guid{}); }

ProviderTable::~ProviderTable() {
  for (auto& block : blocks_) delete[] block.load(std::memory_order_relaxed);
}

std::optional<ProviderIndex> ProviderTable::Intern(const Guid& guid) {
  const std::lock_guard lock(mutex_);
  if (const auto found = index_.find(guid); found != index_.end()) return found->second;
  const uint32_t number = size_.load(std::memory_order_relaxed);
  if (number == kMaxProviders) return std::nullopt;
  auto& block = blocks_[number / kBlockSize];
  if (number % kBlockSize == 0) block.store(new Guid[kBlockSize], std::memory_order_release);
  block.load(std::memory_order_relaxed)[number % kBlockSize] = guid;
  size_.store(number + 1, std::memory_order_release);
  index_.emplace(guid, number);
  return number;
}

}  // namespace etwpipe
