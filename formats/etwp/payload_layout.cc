#include "formats/etwp/payload_layout.h"

#include <xxhash.h>

#include <algorithm>
#include <string_view>

namespace etwpipe::etwp {
namespace {

using v1::LayoutField;
using Field = PayloadLayout::Field;

// Fields that name the thing an event is about, most telling first: rows that agree in one mostly agree in the rest.
constexpr std::string_view kKeyNames[] = {"methodid",  "moduleid",   "assemblyid", "appdomainid", "imagebase",
                                          "tthreadid", "fileobject", "filekey",    "keyhandle",   "uniqueprocesskey",
                                          "objectid",  "typeid",     "processid",  "threadid"};

std::string Lower(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return lower;
}

class Builder {
 public:
  Builder(const schema::EventSchema& schema, uint32_t pointer_size, PayloadLayout& layout)
      : schema_(schema), pointer_size_(pointer_size), layout_(layout), field_of_(schema.properties.size(), -1) {}

  bool Run() { return Range(0, schema_.top_level) && !layout_.fields.empty(); }

 private:
  bool Range(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      if (!One(i)) return false;
    }
    return true;
  }

  bool One(size_t index) {
    const schema::Property& property = schema_.properties[index];
    if (layout_.fields.size() >= PayloadLayout::kMaxFields) return false;
    Field field;
    if (!SetExtent(property.count, property.count_value, field.count, field.count_value)) return false;
    // As many as there is no end of, or none: nothing a field could be made of.
    if (field.count == LayoutField::EXTENT_FIXED && field.count_value == 0) return true;
    const std::string lower = Lower(property.name);
    field.context = XXH32(lower.data(), lower.size(), 0);
    if (property.in == schema::InType::kNull) return true;
    if (property.in == schema::InType::kStruct) return Struct(property, field);
    if (!SetShape(property, field)) return false;
    if (field.shape == LayoutField::SHAPE_BYTES && field.length == LayoutField::EXTENT_FIXED &&
        field.length_value == 0) {
      return true;
    }
    field_of_[index] = static_cast<int>(layout_.fields.size());
    layout_.fields.push_back(field);
    return true;
  }

  bool Struct(const schema::Property& property, Field field) {
    const size_t begin = property.first_member;
    const size_t end = begin + property.member_count;
    if (field.count == LayoutField::EXTENT_ONE) return Range(begin, end);
    const size_t at = layout_.fields.size();
    field.shape = LayoutField::SHAPE_STRUCT;
    layout_.fields.push_back(field);
    if (!Range(begin, end)) return false;
    const size_t members = layout_.fields.size() - at - 1;
    if (members == 0) return false;
    layout_.fields[at].members = static_cast<uint16_t>(members);
    return true;
  }

  bool SetExtent(schema::Extent from, uint16_t value, PayloadLayout::Extent& extent, uint16_t& out) const {
    switch (from) {
      case schema::Extent::kNone: extent = LayoutField::EXTENT_ONE; return true;
      case schema::Extent::kFixed:
        extent = LayoutField::EXTENT_FIXED;
        out = value;
        return true;
      case schema::Extent::kField:
        extent = LayoutField::EXTENT_FIELD;
        if (value >= field_of_.size() || field_of_[value] < 0) return false;
        out = static_cast<uint16_t>(field_of_[value]);
        return true;
      case schema::Extent::kPrefix16: extent = LayoutField::EXTENT_PREFIX16; return true;
      case schema::Extent::kRest: extent = LayoutField::EXTENT_REST; return true;
    }
    return false;
  }

  // Bytes of a stated length, in units.
  bool SetSized(const schema::Property& property, uint8_t unit, Field& field) const {
    field.shape = LayoutField::SHAPE_BYTES;
    field.width = unit;
    if (property.length == schema::Extent::kNone) {
      field.length = LayoutField::EXTENT_FIXED;
      field.length_value = 1;
      return true;
    }
    return SetExtent(property.length, property.length_value, field.length, field.length_value);
  }

  bool SetFixedBytes(uint16_t size, Field& field) const {
    field.shape = LayoutField::SHAPE_BYTES;
    field.width = 1;
    field.length = LayoutField::EXTENT_FIXED;
    field.length_value = size;
    return true;
  }

