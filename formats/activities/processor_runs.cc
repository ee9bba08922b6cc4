#include "formats/activities/processor_runs.h"

#include <utility>

namespace etwpipe::activities {

const char* ToString(CpuTime cpu_time) {
  switch (cpu_time) {
    case CpuTime::kNone: return "none";
    case CpuTime::kPartial: return "partial";
    case CpuTime::kSampled: return "sampled";
    case CpuTime::kFull: return "full";
  }
  return "";
}

void SwitchHistoryBuilder::Switch(uint16_t processor, int64_t time, uint32_t new_thread, uint32_t old_thread) {
  if (processor >= processors_.size()) processors_.resize(size_t{processor} + 1);
  if (processor >= history_.processors.size()) history_.processors.resize(size_t{processor} + 1);
  Processor& own = processors_[processor];
  ProcessorHistory& told = history_.processors[processor];
  if (told.switches == 0) {
    told.first_thread = old_thread;
    const auto start = starts_.find(old_thread);
    told.since_start = start != starts_.end();
    told.first_since = told.since_start ? start->second : trace_start_;
  } else if (own.known && own.thread != old_thread) {
    told.broken.push_back({told.switches, own.last_event});
    ++history_.anomalies;
  }
  ++told.switches;
  if (history_.switches++ == 0) history_.first_switch = time;
  history_.last_switch = time;
  own = {true, true, new_thread, time};
}

void SwitchHistoryBuilder::ThreadEnd(uint32_t thread) {
  for (Processor& processor : processors_) {
    if (processor.known && processor.thread == thread) processor.known = false;
  }
}

SwitchHistory SwitchHistoryBuilder::Finish() {
  if (history_.switches != 0) {
    for (size_t i = 0; i < processors_.size(); ++i) {
      const bool switches = i < history_.processors.size() && history_.processors[i].switches != 0;
      if (processors_[i].events && !switches) ++history_.silent_processors;
    }
  }
  return std::move(history_);
}

}  // namespace etwpipe::activities
