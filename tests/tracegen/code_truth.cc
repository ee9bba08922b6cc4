#include "tests/tracegen/code_truth.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace etwpipe::tracegen {
namespace {

constexpr uint32_t kNone = BoundedList<int>::kNotKept;

int64_t FromOf(const MethodTruth& method) { return method.from.value_or(std::numeric_limits<int64_t>::min()); }

bool LivesAt(const MethodTruth& method, int64_t ticks) {
  return FromOf(method) <= ticks && ticks < method.to.value_or(std::numeric_limits<int64_t>::max());
}

bool SameRuntime(const std::optional<uint16_t>& a, const std::optional<uint16_t>& b) { return !a || !b || *a == *b; }

/// The methods of all processes, by id and by address.
class MethodIndex {
 public:
  explicit MethodIndex(const std::vector<MethodTruth>& methods) : methods_(methods) {
    for (uint32_t i = 0; i < methods.size(); ++i) {
      if (methods[i].learnt_by.empty()) continue;
      by_id_[{methods[i].process, methods[i].method_id}].push_back(i);
      by_address_.emplace_back(methods[i].process, methods[i].start, i);
      largest_ = std::max(largest_, methods[i].size);
    }
    std::sort(by_address_.begin(), by_address_.end());
  }

  void AnswerId(ReferenceTruth& reference) const {
    reference.outcome = Outcome::kUnknown;
    const auto found = by_id_.find({reference.process, reference.value});
    if (found == by_id_.end()) return;
    uint32_t later = kNone;
    uint32_t earlier = kNone;
    for (const uint32_t number : found->second) {
      const MethodTruth& method = methods_[number];
      if (!SameRuntime(method.clr_instance, reference.clr_instance)) continue;
      if (LivesAt(method, reference.ticks)) {
        ++reference.alive;
        if (reference.method == kNone || FromOf(method) >= FromOf(methods_[reference.method])) {
          reference.method = number;
        }
      } else if (FromOf(method) > reference.ticks) {
        if (later == kNone || FromOf(method) < FromOf(methods_[later])) later = number;
      } else if (earlier == kNone || *method.to > *methods_[earlier].to) {
        earlier = number;
      }
    }
    if (reference.alive != 0) {
      reference.outcome = reference.alive == 1 ? Outcome::kExact : Outcome::kAmbiguous;
    } else if (later != kNone) {
      reference.method = later;
      reference.outcome = Outcome::kBackfilled;
    } else if (earlier != kNone) {
      reference.method = earlier;
      reference.outcome = Outcome::kStale;
    }
  }

  void AnswerAddress(ReferenceTruth& reference) const {
    const std::tuple after{reference.process, reference.value, kNone};
    uint32_t later = kNone;
    for (auto at = std::upper_bound(by_address_.begin(), by_address_.end(), after); at != by_address_.begin();) {
      const auto& [process, start, number] = *--at;
      if (process != reference.process || reference.value - start >= largest_) break;
      const MethodTruth& method = methods_[number];
      if (reference.value - start >= method.size) continue;
      if (LivesAt(method, reference.ticks)) {
        if (reference.method == kNone || FromOf(method) > FromOf(methods_[reference.method])) {
          reference.method = number;
        }
      } else if (FromOf(method) > reference.ticks && FromOf(method) - reference.ticks <= kCodeSlack) {
        if (later == kNone || FromOf(method) < FromOf(methods_[later])) later = number;
      }
    }
    reference.outcome = reference.method != kNone ? Outcome::kExact
                        : later != kNone          ? Outcome::kBackfilled
                                                  : Outcome::kUnknown;
    if (reference.method == kNone) reference.method = later;
  }

 private:
  const std::vector<MethodTruth>& methods_;
  std::map<std::pair<uint32_t, uint64_t>, std::vector<uint32_t>> by_id_;
  std::vector<std::tuple<uint32_t, uint64_t, uint32_t>> by_address_;
  uint32_t largest_ = 0;
};

void ShareNames(std::vector<MethodTruth>& methods) {
  using Key = std::tuple<uint32_t, uint64_t, int32_t, std::string_view>;
  const auto key_of = [](const MethodTruth& method) {
    return Key{method.process, method.method_id, method.clr_instance ? *method.clr_instance : -1, method.name};
  };
  std::map<Key, std::pair<bool, bool>> named;
  for (const MethodTruth& method : methods) {
    auto& [verbose, jitting] = named[key_of(method)];
    verbose |= method.verbose;
    jitting |= method.jitting;
  }
  for (MethodTruth& method : methods) std::tie(method.verbose, method.jitting) = named[key_of(method)];
}

}  // namespace

void CodeTruth::AddCommon(const ReferenceTruth& reference) {
  if (methods.full() || references.entries().size() >= BoundedList<ReferenceTruth>::kLimit / 2) {
    references.AddUnkept();
  } else {
    references.Add(reference);
  }
}

void CompleteReferences(CodeTruth& truth) {
  ShareNames(truth.methods.entries());
  const MethodIndex index(truth.methods.entries());
  for (ReferenceTruth& reference : truth.references.entries()) {
    if (reference.outcome) continue;
    if (reference.kind == ReferenceKind::kId) {
      index.AnswerId(reference);
    } else {
      index.AnswerAddress(reference);
    }
  }
}

}  // namespace etwpipe::tracegen
