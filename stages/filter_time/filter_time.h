// filter.time: keeps the events of a range of time.
#pragma once

#include "pipeline/registry.h"

namespace etwpipe {

/// What the registry lists.
Registry::Entry FilterTimeEntry();

}  // namespace etwpipe
