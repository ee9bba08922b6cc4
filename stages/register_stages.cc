#include "stages/register_stages.h"

#include "stages/annotate_activity/annotate_activity.h"
#include "stages/annotate_instrumentation/annotate_instrumentation.h"
#include "stages/enrich_method/enrich_method.h"
#include "stages/enrich_process/enrich_process.h"
#include "stages/enrich_stack/enrich_stack.h"
#include "stages/filter_process/filter_process.h"
#include "stages/filter_time/filter_time.h"
#include "stages/filter_where/filter_where.h"
#include "stages/sample_every/sample_every.h"

namespace etwpipe {

void RegisterStages(Registry& registry) {
  registry.Add(AnnotateActivityEntry());
  registry.Add(AnnotateInstrumentationEntry());
  registry.Add(EnrichMethodEntry());
  registry.Add(EnrichProcessEntry());
  registry.Add(EnrichStackEntry());
  registry.Add(FilterProcessEntry());
  registry.Add(FilterTimeEntry());
  registry.Add(FilterWhereEntry());
  registry.Add(SampleEveryEntry());
}

}  // namespace etwpipe
