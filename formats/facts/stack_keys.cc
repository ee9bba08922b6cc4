#include "formats/facts/stack_keys.h"

#include <algorithm>
#include <tuple>

namespace etwpipe::facts {

using Kind = StackDefinition::Kind;

StackKeys::StackKeys(std::vector<StackDefinition> definitions) : definitions_(std::move(definitions)) {
  std::stable_sort(definitions_.begin(), definitions_.end(), [](const StackDefinition& a, const StackDefinition& b) {
    return std::tie(a.key, a.time) < std::tie(b.key, b.time);
  });
}

StackId StackKeys::Find(uint64_t key, int64_t time) const {
  const auto next = std::lower_bound(definitions_.begin(), definitions_.end(), std::tie(key, time),
                                     [](const StackDefinition& definition, const auto& wanted) {
                                       return std::tie(definition.key, definition.time) < wanted;
                                     });
  const bool has_next = next != definitions_.end() && next->key == key;
  const bool is_alive = next != definitions_.begin() && (next - 1)->key == key && (next - 1)->kind != Kind::kDelete;
  // A Create behind the use begins another life, unless nothing is known of the one before: then the records of two
  // processors crossed.
  if (has_next && (next->kind != Kind::kCreate || next->time == time || !is_alive)) return next->stack;
  return is_alive ? (next - 1)->stack : kNoStack;
}

}  // namespace etwpipe::facts
