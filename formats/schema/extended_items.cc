#include "formats/schema/extended_items.h"

#include "pipeline/byte_reader.h"

namespace etwpipe::schema {
namespace {

constexpr size_t kItemHeaderBytes = 8;

constexpr size_t Align8(size_t size) { return (size + 7) & ~size_t{7}; }

}  // namespace

bool NextExtendedItem(std::span<const std::byte>& items, ExtendedItemView& item) {
  if (items.size() < kItemHeaderBytes) return false;
  const auto data_size = LoadAt<uint16_t>(items.data(), 6);
  size_t stride = LoadAt<uint16_t>(items.data(), 0);
  if (stride == 0) stride = Align8(kItemHeaderBytes + data_size);
  if (stride % 8 != 0 || stride < kItemHeaderBytes + data_size || stride > items.size()) return false;
  item.type = ExtendedType{LoadAt<uint16_t>(items.data(), 2)};
  item.data = items.subspan(kItemHeaderBytes, data_size);
  items = items.subspan(stride);
  return true;
}

std::span<const std::byte> FindExtendedItem(const EventHeader& row, ExtendedType type) {
  if (!row.has(kHasExtended)) return {};
  auto items = row.extended_items();
  for (ExtendedItemView item; NextExtendedItem(items, item);) {
    if (item.type == type) return item.data;
  }
  return {};
}

}  // namespace etwpipe::schema
