// enrich.method: names the methods and addresses that events speak of.
#pragma once

#include "pipeline/registry.h"

namespace etwpipe {

Registry::Entry EnrichMethodEntry();

}  // namespace etwpipe
