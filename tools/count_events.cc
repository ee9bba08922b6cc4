#include "tools/count_events.h"

#include <utility>

#include "formats/open.h"
#include "pipeline/executor.h"
#include "tools/count_sink.h"

namespace etwpipe {

Result<std::unique_ptr<Source>> CountEvents(const CountEventsArgs& args, EventCounts& counts) {
  CountSink sink(args.by);
  const SinkInfo info = sink.info();
  auto source = OpenSource(args.path, {.spool_dir = args.options.spool_dir,
                                       .several_passes = info.facts != kNoFacts && !info.facts_at_end,
                                       .check_all = args.check_all,
                                       .diagnostics = args.diagnostics,
                                       .cancel = &args.cancel});
  if (!source.ok()) return source.status();
  if (!args.whole) {
    if (auto known = CountsFromIndex(**source, args.by, args.diagnostics)) {
      counts = *std::move(known);
      return source;
    }
  }
  Plan no_stages;
  const auto summary = Execute({.source = **source,
                                .plan = no_stages,
                                .sink = sink,
                                .threads = args.options.threads,
                                .diagnostics = args.diagnostics,
                                .cancel = &args.cancel,
                                .surveyors = args.surveyors});
  if (!summary.ok()) return summary.status();
  counts = sink.counts();
  return source;
}

}  // namespace etwpipe
