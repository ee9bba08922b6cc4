// enrich.process: says whose events they are.
#pragma once

#include "pipeline/registry.h"

namespace etwpipe {

/// What the registry lists.
Registry::Entry EnrichProcessEntry();

}  // namespace etwpipe
