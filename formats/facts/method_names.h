// Names for code versions whose own records carry none.
#pragma once

#include <span>

#include "formats/facts/method_version.h"

namespace etwpipe::facts {

/// `versions` and `records` are those of one process instance. A version without a name takes the names of a record of
/// the same MethodID and runtime, of several the nearest in time; otherwise those that all records of its module and
/// token agree on (semantics.md 7.5). IL stubs learn which method they are for. Linear, but for the records of one
/// MethodID, which are searched.
void LearnNames(std::span<MethodVersion> versions, std::span<const MethodRecord> records, StringPool& strings,
                bool is_32bit);

}  // namespace etwpipe::facts
