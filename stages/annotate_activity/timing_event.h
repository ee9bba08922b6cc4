// ActivityTiming: an event of our own provider with the values of an activity (proto/PROVIDER.md).
#pragma once

#include "formats/activities/activity_table.h"
#include "pipeline/batch.h"
#include "proto/activity.pb.h"

namespace etwpipe {

/// What annotations, reports and events say of an activity.
void FillTiming(const activities::ActivityTable& table, const activities::Activity& activity,
                v1::ActivityTiming& timing);

/// The event (id 20) for `row`, in the memory of `batch`: timestamp, processor, pid and tid are those of the row.
EventHeader TimingEvent(EventBatch& batch, const TraceContext& trace, const EventHeader& row,
                        const v1::ActivityTiming& timing);

}  // namespace etwpipe
