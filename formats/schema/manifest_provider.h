// <provider> of an instrumentation manifest: the schemas of its events.
#pragma once

#include <pugixml.hpp>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "formats/schema/event_schema.h"
#include "formats/schema/manifest.h"

namespace etwpipe::schema {

/// Texts of a string table by their ids.
using ManifestStrings = std::unordered_map<std::string, std::string>;

/// What the providers of a manifest add up to, within limits.
class ManifestOutput {
 public:
  explicit ManifestOutput(std::string_view name) : name_(name) {}

  /// Puts the name of the manifest before the text; beyond kMaxProblems only counts.
  void Problem(const std::string& text);

  /// Accounts for memory. False, and full() from then on, once it exceeds what a manifest may have.
  bool Charge(size_t bytes);
  bool full() const { return full_; }

  /// Adds a finished schema; false if there is one of its key already.
  bool Add(EventSchema&& schema);

  ManifestSchemas Take();

 private:
  static constexpr size_t kMaxProblems = 1000;
  /// Events that share a large template take more memory than their text.
  static constexpr size_t kMaxMemory = size_t{256} << 20;

  std::string name_;
  ManifestSchemas result_;
  std::set<std::tuple<Guid, bool, uint16_t, uint16_t>> keys_;
  size_t problems_ = 0;
  bool full_ = false;
};

/// Reads one <provider>. Time and memory are proportional to the text and to what `out` is charged with.
void ReadManifestProvider(const pugi::xml_node& node, const ManifestStrings& strings, SchemaOrigin origin,
                          ManifestOutput& out);

}  // namespace etwpipe::schema
