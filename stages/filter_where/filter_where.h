// filter.where: keeps the events for which an expression is true.
#pragma once

#include "pipeline/registry.h"

namespace etwpipe {

/// What the registry lists.
Registry::Entry FilterWhereEntry();

}  // namespace etwpipe
