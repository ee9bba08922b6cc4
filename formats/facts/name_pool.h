// Texts that many records repeat, kept once.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>

namespace etwpipe::facts {

/// Grows only. What Intern() gave lives as long as the pool, moved ones included.
class NamePool {
 public:
  std::string_view Intern(std::string_view name) {
    const auto found = names_.find(name);
    if (found != names_.end()) return *found;
    bytes_ += name.size();
    return *names_.emplace(name).first;
  }
  /// Length of all names together.
  size_t bytes() const { return bytes_; }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  };
  std::unordered_set<std::string, Hash, std::equal_to<>> names_;
  size_t bytes_ = 0;
};

}  // namespace etwpipe::facts
