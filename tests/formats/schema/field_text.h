// The fields of a schema as one line, for comparing layouts: A:UInt32,B:struct{C:UInt8;D:Binary(A)}[A].
#pragma once

#include <string>
#include <string_view>

#include "formats/schema/event_schema.h"

namespace etwpipe::schema {

/// The name that manifests have for an in-type, without "win:".
inline std::string_view ManifestNameOf(InType in) {
  switch (in) {
    case InType::kUnicodeString: return "UnicodeString";
    case InType::kAnsiString: return "AnsiString";
    case InType::kInt8: return "Int8";
    case InType::kUInt8: return "UInt8";
    case InType::kInt16: return "Int16";
    case InType::kUInt16: return "UInt16";
    case InType::kInt32: return "Int32";
    case InType::kUInt32: return "UInt32";
    case InType::kInt64: return "Int64";
    case InType::kUInt64: return "UInt64";
    case InType::kFloat: return "Float";
    case InType::kDouble: return "Double";
    case InType::kBoolean: return "Boolean";
    case InType::kBinary: return "Binary";
    case InType::kGuid: return "GUID";
    case InType::kPointer: return "Pointer";
    default: return "?";
  }
}

inline std::string FieldsText(const EventSchema& schema, size_t begin, size_t end, char separator) {
  const auto amount = [&](Extent extent, uint16_t value) {
    return extent == Extent::kFixed ? std::to_string(value) : schema.properties[value].name;
  };
  std::string text;
  for (size_t i = begin; i < end; ++i) {
    const Property& property = schema.properties[i];
    if (i > begin) text += separator;
    text += property.name + ":";
    if (property.in == InType::kStruct) {
      text += "struct{" +
              FieldsText(schema, property.first_member, property.first_member + property.member_count, ';') + "}";
    } else {
      text += ManifestNameOf(property.in);
    }
    if (property.length != Extent::kNone) text += "(" + amount(property.length, property.length_value) + ")";
    if (property.count != Extent::kNone) text += "[" + amount(property.count, property.count_value) + "]";
  }
  return text;
}

inline std::string FieldsText(const EventSchema& schema) { return FieldsText(schema, 0, schema.top_level, ','); }

}  // namespace etwpipe::schema
