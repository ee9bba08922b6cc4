// Analysing and relogging a trace through callbacks: the public entry points for C++ (semantics.md 1.4 to 1.8).
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "pipeline/session/analyzer.h"
#include "pipeline/session/build_events.h"
#include "pipeline/session/control.h"
#include "pipeline/session/match.h"
#include "pipeline/session/retention.h"

namespace etwpipe::session {

/// What a session did.
struct SessionCounts {
  uint64_t events = 0;        ///< events shown in the last pass
  uint64_t injected = 0;      ///< events written with InjectEvent
  uint64_t clamped = 0;       ///< of these, events whose timestamp lay outside the trace
  uint64_t retained = 0;      ///< records of the input in the output
  uint64_t events_lost = 0;   ///< when the trace was recorded
  uint64_t buffers_lost = 0;  ///< when the trace was recorded
  uint64_t damage = 0;        ///< diagnostics of severity error or data-loss
};

struct SessionResult {
  ResultCode code = ResultCode::kSuccess;
  std::string message;  ///< what went wrong, where and what to do; empty for success
  SessionCounts counts;

  bool ok() const { return code == ResultCode::kSuccess; }
};

/// Reads `input`, an .etl or .etwp (UTF-8 path), `passes` times and shows it to the analyzers. With 0 passes they are
/// told only that the analysis begins and ends. Callbacks come from this thread.
SessionResult Analyze(const std::string& input, unsigned passes, const AnalyzerGroup& analyzers);

/// The same for analyzers by reference.
template <typename... Analyzers>
requires(std::is_base_of_v<IAnalyzer, Analyzers>&&...) SessionResult
    Analyze(const std::string& input, unsigned passes, Analyzers&... analyzers) {
  return Analyze(input, passes, AnalyzerGroup{static_cast<IAnalyzer*>(&analyzers)...});
}

/// Reads `input`, shows it `passes` times to the analyzers and once to the reloggers, and writes the .etl `output`: the
/// records of `input` that `retention` keeps, with their instance ids, and what was injected. `output` is replaced if
/// it exists, and appears only when the session succeeded. Callbacks come from this thread.
SessionResult Relog(const std::string& input, const std::string& output, unsigned passes, RetentionFlags retention,
                    const AnalyzerGroup& analyzers, const ReloggerGroup& reloggers);

}  // namespace etwpipe::session
