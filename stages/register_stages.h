// The stages of this program.
#pragma once

#include "pipeline/registry.h"

namespace etwpipe {

/// Adds every stage of this folder.
void RegisterStages(Registry& registry);

}  // namespace etwpipe
