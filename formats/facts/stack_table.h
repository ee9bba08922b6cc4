// Stacks by the event they belong to (etl-format.md 5 and 8.5, semantics.md 6.4).
//
// Four things carry stacks. StackWalk records name their event by its timestamp and thread; one may hold the kernel
// half, another, from whatever processor the thread leaves the kernel on, the user half. Extended items stand in the
// event itself, whole, or in halves with a match id, or as keys. A CLRStackWalk event follows the CLR event it belongs
// to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "formats/facts/kernel_threads.h"
#include "formats/facts/stack_keys.h"
#include "formats/facts/stack_pool.h"
#include "pipeline/event.h"

namespace etwpipe::facts {

/// A StackWalk record of type 32, 37 or 38.
struct StackHalf {
  int64_t event_time = 0;  ///< raw timestamp of the event it was taken for
  int64_t logged = 0;      ///< raw timestamp of the record
  uint64_t key = 0;        ///< of types 37 and 38
  StackId stack = kNoStack;
  uint32_t pid = kNoId;
  uint32_t tid = kNoId;
  uint16_t cpu = 0;  ///< that wrote the record
  bool has_key = false;
  bool user = false;
};

/// A kernel record that shares timestamp, processor and thread with the one after it.
struct SharedTime {
  int64_t time = 0;
  EventInstanceId id = 0;
};

/// An event of a CLR provider, or a CLRStackWalk of it.
struct ClrStackRecord {
  int64_t time = 0;
  EventInstanceId id = 0;
  uint32_t tid = kNoId;
  StackId stack = kNoStack;
  uint8_t provider = 0;    ///< any number that tells the CLR providers apart
  bool is_stack = false;   ///< a CLRStackWalk: `stack` is its own
  bool has_stack = false;  ///< an event that carries its stack
};

/// Half a stack in an extended item with a match id.
struct MatchedHalf {
  uint64_t match_id = 0;
  int64_t time = 0;
  EventInstanceId id = 0;
  uint64_t key = 0;
  StackId stack = kNoStack;
  uint32_t tid = kNoId;
  bool has_key = false;
};

/// All that the records of a trace say of stacks, in any order but that of each processor.
struct StackRecords {
  StackPool pool;
  uint32_t pointer_size = 8;  ///< of the session
  std::vector<StackHalf> halves;
  std::vector<StackDefinition> definitions;
  std::vector<SharedTime> shared_times;
  std::vector<ClrStackRecord> clr;
  std::vector<MatchedHalf> matched;
};

/// The stack of one event, leaf first. Reuse one object: it keeps its memory.
struct EventStack {
  std::vector<uint64_t> frames;  ///< those of the kernel, then those of user mode
  size_t kernel_frames = 0;
  uint32_t pid = kNoId;  ///< whose addresses they are; a StackWalk record knows it where its event does not
  uint32_t tid = kNoId;

  std::span<const uint64_t> kernel() const { return std::span(frames).first(kernel_frames); }
  std::span<const uint64_t> user() const { return std::span(frames).subspan(kernel_frames); }
};

/// Built once, then read from any thread.
class StackTable {
 public:
  static StackTable Build(StackRecords records, const KernelThreads& threads);

  /// The stack that belongs to an event; false if it has none. StackWalk and CLRStackWalk records have none themselves.
  ///
  /// A StackWalk record belongs to the kernel record with its timestamp and thread. Where a record says no thread (a
  /// few PERFINFO types say it in their payload) the processor decides, and also between threads 0, of which each
  /// processor has one. Of several kernel records that fit, the last takes the stack: what
  /// follows it at once, at a later time, was written for it.
  bool Find(const EventHeader& row, EventStack& stack) const;

  /// Events that a StackWalk record was written for.
  size_t stack_walks() const { return walks_.size(); }
  /// Events that got a CLRStackWalk or the other half of a matched stack.
  size_t attached() const { return attached_.size(); }
  size_t unknown_keys() const { return unknown_keys_; }  ///< StackWalk records whose key nothing defines
  size_t orphans() const { return orphans_; }            ///< CLRStackWalks without an event
  const StackPool& pool() const { return pool_; }

 private:
  // Both halves of a stack that StackWalk records hold.
  struct Walk {
    int64_t time = 0;
    uint32_t thread = 0;  // in threads_
    uint16_t cpu = 0;     // of the kernel half if there is one: that one the event itself wrote
    StackId kernel = kNoStack;
    StackId user = kNoStack;
  };
  static_assert(sizeof(Walk) == 24);
  struct Thread {
    uint32_t pid = kNoId;
    uint32_t tid = kNoId;
  };
  struct Attached {
    EventInstanceId event = 0;
    StackId stack = kNoStack;
  };

  explicit StackTable(const KernelThreads& threads) : kernel_threads_(threads) {}
  void JoinHalves(std::vector<StackHalf> halves);
  void JoinClr(std::vector<ClrStackRecord> records);
  void JoinMatched(std::vector<MatchedHalf> halves);
  void KeepShared(const std::vector<SharedTime>& shared);
  void JoinThread(std::span<const StackHalf> halves, uint32_t thread);
  StackId Resolve(StackId stack, bool has_key, uint64_t key, int64_t time) const;
  uint32_t TidOf(const Walk& walk) const { return threads_[walk.thread].tid; }
  const Walk* FindWalk(const EventHeader& row) const;
  void Append(StackId id, EventStack& stack) const;
  void AppendItems(const EventHeader& row, EventStack& stack) const;
  bool IsKernel(uint64_t address) const { return address >= kernel_begin_; }

  KernelThreads kernel_threads_;
  StackPool pool_;
  StackKeys keys_;
  std::vector<Walk> walks_;  // by time
  std::vector<Thread> threads_;
  std::vector<Attached> attached_;       // by event
  std::vector<EventInstanceId> shared_;  // ascending: not the last of its timestamp and thread
  uint64_t kernel_begin_ = 0;
  size_t unknown_keys_ = 0;
  size_t orphans_ = 0;
};

/// Adds the frames of an array of pointers to `frames`; what is left over at its end is ignored.
void ReadFrames(std::span<const std::byte> bytes, size_t pointer_size, std::vector<uint64_t>& frames);

}  // namespace etwpipe::facts
