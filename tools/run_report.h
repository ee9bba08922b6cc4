// What `run` says when it is done.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "pipeline/diagnostics.h"
#include "pipeline/executor.h"
#include "tools/json_writer.h"

namespace etwpipe {

struct RunReport {
  std::string input;
  std::string output;
  RunSummary summary{};
  uint64_t bytes_in = 0;
  uint64_t bytes_out = 0;
  double seconds = 0;
  /// The output is the original of an exact archive: "identical" bit for bit, or "equivalent" (compressed anew). Empty
  /// for any other run.
  std::string restored{};
  /// What --verify found right before the output got its name: "bytes" (every byte of the input is there), "events"
  /// (every event) or "structure" (stages changed the events). Empty if nobody asked.
  std::string verified{};
  std::shared_ptr<Diagnostics> diagnostics = std::make_shared<Diagnostics>();

  std::string ToText() const;
  /// One object and a line end: input, output, events{in, kept, injected}, stages[{label, in, dropped, counts}],
  /// bytes{in, out}, ratio, restored, verified, diagnostics. counts{group{name: n}} only of stages that count
  /// something.
  std::string ToJson() const;
  /// The same from `events` on into an open object.
  void WriteResult(JsonWriter& json) const;
};

}  // namespace etwpipe