  bool SetShape(const schema::Property& property, Field& field) const {
    using schema::InType;
    const uint32_t fixed = schema::FixedSize(property.in, pointer_size_);
    if (schema::IsUtf16(property.in)) field.text = LayoutField::TEXT_UTF16;
    if (schema::IsNarrowText(property.in)) field.text = LayoutField::TEXT_NARROW;
    if (fixed != 0 && property.length == schema::Extent::kNone) {
      field.text = LayoutField::TEXT_NONE;
      if (fixed == 16) return SetFixedBytes(16, field);
      field.shape = LayoutField::SHAPE_NUMBER;
      field.width = static_cast<uint8_t>(fixed);
      return true;
    }
    switch (property.in) {
      case InType::kUnicodeString:
      case InType::kAnsiString: {
        const bool wide = property.in == InType::kUnicodeString;
        if (property.length != schema::Extent::kNone) return SetSized(property, wide ? 2 : 1, field);
        field.shape = wide ? LayoutField::SHAPE_TEXT16 : LayoutField::SHAPE_TEXT8;
        return true;
      }
      case InType::kUnicodeChar: return SetSized(property, 2, field);
      case InType::kAnsiChar:
      case InType::kBinary:
      case InType::kPad: return SetSized(property, 1, field);
      case InType::kCountedUtf16:
      case InType::kCountedAnsi:
      case InType::kCountedBinary:
      case InType::kCountedString:
      case InType::kCountedAnsiString: field.shape = LayoutField::SHAPE_COUNTED16; return true;
      case InType::kReversedCountedString:
      case InType::kReversedCountedAnsiString: field.shape = LayoutField::SHAPE_COUNTED16_SWAPPED; return true;
      case InType::kHexDump: field.shape = LayoutField::SHAPE_COUNTED32; return true;
      case InType::kRestUtf16:
      case InType::kRestAnsi: {
        const auto unit = static_cast<uint8_t>(property.in == InType::kRestUtf16 ? 2 : 1);
        if (property.length == schema::Extent::kFixed || property.length == schema::Extent::kField) {
          return SetSized(property, unit, field);
        }
        field.shape = LayoutField::SHAPE_BYTES;
        field.width = unit;
        field.length = LayoutField::EXTENT_REST;
        return true;
      }
      case InType::kSid: field.shape = LayoutField::SHAPE_SID; return true;
      case InType::kWbemSid:
        field.shape = LayoutField::SHAPE_WBEM_SID;
        field.width = static_cast<uint8_t>(pointer_size_);
        return true;
      default: break;
    }
    if (fixed == 0) return false;
    if (fixed == 16) return SetFixedBytes(16, field);
    field.shape = LayoutField::SHAPE_NUMBER;
    field.width = static_cast<uint8_t>(fixed);
    return true;
  }

  const schema::EventSchema& schema_;
  const uint32_t pointer_size_;
  PayloadLayout& layout_;
  std::vector<int> field_of_;  // per property
};

bool IsScalarNumber(const std::vector<Field>& fields, size_t index, size_t before) {
  return index < before && fields[index].number() && fields[index].count == LayoutField::EXTENT_ONE;
}

}  // namespace

