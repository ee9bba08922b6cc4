#include "formats/schema/manifest_template.h"

#include <fmt/format.h>
#include <utf8.h>

#include <iterator>
#include <limits>

#include "formats/schema/manifest_words.h"
#include "formats/schema/utf16.h"

namespace etwpipe::schema {
namespace {

using FieldIndex = std::unordered_map<std::string, uint16_t>;

class Reader {
 public:
  explicit Reader(const ManifestMaps& maps) : maps_(maps) {}

  ManifestTemplate Run(const pugi::xml_node& node) {
    const Status status = Read(node);
    if (!status.ok()) template_.defect = fmt::format("{:.400}", status.message());
    return std::move(template_);
  }

 private:
  Status Read(const pugi::xml_node& node) {
    EventSchema& layout = template_.layout;
    layout.name = fmt::format("template '{:.100}'", ManifestAttribute(node, "tid"));
    ETWPIPE_RETURN_IF_ERROR(Fields(node, true));
    layout.top_level = static_cast<uint16_t>(layout.properties.size());
    const auto structs = std::move(structs_);
    for (const auto& [index, element] : structs) {
      members_.clear();
      enclosing_ = index;
      const size_t first = layout.properties.size();
      ETWPIPE_RETURN_IF_ERROR(Fields(element, false));
      layout.properties[index].first_member = static_cast<uint16_t>(first);
      layout.properties[index].member_count = static_cast<uint16_t>(layout.properties.size() - first);
    }
    return layout.Finish();
  }

  Status Fields(const pugi::xml_node& parent, bool top_level) {
    for (const pugi::xml_node& node : parent.children()) {
      const std::string_view element = node.name();
      if (element != "data" && element != "struct") continue;
      if (template_.layout.properties.size() == kMaxProperties) {
        return Error(fmt::format("it has more than {} fields", kMaxProperties));
      }
      const auto index = static_cast<uint16_t>(template_.layout.properties.size());
      Property property;
      property.name = ManifestAttribute(node, "name");
      if (element == "struct") {
        if (!top_level) return FieldError(property, "a struct cannot be in a struct");
        property.in = InType::kStruct;
        structs_.emplace_back(index, node);
      } else {
        ETWPIPE_RETURN_IF_ERROR(Type(node, property));
      }
      ETWPIPE_RETURN_IF_ERROR(Amount(node, "count", property, property.count, property.count_value));
      (top_level ? top_ : members_).emplace(property.name, index);
      template_.layout.properties.push_back(std::move(property));
    }
    return {};
  }

  Status Type(const pugi::xml_node& node, Property& property) {
    const std::string in = ManifestAttribute(node, "inType");
    const auto type = ManifestTypeOf(in);
    if (!type) return FieldError(property, fmt::format("inType '{:.100}' is unknown", in));
    property.in = type->in;
    property.out = type->out;
    if (const std::string out = ManifestAttribute(node, "outType"); !out.empty()) {
      if (const auto known = ManifestOutTypeOf(out, property.in)) {
        property.out = *known;
      } else {
        Remark(property, fmt::format("outType '{:.100}' is unknown", out));
      }
    }
    // A length that other types have repeats their size.
    const bool text = property.in == InType::kUnicodeString || property.in == InType::kAnsiString ||
                      property.in == InType::kRestUtf16 || property.in == InType::kRestAnsi;
    if (text || property.in == InType::kBinary) {
      ETWPIPE_RETURN_IF_ERROR(Amount(node, "length", property, property.length, property.length_value));
    }
    if (property.in == InType::kBinary && property.length == Extent::kNone) {
      constexpr uint16_t kIpv6Size = 16;
      property.length = Extent::kFixed;
      property.length_value = property.out == OutType::kIpv6 ? kIpv6Size : type->length;
      if (property.length_value == 0) return FieldError(property, "it is binary and has no length");
    }
    return Map(node, property);
  }

  Status Map(const pugi::xml_node& node, Property& property) {
    const std::string name = ManifestAttribute(node, "map");
    if (name.empty()) return {};
    const auto map = maps_.find(name);
    if (map == maps_.end()) {
      Remark(property, fmt::format("there is no map '{:.100}'", name));
      return {};
    }
    auto& used = template_.layout.maps;
    const auto [place, added] = map_places_.emplace(map->second.get(), static_cast<uint16_t>(used.size()));
    if (added) used.push_back(map->second);
    property.map = place->second;
    return {};
  }

  // A count or length: a number, or the name of a field that has it.
  Status Amount(const pugi::xml_node& node, const char* attribute, const Property& property, Extent& extent,
                uint16_t& value) const {
    const std::string text = ManifestAttribute(node, attribute);
    if (text.empty()) return {};
    if (const auto number = ManifestNumber(text)) {
      if (*number > std::numeric_limits<uint16_t>::max()) {
        return FieldError(property, fmt::format("{} {} is more than an event can hold", attribute, *number));
      }
      extent = Extent::kFixed;
      value = static_cast<uint16_t>(*number);
      return {};
    }
    extent = Extent::kField;
    if (const auto member = members_.find(text); member != members_.end()) {
      value = member->second;
      return {};
    }
    // While the top level is read, every field known is an earlier one.
    const auto top = top_.find(text);
    if (top == top_.end() || top->second >= enclosing_) {
      return FieldError(property, fmt::format("{} '{:.100}' is no earlier field", attribute, text));
    }
    value = top->second;
    return {};
  }

  Status Error(const std::string& what) const {
    return Status::InvalidArgument(fmt::format("{}: {}", template_.layout.name, what));
  }
  Status FieldError(const Property& property, std::string_view what) const {
    return Error(fmt::format("field '{:.100}': {}", property.name, what));
  }
  void Remark(const Property& property, std::string_view what) {
    template_.remarks.push_back(fmt::format("field '{:.100}': {}", property.name, what));
  }

  const ManifestMaps& maps_;
  ManifestTemplate template_;
  std::vector<std::pair<uint16_t, pugi::xml_node>> structs_;
  FieldIndex top_;
  FieldIndex members_;           // of the struct that is being read
  uint16_t enclosing_ = 0xFFFF;  // that struct
  std::unordered_map<const ValueMap*, uint16_t> map_places_;
};

}  // namespace

ManifestTemplate ReadManifestTemplate(const pugi::xml_node& node, const ManifestMaps& maps) {
  return Reader(maps).Run(node);
}

std::string ManifestAttribute(const pugi::xml_node& node, const char* name) {
  const std::string_view text = node.attribute(name).value();
  std::string valid;
  utf8::replace_invalid(text.begin(), text.end(), std::back_inserter(valid), kReplacementCharacter);
  return valid;
}

}  // namespace etwpipe::schema
