// <template> of an instrumentation manifest: the layout that events of a provider share.
#pragma once

#include <memory>
#include <pugixml.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "formats/schema/event_schema.h"

namespace etwpipe::schema {

/// Maps of a provider by their names.
using ManifestMaps = std::unordered_map<std::string, std::shared_ptr<const ValueMap>>;

struct ManifestTemplate {
  /// Finished; has properties and maps only, an event adds the rest to a copy.
  EventSchema layout;
  /// Why events cannot have this layout; empty if they can.
  std::string defect;
  /// What is missing without harm to the layout.
  std::vector<std::string> remarks;
};

/// Reads the <data> and <struct> elements of a <template>. A struct's members follow the top level. The count or length
/// of a field may name a field before it: of the same struct, else of the top level.
ManifestTemplate ReadManifestTemplate(const pugi::xml_node& node, const ManifestMaps& maps);

/// An attribute as valid UTF-8; empty if it is not there.
std::string ManifestAttribute(const pugi::xml_node& node, const char* name);

}  // namespace etwpipe::schema