bool PayloadLayout::Finish() {
  if (fields.empty() || fields.size() > kMaxFields) return false;
  struct Open {
    size_t end;
    bool repeated;
  };
  std::vector<Open> open;
  for (size_t i = 0; i < fields.size(); ++i) {
    Field& field = fields[i];
    while (!open.empty() && open.back().end <= i) open.pop_back();
    const size_t end = open.empty() ? fields.size() : open.back().end;
    field.repeated = !open.empty() || field.count != LayoutField::EXTENT_ONE;
    field.pair = false;
    if (open.empty() && i + 1 < end) {
      const Field& next = fields[i + 1];
      field.pair = field.number() && next.number() && field.count == LayoutField::EXTENT_FIELD &&
                   next.count == LayoutField::EXTENT_FIELD && next.count_value == field.count_value &&
                   (i == 0 || !fields[i - 1].pair);
    }
    if (field.count == LayoutField::EXTENT_FIELD && !IsScalarNumber(fields, field.count_value, i)) return false;
    if (field.count == LayoutField::EXTENT_FIXED && field.count_value == 0) return false;
    if (field.is_struct()) {
      if (field.count == LayoutField::EXTENT_ONE || field.members == 0 || field.members > end - i - 1) return false;
      if (open.size() >= static_cast<size_t>(kMaxDepth)) return false;
      open.push_back({i + 1 + field.members, true});
      continue;
    }
    if (field.members != 0) return false;
    switch (field.shape) {
      case LayoutField::SHAPE_NUMBER:
        if (field.width != 1 && field.width != 2 && field.width != 4 && field.width != 8) return false;
        break;
      case LayoutField::SHAPE_BYTES:
        if (field.width != 1 && field.width != 2) return false;
        if (field.length == LayoutField::EXTENT_ONE) return false;
        if (field.length == LayoutField::EXTENT_FIXED && field.length_value == 0) return false;
        if (field.length == LayoutField::EXTENT_FIELD && !IsScalarNumber(fields, field.length_value, i)) return false;
        break;
      case LayoutField::SHAPE_WBEM_SID:
        if (field.width != 4 && field.width != 8) return false;
        break;
      case LayoutField::SHAPE_TEXT16:
      case LayoutField::SHAPE_TEXT8:
      case LayoutField::SHAPE_COUNTED16:
      case LayoutField::SHAPE_COUNTED16_SWAPPED:
      case LayoutField::SHAPE_COUNTED32:
      case LayoutField::SHAPE_SID: break;
      default: return false;
    }
    if (field.shape != LayoutField::SHAPE_BYTES && field.length != LayoutField::EXTENT_ONE) return false;
  }
  if (key > fields.size() || (key != 0 && (!fields[key - 1u].number() || fields[key - 1u].repeated))) return false;
  hash_ = key;
  for (const Field& field : fields) {
    const uint32_t parts[] = {static_cast<uint32_t>(field.shape),
                              field.width,
                              static_cast<uint32_t>(field.text),
                              static_cast<uint32_t>(field.count),
                              field.count_value,
                              static_cast<uint32_t>(field.length),
                              field.length_value,
                              field.members,
                              field.context};
    hash_ = XXH3_64bits_withSeed(parts, sizeof parts, hash_);
  }
  return true;
}

std::shared_ptr<const PayloadLayout> PayloadLayout::FromSchema(const schema::EventSchema& schema,
                                                               uint32_t pointer_size) {
  auto layout = std::make_shared<PayloadLayout>();
  if (!Builder(schema, pointer_size, *layout).Run()) return nullptr;
  layout->Finish();
  for (const std::string_view name : kKeyNames) {
    const uint32_t context = XXH32(name.data(), name.size(), 0);
    const auto found = std::find_if(layout->fields.begin(), layout->fields.end(), [&](const Field& field) {
      return field.context == context && field.number() && !field.repeated;
    });
    if (found == layout->fields.end()) continue;
    layout->key = static_cast<uint16_t>(found - layout->fields.begin() + 1);
    break;
  }
  if (!layout->Finish()) return nullptr;
  return layout;
}

std::optional<PayloadLayout> PayloadLayout::FromProto(const v1::Layout& proto) {
  PayloadLayout layout;
  if (static_cast<size_t>(proto.fields_size()) > kMaxFields || proto.key() > kMaxFields) return std::nullopt;
  for (const auto& from : proto.fields()) {
    if (!LayoutField::Extent_IsValid(from.count()) || !LayoutField::Extent_IsValid(from.length()) ||
        !LayoutField::Text_IsValid(from.text()) || from.width() > 8 || from.count_value() > 0xFFFF ||
        from.length_value() > 0xFFFF || from.members() > kMaxFields || from.context() > kMaxContexts) {
      return std::nullopt;
    }
    Field& field = layout.fields.emplace_back();
    field.shape = from.shape();
    field.width = static_cast<uint8_t>(from.width());
    field.text = from.text();
    field.count = from.count();
    field.count_value = static_cast<uint16_t>(from.count_value());
    field.length = from.length();
    field.length_value = static_cast<uint16_t>(from.length_value());
    field.members = static_cast<uint16_t>(from.members());
    field.context = from.context();
  }
  layout.key = static_cast<uint16_t>(proto.key());
  if (!layout.Finish()) return std::nullopt;
  return layout;
}

void PayloadLayout::ToProto(v1::Layout& proto) const {
  for (const Field& field : fields) {
    auto& to = *proto.add_fields();
    to.set_shape(field.shape);
    to.set_width(field.width);
    to.set_text(field.text);
    to.set_count(field.count);
    to.set_count_value(field.count_value);
    to.set_length(field.length);
    to.set_length_value(field.length_value);
    to.set_members(field.members);
    to.set_context(field.context);
  }
  proto.set_key(key);
}

}  // namespace etwpipe::etwp
