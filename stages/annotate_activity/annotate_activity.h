// annotate.activity: what began and ended in a trace, and what its time was spent on.
#pragma once

#include "pipeline/registry.h"

namespace etwpipe {

/// What the registry lists.
Registry::Entry AnnotateActivityEntry();

}  // namespace etwpipe
