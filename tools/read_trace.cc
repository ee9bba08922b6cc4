#include "tools/read_trace.h"

#include "formats/open.h"

namespace etwpipe {

Result<std::unique_ptr<Source>> ReadTrace(const ReadTraceArgs& args) {
  Plan no_stages;
  Plan& plan = args.plan != nullptr ? *args.plan : no_stages;
  const SinkInfo sink = args.sink.info();
  const bool survey = plan.facts != kNoFacts || (sink.facts != kNoFacts && !sink.facts_at_end);
  auto source = OpenSource(args.path, {.spool_dir = args.options.spool_dir,
                                       .several_passes = survey || plan.analysis_passes > 0,
                                       .show_carriers = args.show_carriers,
                                       .check_all = args.check_all,
                                       .diagnostics = args.diagnostics,
                                       .cancel = &args.cancel});
  if (!source.ok()) return source.status();
  const auto summary = Execute({.source = **source,
                                .plan = plan,
                                .sink = args.sink,
                                .threads = args.options.threads,
                                .diagnostics = args.diagnostics,
                                .cancel = &args.cancel,
                                .surveyors = args.surveyors});
  if (!summary.ok()) return summary.status();
  return source;
}

}  // namespace etwpipe
