// What a survey learnt of a whole trace: one object per type, set before the first event reaches a stage.
#pragma once

#include <cstdint>
#include <memory>
#include <typeindex>
#include <unordered_map>

namespace etwpipe {

/// Kinds of facts that stages and sinks may ask for (StageInfo::facts, SinkInfo::facts); a set of bits.
enum Fact : uint8_t {
  kNoFacts = 0,
  kSchemas = 1,    ///< layouts of events, those the trace itself carries included
  kProcesses = 2,  ///< processes by pid and time
  kThreads = 4,    ///< threads by tid and time
  kImages = 8,     ///< images by address and time
  kMethods = 16,   ///< methods of the CLR by address or MethodID and time
  kStacks = 32,    ///< stacks by the event they belong to
  kCpuState = 64,  ///< threads by the processor they run on and time
};
using FactSet = uint8_t;

/// Fact tables by their type. Set() while the survey runs in one thread, afterwards read-only from any thread.
class Facts {
 public:
  /// The table of that type, or null if nobody asked for it. Lives as long as these facts.
  template <typename T>
  const T* Get() const {
    const auto found = tables_.find(std::type_index(typeid(T)));
    return found == tables_.end() ? nullptr : static_cast<const T*>(found->second.get());
  }
  template <typename T>
  void Set(std::shared_ptr<const T> table) {
    tables_[std::type_index(typeid(T))] = std::move(table);
  }

 private:
  std::unordered_map<std::type_index, std::shared_ptr<const void>> tables_;
};

}  // namespace etwpipe
