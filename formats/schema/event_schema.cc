#include "formats/schema/event_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace etwpipe::schema {
namespace {

bool HoldsNumber(const Property& property) {
  switch (property.in) {
    case InType::kInt8:
    case InType::kUInt8:
    case InType::kInt16:
    case InType::kUInt16:
    case InType::kInt32:
    case InType::kUInt32:
    case InType::kInt64:
    case InType::kUInt64:
    case InType::kBoolean:
    case InType::kHexInt32:
    case InType::kHexInt64:
    case InType::kSizeT:
    case InType::kPointer: return property.count == Extent::kNone;
    default: return false;
  }
}

class Check {
 public:
  explicit Check(const EventSchema& schema) : schema_(schema), properties_(schema.properties) {}

  Status Run() {
    if (properties_.size() > kMaxProperties) {
      return Status::InvalidArgument(
          fmt::format("{}: {} properties; at most {} are allowed", schema_.name, properties_.size(), kMaxProperties));
    }
    if (schema_.top_level > properties_.size()) return Status::InvalidArgument(schema_.name + ": too few properties");
    depth_.assign(properties_.size(), 0);
    for (size_t i = 0; i < properties_.size(); ++i) ETWPIPE_RETURN_IF_ERROR(CheckProperty(i));
    return {};
  }

 private:
  Status Error(size_t index, std::string_view what) const {
    return Status::InvalidArgument(fmt::format("{}: property '{}': {}", schema_.name, properties_[index].name, what));
  }

  Status CheckProperty(size_t index) {
    const Property& property = properties_[index];
    for (const auto& [extent, value] :
         {std::pair(property.count, property.count_value), std::pair(property.length, property.length_value)}) {
      if (extent != Extent::kField) continue;
      if (value >= properties_.size()) return Error(index, "its count or length is a property that does not exist");
      if (!HoldsNumber(properties_[value])) return Error(index, "its count or length is not a number");
    }
    if (property.map != kNoMap && property.map >= schema_.maps.size()) return Error(index, "its map does not exist");
    if (property.in != InType::kStruct || property.member_count == 0) return {};
    // Members behind their struct, each in one struct only: no struct contains itself, and no layout is larger than
    // its list of properties.
    const size_t end = size_t{property.first_member} + property.member_count;
    if (end > properties_.size() || property.first_member <= index || property.first_member < schema_.top_level) {
      return Error(index, "its members do not exist");
    }
    if (depth_[index] + 1 > EventSchema::kMaxDepth) return Error(index, "structs are nested too deep");
    for (size_t i = property.first_member; i < end; ++i) {
      if (depth_[i] != 0) return Error(i, "it is a member of two structs");
      depth_[i] = depth_[index] + 1;
    }
    return {};
  }

  const EventSchema& schema_;
  const std::vector<Property>& properties_;
  std::vector<int> depth_;  // 0 for the top level
};

// Bytes of one element if every event has the same number of them, else 0.
uint64_t ConstantElementSize(const Property& property, uint32_t pointer_size) {
  switch (property.in) {
    case InType::kBinary:
    case InType::kPad:
    case InType::kAnsiString: return property.length == Extent::kFixed ? property.length_value : 0;
    case InType::kUnicodeString: return property.length == Extent::kFixed ? property.length_value * uint64_t{2} : 0;
    case InType::kAnsiChar:
    case InType::kUnicodeChar: break;
    default: return FixedSize(property.in, pointer_size);
  }
  const uint64_t unit = FixedSize(property.in, pointer_size);
  if (property.length == Extent::kNone) return unit;
  return property.length == Extent::kFixed ? unit * property.length_value : 0;
}

// Bytes of a property if every event has the same number of them, else 0.
uint64_t ConstantSize(const Property& property, uint32_t pointer_size) {
  const uint64_t size = ConstantElementSize(property, pointer_size);
  if (property.count == Extent::kFixed) return size * property.count_value;
  return property.count == Extent::kNone ? size : 0;
}

}  // namespace

std::string_view ToString(SchemaOrigin origin) {
  switch (origin) {
    case SchemaOrigin::kTraceLogging: return "tracelogging";
    case SchemaOrigin::kEventSource: return "eventsource";
    case SchemaOrigin::kEventInfo: return "event-info";
    case SchemaOrigin::kEmbedded: return "embedded";
    case SchemaOrigin::kManifestFile: return "manifest";
    case SchemaOrigin::kBuiltIn: return "built-in";
  }
  return "";
}

// Fields are asked for by name, and JSON has a name once: the second of two gets a number.
void EventSchema::TellNamesApart(size_t begin, size_t end) {
  std::unordered_map<std::string, int> taken;
  for (size_t i = begin; i < end; ++i) {
    Property& property = properties[i];
    if (property.in == InType::kPad) continue;
    const int number = ++taken[property.name];
    if (number > 1) property.name += fmt::format("#{}", number);
  }
}

Status EventSchema::Finish() {
  ETWPIPE_RETURN_IF_ERROR(Check(*this).Run());
  TellNamesApart(0, top_level);
  for (size_t i = 0; i < properties.size(); ++i) {
    if (properties[i].in != InType::kStruct) continue;
    TellNamesApart(properties[i].first_member, size_t{properties[i].first_member} + properties[i].member_count);
  }
  for (const uint32_t pointer_size : {4u, 8u}) {
    auto& offsets = offsets_[pointer_size == 8 ? 1 : 0];
    offsets.assign(top_level, kMoves);
    uint32_t offset = 0;
    for (size_t i = 0; i < top_level; ++i) {
      offsets[i] = offset;
      const uint64_t size = ConstantSize(properties[i], pointer_size);
      if (size == 0 || offset + size > 0xFFFF) break;
      offset += static_cast<uint32_t>(size);
    }
  }
  return {};
}

int EventSchema::IndexOf(std::string_view property_name) const {
  for (size_t i = 0; i < top_level; ++i) {
    if (properties[i].name == property_name) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace etwpipe::schema
