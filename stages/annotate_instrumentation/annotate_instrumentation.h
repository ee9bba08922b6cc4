// annotate.instrumentation: what calls cost, as the instrumentation profiler of Visual Studio counts it.
#pragma once

#include "pipeline/registry.h"

namespace etwpipe {

/// What the registry lists.
Registry::Entry AnnotateInstrumentationEntry();

}  // namespace etwpipe
