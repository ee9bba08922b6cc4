// What a generated trace tells of .NET code: methods and their lives, modules, rundowns, and what each event that names
// code by an id or an address stands for. The rules are those of semantics.md section 7.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pipeline/guid.h"
#include "tests/tracegen/bounded_list.h"

namespace etwpipe::tracegen {

/// One version of a method's code. Ticks are raw timestamps of records.
struct MethodTruth {
  uint32_t process = 0;  ///< index in World::processes: tells two processes of one pid apart
  uint32_t pid = 0;
  std::optional<uint16_t> clr_instance;  ///< none in records of version 0
  uint64_t method_id = 0;
  std::string method_namespace;
  std::string name;
  std::string signature;
  uint64_t start = 0;
  uint32_t size = 0;
  uint32_t flags = 0;  ///< MethodFlags: tier and extent are parts of it
  uint64_t rejit = 0;
  std::optional<int64_t> from;  ///< none: the process's start, or before the trace
  std::optional<int64_t> to;    ///< first tick of not being there; none: the process's or the trace's end
  std::string_view learnt_by;   ///< name of the first method record that tells of it; empty if none does
  bool verbose = false;         ///< some method record of this MethodID in this runtime has the names
  bool jitting = false;         ///< a MethodJittingStarted of this MethodID has them
};

enum class ReferenceKind : uint8_t { kId, kAddress };

/// What a lookup must answer; the words are those of formats/facts/lookup_outcome.h.
enum class Outcome : uint8_t { kExact, kBackfilled, kStale, kAmbiguous, kUnknown };

/// One MethodID or code address in an event.
struct ReferenceTruth {
  std::string_view event;  ///< "SampledProfile", "CLRStackWalk", ...
  std::string_view story;  ///< which planned case it belongs to; empty for those that just happened
  int64_t ticks = 0;
  uint16_t cpu = 0;
  uint32_t process = 0;  ///< index in World::processes
  uint32_t pid = 0;
  uint32_t tid = 0;
  ReferenceKind kind = ReferenceKind::kId;
  uint32_t frame = 0;                    ///< place of the address in a stack
  std::optional<uint16_t> clr_instance;  ///< none where the event has none
  uint64_t value = 0;
  uint32_t alive = 0;                            ///< how many versions live at that time, for an id
  uint32_t method = BoundedList<int>::kNotKept;  ///< number of the expected MethodTruth; kNotKept if unknown
  std::optional<Outcome> outcome;                ///< none until CompleteReferences()
};

struct ModuleTruth {
  uint32_t pid = 0;
  uint16_t clr_instance = 0;
  uint64_t module_id = 0;
  std::string il_path;
  std::string native_path;
  Guid pdb_guid;
  uint32_t pdb_age = 0;
  std::string pdb_path;
  Guid native_pdb_guid;
  uint32_t native_pdb_age = 0;
  std::string native_pdb_path;
  std::optional<int64_t> load;
  std::optional<int64_t> unload;
};

struct RundownTruth {
  uint32_t pid = 0;
  uint16_t clr_instance = 0;
  bool end = false;       ///< of the session's end rather than its start
  bool complete = false;  ///< Complete follows Init
};

struct CodeTruth {
  BoundedList<MethodTruth> methods;
  BoundedList<ReferenceTruth> references;
  BoundedList<ModuleTruth> modules;
  BoundedList<RundownTruth> rundowns;

  /// For references that happen by the thousand: leaves half of the list to the planned ones, and gives up when the
  /// list of methods does, since nobody could say what is meant from then on.
  void AddCommon(const ReferenceTruth& reference);
};

constexpr int64_t kCodeSlack = 100'000;  ///< ticks that code may run before its load is told of: 10 ms (rule 9)

/// Answers what has no outcome yet, and tells the versions of one MethodID which of them names all.
void CompleteReferences(CodeTruth& truth);

}  // namespace etwpipe::tracegen
