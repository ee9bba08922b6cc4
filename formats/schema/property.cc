#include "formats/schema/property.h"

#include <fmt/format.h>

#include <iterator>

namespace etwpipe::schema {

std::string ValueMap::NameOf(uint64_t value) const {
  std::string names;
  uint64_t rest = value;
  for (const Entry& entry : entries) {
    if (!bits && entry.value == value) return entry.name;
    const uint64_t mask = entry.mask != 0 ? entry.mask : entry.value;
    // A mask of zero is the name of "no bit".
    const bool named = bits && (mask == 0 ? value == 0 : (value & mask) == entry.value);
    if (!named) continue;
    if (!names.empty()) names += '|';
    names += entry.name;
    rest &= ~mask;
  }
  if (!names.empty() && rest != 0) fmt::format_to(std::back_inserter(names), "|0x{:x}", rest);
  return names;
}

}  // namespace etwpipe::schema
