// Bad data, counted: what was wrong, how often, and where it was first seen. Never ends a run.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etwpipe {

enum class Severity : uint8_t { kInfo, kError, kDataLoss };

/// Everything that can be wrong with data. Text ids (see DiagnosticInfo) are a contract and are never reused.
enum class DiagnosticId : uint8_t {
  kBufferSkipped,           ///< buffer-skipped
  kRecordBad,               ///< record-bad
  kFileTruncated,           ///< file-truncated
  kTrailingBytes,           ///< trailing-bytes
  kInflateFailed,           ///< inflate-failed
  kExtendedItemBad,         ///< extended-item-bad
  kUnknownHeader,           ///< unknown-header
  kTimeStepBack,            ///< time-step-back
  kHeaderUnfinalised,       ///< header-unfinalised
  kBuffersWrittenDiffers,   ///< buffers-written-differs
  kSecondFileHeader,        ///< second-file-header
  kBackgroundBuffer,        ///< buffer-not-records
  kTooManyProviders,        ///< too-many-providers
  kSequenceRepeats,         ///< sequence-repeats
  kEventsLost,              ///< events-lost
  kBuffersLost,             ///< buffers-lost
  kIdMapMismatch,           ///< id-map-mismatch
  kIdMapBad,                ///< id-map-bad
  kArchiveTruncated,        ///< archive-truncated
  kArchiveFrameBad,         ///< archive-frame-bad
  kArchiveEncodingUnknown,  ///< archive-encoding-unknown
  kUnattributed,            ///< unattributed
  kAnnotationDropped,       ///< annotation-dropped
  kNotExact,                ///< not-exact
  kFileShrank,              ///< file-shrank
  kBufferSizeBad,           ///< buffer-size-bad
  kSchemaUnknown,           ///< schema-unknown
  kSchemaBad,               ///< schema-bad
  kPayloadShort,            ///< payload-short
  kPayloadExtra,            ///< payload-extra
  kPayloadBad,              ///< payload-bad
  kClrIdAlias,              ///< clr-id-alias
  kRundownIncomplete,       ///< rundown-incomplete
  kMethodBad,               ///< method-bad
  kStacksDropped,           ///< stacks-dropped
  kStackKeyUnknown,         ///< stack-key-unknown
  kStackOrphan,             ///< stack-orphan
  kSymbolsBad,              ///< symbols-bad
  kActivityUnterminated,    ///< activity-unterminated
  kActivityTruncatedStart,  ///< activity-truncated-start
  kActivityUnbalanced,      ///< activity-unbalanced
  kActivityNegative,        ///< activity-negative
  kSwitchesLost,            ///< switches-lost
  kCallsUnordered,          ///< calls-unordered
  kOsEventUnattributed,     ///< os-event-unattributed
  kMethodUnloadOnly,        ///< method-unload-only
  kMethodAfterExit,         ///< method-after-exit
  kMethodUnknown,           ///< method-unknown
  kFactBad,                 ///< fact-bad
  kFactsDropped,            ///< facts-dropped
  kInjectedDropped,         ///< injected-dropped
  kNotRestored,             ///< not-restored
  kCount,
};

struct DiagnosticInfo {
  std::string_view id;  ///< text id
  Severity severity;
  std::string_view help;  ///< one line for a person
};
const DiagnosticInfo& InfoOf(DiagnosticId id);
std::string_view ToString(Severity severity);
/// The diagnostic with that text id.
std::optional<DiagnosticId> DiagnosticFromText(std::string_view id);

/// Where in the input.
struct DiagnosticPlace {
  uint64_t offset = 0;  ///< bytes from the start of the file
  uint64_t length = 0;  ///< bytes affected; 0 when unknown
};

/// A damaged range of the input, kept as data by outputs that can hold it.
struct DamagedRange {
  DiagnosticId id;
  DiagnosticPlace place;
  std::string reason;
};

/// Counted diagnostics of one run. All members may be called from any thread; what is reported does not depend on
/// the order of the calls. Memory is bounded: places beyond kMaxRanges are counted only.
class Diagnostics {
 public:
  static constexpr size_t kMaxRanges = 4096;

  struct Entry {
    DiagnosticId id;
    uint64_t count = 0;
    std::optional<uint64_t> first_offset;  ///< lowest file offset seen
    std::string text;                      ///< reason at that place, or the general help
  };

  /// Counts one, with the place and the reason.
  void Add(DiagnosticId id, DiagnosticPlace place, std::string_view reason);
  /// Counts `count` occurrences that have no place.
  void AddCount(DiagnosticId id, uint64_t count);

  /// One entry per id that occurred, in the order of DiagnosticId.
  std::vector<Entry> entries() const;
  uint64_t count(DiagnosticId id) const;
  /// Ranges of severity error or data-loss by offset; the first kMaxRanges by offset.
  std::vector<DamagedRange> ranges() const;

 private:
  static constexpr size_t kIds = static_cast<size_t>(DiagnosticId::kCount);
  mutable std::mutex mutex_;
  std::array<uint64_t, kIds> counts_{};
  std::array<std::optional<DamagedRange>, kIds> first_;
  std::vector<DamagedRange> ranges_;  // a max-heap by offset once full
};

}  // namespace etwpipe
