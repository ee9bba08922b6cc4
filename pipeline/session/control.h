// What callbacks answer, and what a session answers.
#pragma once

#include <cstdint>

namespace etwpipe::session {

/// Answer of a callback (semantics.md 1.5).
enum class Control : uint8_t {
  kContinue = 1,  ///< go on
  kFailure = 2,   ///< stop the session: ResultCode::kAnalysisError
  kCancel = 4,    ///< stop the session: ResultCode::kCancelled
  kBlock = 8,     ///< the members behind this one of the group do not get this call; the session goes on
};

/// How a session ended. The numbers are those of the C++ Build Insights SDK (semantics.md 1.5); those that need Windows
/// never occur here.
enum class ResultCode : uint8_t {
  kSuccess = 0,
  kAnalysisError = 1,  ///< a callback failed, threw, or injected what cannot be injected
  kCancelled = 2,
  kInvalidInputFile = 3,   ///< no path, or the file is no trace
  kInvalidOutputFile = 4,  ///< no path, the input itself, or it could not be written
  kMissingAnalysisCallback = 5,
  kMissingRelogCallback = 6,
  kOpenInputFile = 7,  ///< not there, or no permission
  kProcessTrace = 8,   ///< reading failed halfway
  kStartRelogger = 9,
  kDroppedEvents = 10,
  kUnsupportedOs = 11,
  kInvalidSessionName = 12,
  kPrivileges = 13,
  kGuid = 14,
  kTempDirectory = 15,
  kTempDirectoryCreation = 16,
  kStartSystemTrace = 17,
  kStartMsvcTrace = 18,
  kStopSystemTrace = 19,
  kStopMsvcTrace = 20,
  kSessionDirectory = 21,
  kMsvcTraceFile = 22,
  kMergeTraces = 23,
  kUnknown = 24,  ///< a defect of this library, or no memory
};

}  // namespace etwpipe::session
