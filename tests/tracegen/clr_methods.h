// .NET code: runtimes, modules, methods; jitting, tiering, unloading and rundown.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "tests/tracegen/clr_kinds.h"
#include "tests/tracegen/cpu_events.h"

namespace etwpipe::tracegen {

struct ClrModule {
  uint64_t id = 0;
  uint64_t assembly = 0;
  std::u16string assembly_name;
  std::u16string il_path;
  std::u16string pdb_path;
  Guid pdb_guid;
};

/// One version of a method's code.
struct ClrMethod {
  uint64_t id = 0;
  uint64_t address = 0;
  uint32_t size = 0;
  uint32_t token = 0;
  uint32_t flags = 0;
  uint32_t module = 0;     ///< index
  uint32_t type_name = 0;  ///< indices into the pools of ClrMethods
  uint32_t method_name = 0;
  uint32_t signature = 0;
  uint32_t truth = BoundedList<MethodTruth>::kNotKept;
  uint32_t tier() const { return flags >> 7 & 7; }
};

struct ClrRuntime {
  uint64_t app_domain = 0;
  std::vector<ClrModule> modules;
  std::vector<ClrMethod> methods;    ///< live ones, in no order
  std::vector<ClrMethod> compiling;  ///< being jitted
  uint64_t next_id = 0;
  uint64_t next_code = 0;
  bool desktop = false;  ///< .NET Framework rather than .NET
};

class ClrMethods : public Topic, public CodeMap {
 public:
  explicit ClrMethods(Simulation& simulation);

  void Begin() override;
  void Step() override;
  void Resume(uint32_t code, uint64_t a, uint64_t b) override;
  void ProcessStarted(ProcessIndex process) override;
  void ProcessEnded(ProcessIndex process) override;
  void End() override;
  uint64_t end_size() const override;
  uint64_t PickCode(ProcessIndex process) override;
  /// An address in one of the runtime's methods, 0 if it has none.
  uint64_t PickCode(const ClrRuntime& runtime);

  /// A living managed process, or kIdleProcess when there is none.
  ProcessIndex PickManaged();
  /// Null if the process has no runtime.
  const ClrRuntime* Find(ProcessIndex process) const;
  /// A thread of the process that nobody has reserved; kIdleThread if there is none.
  ThreadIndex PickFreeThread(ProcessIndex process);
  const std::u16string& MethodName(const ClrMethod& method) const { return method_names_[method.method_name]; }

 private:
  struct LoaderKinds {
    ClrKind runtime, app_domain, assembly, module, domain_module;
  };

  void MakeRuntime(ProcessIndex process);
  ClrMethod MakeMethod(ClrRuntime& runtime);
  uint64_t PlaceCode(ClrRuntime& runtime, uint32_t size);
  void StartJit(ProcessIndex process, const ClrMethod& method);
  void FinishJit(ThreadIndex thread, uint64_t method_id);
  void Unload(ProcessIndex process);
  uint32_t AddTruth(ProcessIndex process, const ClrMethod& method);
  /// A method record has told of it; `event` is the record's name.
  void Tell(const ClrMethod& method, std::string_view event, bool names);
  /// An event that has just been written names a method by its id.
  void AddReference(std::string_view event, int64_t ticks, uint16_t cpu, uint64_t method_id);
  void EmitLoader(LoaderKinds& kinds, uint16_t cpu, ProcessIndex process);
  /// MethodLoadVerbose layout, version 2; without names MethodLoad.
  void EmitMethod(ClrKind& kind, uint16_t cpu, const Process& process, const ClrRuntime& runtime,
                  const ClrMethod& method, bool names);
  int64_t EmitMap(ClrKind& kind, uint16_t cpu, const Process& process, const ClrMethod& method);
  void EmitMark(ClrKind& kind, uint16_t cpu, const Process& process);
  void EmitRundown(ProcessIndex process, bool end);

  Simulation& sim_;
  size_t max_methods_;  // per process
  size_t live_methods_ = 0;
  uint32_t next_token_ = 0;
  std::vector<std::u16string> type_names_, method_names_, signatures_;
  std::unordered_map<ProcessIndex, ClrRuntime> runtimes_;
  std::vector<ProcessIndex> managed_;
  LoaderKinds load_, dc_start_, dc_end_;
  ClrKind jit_start_, method_load_, method_load_verbose_, method_unload_verbose_, il_map_;
  ClrKind dc_start_verbose_, dc_end_verbose_, dc_end_method_, dc_end_map_;
  ClrKind dc_start_init_, dc_start_complete_, dc_end_init_, dc_end_complete_;
};

}  // namespace etwpipe::tracegen
