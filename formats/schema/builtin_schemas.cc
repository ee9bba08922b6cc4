#include "formats/schema/builtin_schemas.h"

#include <mutex>
#include <stdexcept>
#include <unordered_map>

#include "formats/schema/schema_text.h"

namespace etwpipe::schema {
namespace {

// A file and, once somebody asked for one of its providers, what it says.
struct LoadedFile {
  std::once_flag once;
  std::unordered_map<Guid, std::vector<std::shared_ptr<const EventSchema>>> schemas;
};

// The provider GUIDs of each file, read off its provider lines without parsing the rest.
class Index {
 public:
  Index() : loaded_(BuiltInFiles().size()) {
    const auto& files = BuiltInFiles();
    for (size_t i = 0; i < files.size(); ++i) {
      constexpr std::string_view kStatement = "provider ";
      const std::string_view text = files[i].text;
      for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
        if (text.substr(at, kStatement.size()) == kStatement) {
          const std::string_view line = text.substr(at, text.find('\n', at) - at);
          const std::string_view before = line.substr(0, line.find('#'));
          const std::string_view trimmed = before.substr(0, before.find_last_not_of(" \t") + 1);
          if (const auto guid = ParseGuid(trimmed.substr(trimmed.rfind(' ') + 1))) {
            if (files_.emplace(*guid, i).second) providers_.push_back(*guid);
          }
        }
        if (text.find('\n', at) == std::string_view::npos) break;
      }
    }
  }

  const std::vector<Guid>& providers() const { return providers_; }

  const std::vector<std::shared_ptr<const EventSchema>>& Of(const Guid& provider) {
    static const std::vector<std::shared_ptr<const EventSchema>> kNone;
    const auto file = files_.find(provider);
    if (file == files_.end()) return kNone;
    LoadedFile& loaded = loaded_[file->second];
    std::call_once(loaded.once, [&] { Load(BuiltInFiles()[file->second], loaded); });
    return loaded.schemas[provider];
  }

 private:
  static void Load(const BuiltInFile& file, LoadedFile& loaded) {
    auto parsed = ParseSchemaText(file.text, file.name, SchemaOrigin::kBuiltIn);
    // A test parses every file, so this is a defect of the build.
    if (!parsed.ok()) throw std::logic_error(std::string(parsed.status().message()));
    for (auto& schema : *parsed) {
      auto& list = loaded.schemas[schema->provider->guid];
      list.push_back(std::move(schema));
    }
  }

  std::unordered_map<Guid, size_t> files_;
  std::vector<Guid> providers_;
  std::vector<LoadedFile> loaded_;
};

Index& TheIndex() {
  static Index index;
  return index;
}

}  // namespace

const std::vector<std::shared_ptr<const EventSchema>>& BuiltInSchemas(const Guid& provider) {
  return TheIndex().Of(provider);
}

const std::vector<Guid>& BuiltInProviders() { return TheIndex().providers(); }

std::shared_ptr<const EventSchema> PickVersion(const std::vector<std::shared_ptr<const EventSchema>>& schemas,
                                               bool classic, uint16_t number, uint16_t version) {
  std::shared_ptr<const EventSchema> newest;
  for (const auto& schema : schemas) {
    const EventKey& key = schema->key;
    if (key.classic != classic || key.number != number) continue;
    if (version >= key.first_version && version <= key.last_version) return schema;
    if (key.last_version >= version) continue;
    if (newest == nullptr || newest->key.last_version < key.last_version) newest = schema;
  }
  return newest;
}

std::shared_ptr<const EventSchema> BuiltInSupplier::Find(const SchemaRequest& request) const {
  const bool classic = SchemaRegistry::IsClassic(request.row.kind);
  const uint16_t number = classic ? request.row.opcode : request.row.id;
  return PickVersion(BuiltInSchemas(request.provider), classic, number, request.row.version);
}

}  // namespace etwpipe::schema
