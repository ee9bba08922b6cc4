// Recordings for the tests of schemas.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "formats/open.h"
#include "tests/support/collect.h"

namespace etwpipe::schema {

/// All events of a recording, or why there are none.
struct Recording {
  std::vector<test::CollectedEvent> events;
  std::string problem;
};
inline Recording ReadSample(const std::filesystem::path& path) {
  Diagnostics diagnostics;
  OpenOptions options;
  options.diagnostics = &diagnostics;
  auto source = OpenSource(path.string(), options);
  if (!source.ok()) return {{}, std::string(source.status().message())};
  test::CollectSink sink;
  const auto summary = Execute(**source, sink, 2, &diagnostics);
  if (!summary.ok()) return {{}, std::string(summary.status().message())};
  return {std::move(sink.events), {}};
}

/// The row with its bytes; valid as long as `event`.
inline EventHeader RowOf(const test::CollectedEvent& event) {
  EventHeader row = event.header;
  row.record = event.bytes.data();
  return row;
}

}  // namespace etwpipe::schema
