// enrich.stack: names of the frames of each event's stack.
#pragma once

#include "pipeline/registry.h"

namespace etwpipe {

/// What the registry lists.
Registry::Entry EnrichStackEntry();

}  // namespace etwpipe
