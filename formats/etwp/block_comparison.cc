#include "formats/etwp/block_comparison.h"

#include <algorithm>
#include <cstring>

namespace etwpipe::etwp {

bool SameEvent(const BlockRow& was, const DecodedBlock::Row& is, const std::byte* record) {
  return was.size == is.size && was.cpu == is.cpu && was.timestamp == is.timestamp &&
         was.instance_id == is.instance_id && std::memcmp(was.record, record, was.size) == 0;
}

bool SameAnnotations(const BlockEvents& events, const v1::Block& block, const DecodedBlock& decoded) {
  size_t at = 0;
  for (const auto& annotation : events.annotations) {
    const bool stored = std::binary_search(block.annotations().begin(), block.annotations().end(), annotation.number);
    const DecodedBlock::Annotation* back = stored ? &decoded.annotations[at++] : nullptr;
    for (size_t row = 0; row < annotation.cells.size(); ++row) {
      const auto& [column, from] = annotation.cells[row];
      const bool has = column != nullptr && column->has(from);
      if (has != (back != nullptr && back->present[row] != 0)) return false;
      if (!has) continue;
      switch (annotation.type) {
        case AnnotationType::kString:
        case AnnotationType::kMessage:
          if (back->texts[back->values[row]] != column->string(from)) return false;
          break;
        case AnnotationType::kU64List: {
          const auto list = column->list_view(from);
          if (back->list_sizes[row] != list.size()) return false;
          if (!std::equal(list.begin(), list.end(), back->lists.begin() + static_cast<ptrdiff_t>(back->values[row]))) {
            return false;
          }
          break;
        }
        case AnnotationType::kStringList: {
          const auto list = column->list_view(from);
          if (back->list_sizes[row] != list.size()) return false;
          for (size_t i = 0; i < list.size(); ++i) {
            if (back->texts[back->lists[back->values[row] + i]] != column->text(list[i])) return false;
          }
          break;
        }
        default:
          if (back->values[row] != column->u64(from)) return false;
      }
    }
  }
  return true;
}

}  // namespace etwpipe::etwp
