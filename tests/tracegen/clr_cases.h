// Planned cases of .NET code that no recording at hand holds: each is a short story in processes of its own, in which
// every record is later than the one before, so that what each lookup must answer is known when it is written.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/tracegen/clr_records.h"
#include "tests/tracegen/kernel_lifetimes.h"

namespace etwpipe::tracegen {

constexpr uint64_t kPlannedCode = 0x00007FFC30000000;  ///< far from all images and the code of other processes
constexpr uint64_t kPlannedIds = 0x00007FFC20000000;

/// MethodFlags, semantics.md 6.2.
constexpr uint32_t kFlagDynamic = 0x1;
constexpr uint32_t kFlagJitted = 0x8;
constexpr uint32_t kFlagHelper = 0x10;
constexpr uint32_t kFlagCold = 0x10000000;

class ClrCases : public Topic {
 public:
  ClrCases(Simulation& simulation, KernelLifetimes& lifetimes);

  void Begin() override;
  /// The next story; after the last one, dynamic methods and profiled calls again and again.
  void Step() override;
  void End() override;
  uint64_t end_size() const override;

 private:
  PlannedCode& Make(const CodePlace& place, std::string_view name, uint64_t start, uint32_t size = 0x80);
  /// The code is alive and alone: events of its address and id. Returns the numbers of two and two references.
  std::array<uint32_t, 4> ReferExact(const PlannedCode& code);
  /// Loads, refers, and lets it be.
  PlannedCode& LoadNew(const CodePlace& place, std::string_view name, uint64_t start, uint32_t size = 0x80);
  /// False when all have been told.
  bool RunNextStory();

  // Stories that are told once.
  void ShortForms();
  void LostUnload();
  void ReusedId();
  void Tiers();
  void Rejit();
  void HotAndCold();
  void LateLoad();
  void KnownFromRundown();
  void HelpersAndStubs();
  void Pointer32();
  void TwoRuntimes();
  void ReusedPid();
  void ModuleUnload();
  // Stories that go on.
  void ReuseSlot();
  void ProfiledCalls();

  Simulation& sim_;
  KernelLifetimes& lifetimes_;
  ClrRecords records_;
  size_t next_story_ = 0;
  uint32_t next_token_ = 0;
  uint64_t next_id_;
  uint64_t next_dynamic_ = 0;
  CodePlace main_, first_, second_, narrow_, reborn_;
  std::deque<PlannedCode> codes_;  // references to its elements stay valid
  PlannedModule contoso_, plugin_;
  std::vector<PlannedCode*> at_start_verbose_, at_start_short_;  // what the rundown of the session's start lists
  std::vector<PlannedCode*> at_end_verbose_, at_end_short_;      // and that of its end
  std::vector<PlannedCode*> functions_;                          // what the profiler sees
  PlannedCode* untold_ = nullptr;                                // known from its unload
  PlannedCode* start_only_ = nullptr;                            // its runtime's last rundown is cut off
  std::array<std::optional<PlannedCode>, 4> slots_;              // code at places that are used again and again
  std::vector<std::pair<uint32_t, Expected>> pending_;           // what can be said when the last rundown is written
};

}  // namespace etwpipe::tracegen
