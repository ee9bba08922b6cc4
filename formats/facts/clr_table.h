// The CLR's runtimes, application domains, assemblies and modules by id and time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "formats/facts/clr_entities.h"
#include "formats/facts/process_spans.h"

namespace etwpipe::facts {

/// What one record says of one of them.
template <typename Entity>
struct ClrRecord {
  enum class Kind : uint8_t { kLoad, kUnload, kRundown };
  Kind kind = Kind::kLoad;
  int64_t timestamp = 0;  ///< raw ticks
  EventInstanceId record = 0;
  Entity entity;  ///< without its life
};

/// How far the rundown of one runtime came (the DC...Init and DC...Complete events).
struct ClrRundown {
  uint32_t pid = 0;
  std::optional<uint16_t> clr_instance;
  bool at_end = false;     ///< of the session; else at its start
  uint32_t begun = 0;      ///< Init events
  uint32_t completed = 0;  ///< Complete events
  uint64_t methods = 0;    ///< records of methods

  /// Something of it is missing: it was cut off, or its end was lost.
  bool incomplete() const { return completed < begun || (methods != 0 && completed == 0); }
};

struct ClrRecords {
  std::vector<ClrRecord<ClrRuntime>> runtimes;
  std::vector<ClrRecord<ClrAppDomain>> app_domains;
  std::vector<ClrRecord<ClrAssembly>> assemblies;
  std::vector<ClrRecord<ClrModule>> modules;
  std::vector<ClrRundown> rundowns;  ///< one per process, runtime and end of the session
};

/// Built once, then read from any thread. Lives follow semantics.md 7.2, rules 1 to 5, by id: a load begins one, an
/// unload ends it, what only rundown or an unload tells reaches back to the life before it or the start of the process.
class ClrTable {
 public:
  /// Records in any order; `processes` may be null: then every pid is one process.
  static ClrTable Build(ClrRecords records, const ProcessTable* processes);

  /// All of a kind by process, id, then time.
  const std::vector<ClrRuntime>& runtimes() const { return runtimes_; }
  const std::vector<ClrAppDomain>& app_domains() const { return app_domains_; }
  const std::vector<ClrAssembly>& assemblies() const { return assemblies_; }
  const std::vector<ClrModule>& modules() const { return modules_; }
  /// By pid, runtime, start before end.
  const std::vector<ClrRundown>& rundowns() const { return rundowns_; }

  /// The module that has the id at `time`, else the one that has it next, else the last that had it; null if none of
  /// the process instance ever had.
  const ClrModule* FindModule(uint32_t pid, uint64_t module_id, int64_t time) const;

 private:
  ProcessSpans spans_;
  std::vector<ClrRuntime> runtimes_;
  std::vector<ClrAppDomain> app_domains_;
  std::vector<ClrAssembly> assemblies_;
  std::vector<ClrModule> modules_;
  std::vector<uint32_t> module_spans_;  // of modules_
  std::vector<ClrRundown> rundowns_;
};

}  // namespace etwpipe::facts
