// The machine that a trace pretends to watch: processes with threads and images, and who runs on which processor.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/guid.h"
#include "tests/tracegen/random.h"
#include "tests/tracegen/truth.h"

namespace etwpipe::tracegen {

/// An executable file; the same for all processes that load it.
struct ImageFile {
  std::string name;        ///< "ntdll.dll"
  std::u16string nt_path;  ///< \Device\HarddiskVolume3\...
  uint64_t base = 0;
  uint32_t size = 0;
  uint32_t checksum = 0;
  uint32_t timestamp = 0;  ///< TimeDateStamp
  Guid pdb_guid;
  uint32_t pdb_age = 1;
  std::string pdb_path;
};

using ProcessIndex = uint32_t;
using ThreadIndex = uint32_t;

struct Thread {
  uint32_t tid = 0;
  ProcessIndex process = 0;
  uint64_t kernel_stack = 0;
  uint64_t user_stack = 0;
  uint64_t start_address = 0;
  uint64_t teb = 0;
  std::u16string name;
  int8_t priority = 8;
  bool alive = true;
  bool reserved = false;   ///< some activity goes on; nobody else starts one on it
  int32_t cpu = -1;        ///< where it runs; -1 when it waits
  uint32_t wait_slot = 0;  ///< its place in World::waiting
  int64_t last_ticks = 0;  ///< of its last event
};

struct Process {
  uint32_t pid = 0;
  uint32_t parent = 0;
  uint32_t session = 0;
  uint64_t key = 0;
  std::string image;
  std::u16string command_line;
  bool managed = false;
  bool pointer32 = false;
  bool boot = false;     ///< there before the trace; such processes do not end
  bool planned = false;  ///< belongs to a planned case, which alone makes its code and ends it
  bool alive = true;
  std::vector<ThreadIndex> threads;  ///< the living ones
  std::vector<uint32_t> images;      ///< into World::image_files
  /// Typical stacks of user mode, outermost frame last.
  std::vector<std::vector<uint64_t>> call_chains;
  uint32_t truth = BoundedList<ProcessTruth>::kNotKept;
};

/// Processes and threads are never erased, so indices stay valid; dead ones have alive == false.
class World {
 public:
  static constexpr ProcessIndex kIdleProcess = 0;
  static constexpr ProcessIndex kSystemProcess = 1;
  static constexpr ThreadIndex kIdleThread = 0;

  /// `process_count` processes at the start, at least 6.
  World(Random& random, uint32_t processors, uint32_t process_count, Truth& truth);

  std::deque<Process> processes;  ///< [0] is Idle (pid 0), [1] is System (pid 4)
  std::deque<Thread> threads;     ///< [0] stands for all idle threads (tid 0)
  std::vector<ImageFile> image_files;
  std::vector<uint32_t> kernel_images;  ///< into image_files
  std::vector<uint64_t> kernel_code;    ///< addresses that kernel stacks and samples use
  std::vector<std::u16string> data_paths;
  std::vector<std::u16string> registry_keys;

  /// A new process with its main thread and images; records nothing.
  ProcessIndex StartProcess(ProcessIndex parent);
  /// As StartProcess(), for a planned case: a .NET program of one thread. `pid` is that of a dead process, 0 for any.
  ProcessIndex StartPlanned(bool pointer32, uint32_t pid);
  ThreadIndex StartThread(ProcessIndex process);
  /// Marks it dead and frees its tid; the thread must not be running.
  void EndThread(ThreadIndex thread);
  /// All its threads are dead. Frees its pid.
  void EndProcess(ProcessIndex process);

  /// Who runs on a processor; kIdleThread if nobody.
  ThreadIndex running(uint16_t cpu) const { return running_[cpu]; }
  /// Puts a waiting thread (or kIdleThread) on a processor; who ran there waits from now on.
  void Switch(uint16_t cpu, ThreadIndex thread);
  /// A thread that waits, or kIdleThread.
  ThreadIndex PickWaiting(Random& random) const;
  /// A living process other than Idle and System.
  ProcessIndex PickProcess(Random& random) const;
  const std::vector<ProcessIndex>& living() const { return living_; }

  /// Code address in one of the process's images.
  uint64_t PickUserAddress(Random& random, const Process& process) const;

 private:
  void MakeImages();
  void MakeBootProcesses(uint32_t count);
  ProcessIndex AddProcess(uint32_t program, ProcessIndex parent, uint32_t pid = 0);
  /// For a process or thread; those of dead ones come back after a while.
  uint32_t NewId();
  void AddWaiting(ThreadIndex thread);
  void RemoveWaiting(ThreadIndex thread);

  Random& random_;
  Truth& truth_;
  uint32_t next_id_ = 8;
  std::deque<uint32_t> free_ids_;  // of dead processes and threads, oldest first
  std::vector<ThreadIndex> running_;
  std::vector<ThreadIndex> waiting_;
  std::vector<ProcessIndex> living_;
};

}  // namespace etwpipe::tracegen
