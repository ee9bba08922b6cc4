// sample.every: keeps every n-th event of each kind.
#pragma once

#include "pipeline/registry.h"

namespace etwpipe {

/// What the registry lists.
Registry::Entry SampleEveryEntry();

}  // namespace etwpipe
