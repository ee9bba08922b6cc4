// Processes, threads and images: what exists when the session starts and stops, and what begins and ends in between.
#pragma once

#include "tests/tracegen/simulation.h"

namespace etwpipe::tracegen {

class KernelLifetimes : public Topic {
 public:
  /// `topics` are told of processes that start and end; complete when Begin() is called.
  KernelLifetimes(Simulation& simulation, const std::vector<Topic*>& topics);

  void Begin() override;
  void Step() override;
  void End() override;
  uint64_t end_size() const override;

  /// Writes the start of a process that World has just made, on `cpu`; tells all topics.
  void Start(uint16_t cpu, ProcessIndex process);
  /// Ends a process with all its threads; tells all topics.
  void End(ProcessIndex process);

 private:
  void StartProcess();
  void EndProcess();
  void StartThread();
  void EndThread();
  void LoadImage();
  /// Lets the process's threads leave their processors and writes their ends.
  void EndThreads(uint16_t cpu, ProcessIndex index);
  void EmitProcess(SystemKind& kind, uint16_t cpu, const Process& process, uint32_t exit_status);
  void EmitThread(SystemKind& kind, uint16_t cpu, const Thread& thread);
  void EmitImage(SystemKind& kind, uint16_t cpu, const ImageFile& file, uint32_t pid);
  void EmitImageIds(uint16_t cpu, const ImageFile& file, uint32_t pid, bool with_version);
  /// Writes the state of everything with the given kinds, spread over the processors.
  void EmitAll(SystemKind& process_kind, SystemKind& thread_kind, SystemKind& image_kind);

  Simulation& sim_;
  const std::vector<Topic*>& topics_;
  std::vector<bool> described_images_;
  SystemKind process_start_, process_end_, process_dc_start_, process_dc_end_, terminate_;
  SystemKind thread_start_, thread_end_, thread_dc_start_, thread_dc_end_, thread_name_;
  SystemKind image_load_, image_unload_, image_dc_start_, image_dc_start_system_, image_dc_end_;
  FullKind image_info_, image_pdb_, image_version_;
};

}  // namespace etwpipe::tracegen
