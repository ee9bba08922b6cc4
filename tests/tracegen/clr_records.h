// .NET events of planned cases: each is later than everything before, and is told to the truth.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/tracegen/clr_kinds.h"

namespace etwpipe::tracegen {

/// A process with a runtime in it.
struct CodePlace {
  ProcessIndex process = 0;
  uint16_t clr_instance = 0;
};

struct PlannedModule {
  uint64_t id = 0;
  ModuleTruth truth;  ///< its paths and PDB identities
  uint32_t number = BoundedList<ModuleTruth>::kNotKept;
};

/// One version of a method's code, as its records have it.
struct PlannedCode {
  CodePlace place;
  uint64_t id = 0;
  uint64_t module = 0;
  uint64_t start = 0;
  uint32_t size = 0x80;
  uint32_t token = 0;
  uint32_t flags = 0x8;  ///< MethodFlags: jitted
  uint64_t rejit = 0;
  std::string type;
  std::string name;
  std::string signature = "instance void  (int32)";
  std::optional<int64_t> from;  ///< lower bound of its life if no load tells it: end of what was at its place before
  bool told = false;            ///< a record of it has been written
  uint32_t truth = BoundedList<MethodTruth>::kNotKept;
};

enum class MethodEvent : uint8_t { kLoad, kUnload, kDcStart, kDcEnd };
enum class Form : uint8_t { kShort, kVerbose };
enum class RundownMark : uint8_t { kStartInit, kStartComplete, kEndInit, kEndComplete };
enum class ModuleEvent : uint8_t { kLoad, kUnload, kDcStart, kDcEnd };
/// Events that name a method by its id alone.
enum class IdEvent : uint8_t { kMap, kDcStartMap, kDcEndMap, kDetails, kStubHit, kEnter, kLeave, kTailcall };

/// What the next lookups shall answer.
struct Expected {
  const PlannedCode* code = nullptr;
  std::optional<Outcome> outcome = Outcome::kUnknown;  ///< none: whatever the rules say, see CompleteReferences()
  uint32_t alive = 0;                                  ///< versions of an id
};

constexpr Expected kUnknown;
/// The place may be taken again within kCodeSlack.
constexpr Expected kByTheRules{nullptr, std::nullopt, 0};
constexpr Expected Exact(const PlannedCode& code) { return {&code, Outcome::kExact, 0}; }
constexpr Expected ExactId(const PlannedCode& code) { return {&code, Outcome::kExact, 1}; }
constexpr Expected AmbiguousId(const PlannedCode& code, uint32_t alive) { return {&code, Outcome::kAmbiguous, alive}; }
constexpr Expected Backfilled(const PlannedCode& code) { return {&code, Outcome::kBackfilled, 0}; }
constexpr Expected Stale(const PlannedCode& code) { return {&code, Outcome::kStale, 0}; }

class ClrRecords {
 public:
  explicit ClrRecords(Simulation& simulation);

  /// Names the case that the next references belong to.
  void set_story(std::string_view story) { story_ = story; }

  /// A method record of event version 0, 1 or 2. Adds the code to the truth if it is new to it; a load sets where its
  /// life begins, an unload where it ends. Returns the record's ticks.
  int64_t Method(MethodEvent event, PlannedCode& code, Form form = Form::kVerbose, uint8_t version = 2);
  /// Ends a life that no unload has ended.
  void Close(const PlannedCode& code, int64_t ticks);
  void Mark(RundownMark mark, const CodePlace& place);
  void Runtime(const CodePlace& place, bool rundown);
  /// Version 2, with the PDB identities; the load is followed by DomainModuleLoad.
  int64_t Module(ModuleEvent event, const CodePlace& place, PlannedModule& module);
  /// ILStubGenerated for code that is loaded next.
  void StubGenerated(const PlannedCode& code);

  /// An event with an id; returns the number of the reference. The runtime is left out where the event has none.
  uint32_t Refer(IdEvent event, const CodePlace& place, uint64_t id, const Expected& expected, uint64_t rejit = 0);
  /// SampledProfile.
  uint32_t Sample(ProcessIndex process, uint64_t address, const Expected& expected);
  /// ExceptionThrown at the first address, then CLRStackWalk of all.
  void Throw(const CodePlace& place, std::span<const std::pair<uint64_t, Expected>> frames);
  /// For what could not be said when it was written.
  void SetExpected(uint32_t reference, const Expected& expected);

 private:
  struct KindRow {
    ClrProvider provider;
    uint16_t id;
    uint8_t opcode;
    uint16_t task;
    uint64_t keyword;
    uint8_t level = 4;
  };

  ClrKind& KindOf(const KindRow& row, uint8_t version);
  /// Where the process's thread runs now, with all that is written already in the past.
  uint16_t Enter(ProcessIndex process);
  int64_t Write(const KindRow& row, uint8_t version, ProcessIndex process);
  int64_t WriteCall(IdEvent event, ProcessIndex process, uint64_t id);
  uint32_t Add(std::string_view event, ReferenceTruth reference, const Expected& expected);

  Simulation& sim_;
  std::string_view story_;
  std::map<std::tuple<ClrProvider, uint16_t, uint8_t>, ClrKind> kinds_;
  etl::PayloadWriter payload_;
  SystemKind sampled_profile_;
  std::vector<etl::TraceLoggingSchema> call_schemas_;
  std::vector<std::byte> call_traits_;
  std::vector<EventKind> call_kinds_;
};

}  // namespace etwpipe::tracegen
