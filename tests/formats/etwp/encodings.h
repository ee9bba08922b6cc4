// What columns say of how they are written.
#pragma once

#include <algorithm>

#include "proto/archive.pb.h"

namespace etwpipe::test {

/// Whether the columns name the encoding as one to be known.
inline bool Names(const v1::Columns& columns, v1::Encoding encoding) {
  const auto& named = columns.encodings();
  return std::find(named.begin(), named.end(), static_cast<uint32_t>(encoding)) != named.end();
}

}  // namespace etwpipe::test
