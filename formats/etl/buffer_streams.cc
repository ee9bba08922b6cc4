#include "formats/etl/buffer_streams.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace etwpipe::etl {

CpuStreams SplitStreams(const BufferIndex& index, Diagnostics* diagnostics) {
  CpuStreams split;
  std::map<uint16_t, std::vector<size_t>> by_cpu;
  for (size_t i = 0; i < index.entries.size(); ++i) {
    if (index.entries[i].has_records()) {
      by_cpu[index.entries[i].cpu].push_back(i);
    } else {
      split.rest.push_back(i);
    }
  }
  for (auto& [cpu, entries] : by_cpu) {
    std::stable_sort(entries.begin(), entries.end(), [&](size_t a, size_t b) {
      // The header buffer stays first whatever number it has.
      if (a == 0 || b == 0) return a == 0 && b != 0;
      return index.entries[a].sequence < index.entries[b].sequence;
    });
    for (size_t i = 1; i < entries.size() && diagnostics != nullptr; ++i) {
      const BufferEntry& entry = index.entries[entries[i]];
      if (entry.sequence != index.entries[entries[i - 1]].sequence) continue;
      diagnostics->Add(DiagnosticId::kSequenceRepeats, {entry.file_offset, entry.file_size},
                       fmt::format("processor {} has two buffers with sequence number {}", cpu, entry.sequence));
    }
    split.streams.push_back({cpu, std::move(entries)});
  }
  return split;
}

void ContinueStream(StreamClock& clock, LoadedBuffer& buffer, Diagnostics* diagnostics) {
  std::fill_n(buffer.timestamps.begin(), buffer.leading_untimed, clock.last);
  if (buffer.timestamps.size() == buffer.leading_untimed) return;
  uint64_t steps = buffer.steps_back;
  size_t first = buffer.first_step_back;
  if (clock.started && buffer.timestamps[buffer.leading_untimed] < clock.last) {
    ++steps;
    first = buffer.records[buffer.leading_untimed].offset;
  }
  if (steps != 0 && diagnostics != nullptr) {
    const uint64_t place = buffer.file_offset + (buffer.compressed ? 0 : first);
    diagnostics->Add(DiagnosticId::kTimeStepBack, {place, 0},
                     fmt::format("processor {} steps back in time", buffer.cpu));
    diagnostics->AddCount(DiagnosticId::kTimeStepBack, steps - 1);
  }
  clock.last = buffer.timestamps.back();
  clock.started = true;
}

}  // namespace etwpipe::etl
