// What a survey could not use, counted until it may be reported.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "pipeline/diagnostics.h"

namespace etwpipe::facts {

/// Counts by diagnostic and reason. One thread at a time.
class SurveyFaults {
 public:
  /// `reason` is a literal that says what was wrong; empty: nothing was.
  void Count(DiagnosticId id, std::string_view reason, uint64_t count = 1) {
    if (!reason.empty() && count != 0) counts_[{id, reason}] += count;
  }
  /// A record that ends before what every version of it has.
  void Bad(std::string_view reason) { Count(DiagnosticId::kFactBad, reason); }
  /// A record or name beyond the bound of its table.
  void Dropped(std::string_view reason, uint64_t count = 1) { Count(DiagnosticId::kFactsDropped, reason, count); }

  /// Reports all and starts anew; `diagnostics` may be null.
  void Report(Diagnostics* diagnostics) {
    for (const auto& [fault, count] : counts_) {
      if (diagnostics == nullptr) break;
      diagnostics->Add(fault.first, {}, fault.second);
      diagnostics->AddCount(fault.first, count - 1);
    }
    counts_.clear();
  }

 private:
  std::map<std::pair<DiagnosticId, std::string_view>, uint64_t> counts_;
};

}  // namespace etwpipe::facts
