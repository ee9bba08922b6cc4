#include "formats/etwp/block_prefix.h"

namespace etwpipe::etwp {

std::optional<DecodeError> MakePrefix(const v1::Columns& columns, BlockPrefix& prefix) {
  auto content = std::make_shared<std::vector<std::byte>>();
  if (auto error = InflateColumns(columns, {}, *content)) return error;
  prefix = std::move(content);
  return std::nullopt;
}

}  // namespace etwpipe::etwp
