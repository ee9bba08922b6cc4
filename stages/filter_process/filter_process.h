// filter.process: keeps the events of some processes.
#pragma once

#include "pipeline/registry.h"

namespace etwpipe {

/// What the registry lists.
Registry::Entry FilterProcessEntry();

}  // namespace etwpipe
