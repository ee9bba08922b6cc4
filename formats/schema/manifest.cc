#include "formats/schema/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <pugixml.hpp>

#include "formats/schema/manifest_provider.h"
#include "formats/schema/manifest_template.h"

namespace etwpipe::schema {
namespace {

// A document takes up to 64 bytes of memory an element and 40 an attribute.
constexpr std::ptrdiff_t kMaxElements = 2 << 20;
constexpr std::ptrdiff_t kMaxAttributes = 4 << 20;

// The strings of en-US, else of the first culture.
ManifestStrings ReadStrings(const pugi::xml_node& root) {
  pugi::xml_node chosen;
  for (const auto& localization : root.children("localization")) {
    for (const auto& resources : localization.children("resources")) {
      const std::string culture = ManifestAttribute(resources, "culture");
      if (!chosen || culture == "en-US") chosen = resources;
      if (culture == "en-US") break;
    }
  }
  ManifestStrings strings;
  for (const auto& table : chosen.children("stringTable")) {
    for (const auto& string : table.children("string")) {
      strings.emplace(ManifestAttribute(string, "id"), ManifestAttribute(string, "value"));
    }
  }
  return strings;
}

}  // namespace

Result<ManifestSchemas> ParseManifest(std::string_view bytes, std::string_view name, SchemaOrigin origin) {
  const auto error = [&](const std::string& text) {
    return Status::InvalidArgument(fmt::format("{}: {}", name, text));
  };
  if (bytes.size() > kMaxManifestBytes) {
    return error(fmt::format("larger than the {} MiB a manifest may have", kMaxManifestBytes >> 20));
  }
  if (std::count(bytes.begin(), bytes.end(), '<') > kMaxElements ||
      std::count(bytes.begin(), bytes.end(), '=') > kMaxAttributes) {
    return error("too many elements for a manifest");
  }
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer(bytes.data(), bytes.size());
  if (!parsed) return error(fmt::format("no XML: {} at byte {}", parsed.description(), parsed.offset));
  const pugi::xml_node root = document.child("instrumentationManifest");
  if (!root) return error("no instrumentation manifest: its root element is another");

  const ManifestStrings strings = ReadStrings(root);
  ManifestOutput out(name);
  for (const auto& instrumentation : root.children("instrumentation")) {
    for (const auto& events : instrumentation.children("events")) {
      for (const auto& provider : events.children("provider")) {
        ReadManifestProvider(provider, strings, origin, out);
      }
    }
  }
  return out.Take();
}

}  // namespace etwpipe::schema
