// Methods of the CLR by code address and time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/facts/lookup_outcome.h"

namespace etwpipe::facts {

/// One piece of code of a method, from when to when it stood at its address.
struct MethodVersion {
  uint32_t pid = 0;
  uint64_t start_address = 0;
  uint32_t size = 0;
  int64_t from = 0;
  int64_t to = 0;
  std::string full_name;
  std::string module_name;

  std::string_view module() const { return module_name; }
};
inline std::string FullName(const MethodVersion& method) { return method.full_name; }

struct MethodHit {
  const MethodVersion* method = nullptr;
  LookupOutcome outcome = LookupOutcome::kUnknown;
};

/// Built once, then read from any thread.
class MethodTable {
 public:
  MethodHit FindAddress(uint32_t pid, uint64_t address, int64_t time) const {
    for (const MethodVersion& method : versions_) {
      if (method.pid == pid && address >= method.start_address && address - method.start_address < method.size &&
          time >= method.from && time <= method.to) {
        return {&method, LookupOutcome::kExact};
      }
    }
    return {};
  }
  const std::vector<MethodVersion>& versions() const { return versions_; }

 private:
  std::vector<MethodVersion> versions_;
};

}  // namespace etwpipe::facts
