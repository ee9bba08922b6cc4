// Methods of the CLR by MethodID or code address, and time (semantics.md 7).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "formats/facts/clr_table.h"
#include "formats/facts/code_ranges.h"
#include "formats/facts/id_index.h"
#include "formats/facts/lookup_outcome.h"
#include "formats/facts/method_version.h"
#include "formats/facts/process_spans.h"

namespace etwpipe::facts {

/// `method` is null exactly if the outcome is kUnknown; else it lives as long as the table.
struct MethodHit {
  const MethodVersion* method = nullptr;
  LookupOutcome outcome = LookupOutcome::kUnknown;
};

/// Built once, then read from any thread. A lookup is logarithmic, whatever overlaps.
class MethodTable {
 public:
  /// Records in any order. `processes` and `modules` may be null: then every pid is one process, and no module has a
  /// name. `slack`: how many ticks before its load code may already run (semantics.md 7.2, rule 9).
  static MethodTable Build(MethodRecords records, const ProcessTable* processes, const ClrTable* modules,
                           int64_t slack);

  MethodTable(MethodTable&&) = default;
  MethodTable& operator=(MethodTable&&) = default;

  /// The code at `address`: exact, or backfilled within the slack, or unknown. In a 32-bit process only the low 32 bits
  /// count, of a value that they are zero- or sign-extended to.
  MethodHit FindAddress(uint32_t pid, uint64_t address, int64_t time) const;

  /// The method of that id, its hot part: alive at `time`, else the next one to come, else the last one gone. Its tiers
  /// and ReJIT versions are one method: the newest is given, as exact. kAmbiguous: different methods, of several
  /// runtimes when `clr_instance` is not known. A runtime that is known meets its own versions and those of V0 records.
  MethodHit FindId(uint32_t pid, std::optional<uint16_t> clr_instance, uint64_t method_id, int64_t time) const;

  /// By process instance, then in the order in which the trace tells of them.
  const std::vector<MethodVersion>& versions() const { return versions_; }
  /// Whether records of the CLR's methods are there for the process at that time.
  bool KnowsProcess(uint32_t pid, int64_t time) const { return spans_.Find(pid, time) != ProcessSpans::kNone; }
  /// Bytes of memory in use.
  uint64_t memory() const;

 private:
  MethodTable() = default;

  static constexpr uint32_t kAnyRuntime = 0xFFFFFFFF;
  static constexpr uint32_t kNoRuntime = 0xFFFFFFFE;  // only what V0 records tell of
  static constexpr uint32_t kSplit = 0xFFFFFFFD;      // as a note: each runtime has a line of its own
  static constexpr size_t kMaxRuntimes = 16;  // that share one MethodID; further ones are found when none is asked for

  void IndexAddresses(uint32_t span, size_t first);
  void IndexIds(uint32_t span, size_t first, std::vector<IdIndex::Entry>& ids);
  TimeLines::Life LifeOf(uint32_t version) const;
  void KeepLives();
  MethodHit HitOf(const TimeLines::Pick& pick) const;

  std::unique_ptr<StringPool> strings_;
  std::vector<MethodVersion> versions_;
  // The lives of versions_ once more, close together: a lookup reads nothing else of a version.
  struct FromTo {
    int64_t from = 0;
    int64_t to = 0;
  };
  std::vector<FromTo> lives_;
  ProcessSpans spans_;
  std::vector<bool> is_32bit_;  // by span
  CodeRanges ranges_;           // a group is a span
  TimeLines id_lines_;
  IdIndex ids_;  // a group is a span, a number a line of id_lines_
  int64_t slack_ = 0;
};

}  // namespace etwpipe::facts
