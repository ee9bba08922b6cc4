#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <tuple>

#include "formats/schema/schema_text.h"
#include "formats/schema/schema_words.h"

namespace etwpipe::schema {
namespace {

// A word as it is, or in quotes where the reader would take it for something else.
std::string Quoted(std::string_view text) {
  const bool plain = !text.empty() && text.find_first_of(" \t\r\n\"#\\[]{}") == std::string_view::npos &&
                     text != "use" && text != "note" && text != "message" && text != "optional";
  if (plain) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '\n') {
      quoted += "\\n";
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

// What schemas are sorted by.
auto Key(const EventSchema& schema) {
  return std::tuple(schema.provider->guid, schema.provider->name, !schema.key.classic, schema.key.number,
                    schema.key.first_version);
}

class Printer {
 public:
  std::string Run(std::vector<std::shared_ptr<const EventSchema>> schemas) {
    std::stable_sort(schemas.begin(), schemas.end(), [](const auto& a, const auto& b) { return Key(*a) < Key(*b); });
    NameMaps(schemas);
    const ProviderSchema* provider = nullptr;
    for (const auto& schema : schemas) {
      if (provider == nullptr || *provider != *schema->provider) {
        provider = schema->provider.get();
        Provider(*provider);
      }
      Event(*schema);
    }
    return std::move(text_);
  }

 private:
  template <typename... Args>
  void Add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }

  // Maps first: each once, with a name of its own.
  void NameMaps(const std::vector<std::shared_ptr<const EventSchema>>& schemas) {
    std::map<std::string, const ValueMap*> taken;
    for (const auto& schema : schemas) {
      for (const auto& map : schema->maps) {
        std::string name = map->name.empty() ? "map" : map->name;
        for (int next = 2;; ++next) {
          const auto [place, added] = taken.emplace(name, map.get());
          if (!added && *place->second != *map) {
            name = fmt::format("{}.{}", map->name, next);
            continue;
          }
          map_names_[map.get()] = name;
          if (added) Map(name, *map);
          break;
        }
      }
    }
  }

  void Map(const std::string& name, const ValueMap& map) {
    Add("{} {}\n", map.bits ? "flags" : "map", Quoted(name));
    for (const auto& entry : map.entries) {
      if (map.bits) {
        const std::string mask = entry.mask == 0 ? std::string() : fmt::format("/0x{:x}", entry.mask);
        Add("  0x{:x}{} {}\n", entry.value, mask, Quoted(entry.name));
      } else {
        Add("  {} {}\n", entry.value, Quoted(entry.name));
      }
    }
  }

  void Provider(const ProviderSchema& provider) {
    Add("{}provider {} {}\n", text_.empty() ? "" : "\n", Quoted(provider.name), ToString(provider.guid));
    for (const auto& keyword : provider.keywords) Add("keyword {} 0x{:x}\n", Quoted(keyword.name), keyword.mask);
  }

  void Event(const EventSchema& schema) {
    const EventKey& key = schema.key;
    Add("\nevent {} {} {}", Quoted(schema.name), key.classic ? "type" : "id", key.number);
    constexpr uint16_t kOpen = std::numeric_limits<uint16_t>::max();
    if (key.first_version == key.last_version) {
      Add(" v{}", key.first_version);
    } else if (key.last_version != kOpen) {
      Add(" v{}..{}", key.first_version, key.last_version);
    } else if (key.first_version != 0) {
      Add(" v{}+", key.first_version);
    }
    if (schema.level != 0) Add(" level {}", schema.level);
    Numbered("task", schema.task, schema.task_name);
    if (!key.classic || !schema.opcode_name.empty()) Numbered("opcode", schema.opcode, schema.opcode_name);
    if (schema.keyword != 0) Add(" keyword 0x{:x}", schema.keyword);
    if (!schema.channel_name.empty()) Add(" channel {}", Quoted(schema.channel_name));
    if (!schema.symbol.empty()) Add(" symbol {}", Quoted(schema.symbol));
    Add("\n");
    Free("note", schema.note);
    Free("message", schema.message);
    Fields(schema, 0, schema.top_level, 1);
  }

  void Numbered(std::string_view word, unsigned number, std::string_view name) {
    if (number == 0 && name.empty()) return;
    if (name.empty()) {
      Add(" {} {}", word, number);
    } else {
      Add(" {} {}", word, Quoted(fmt::format("{}:{}", number, name)));
    }
  }

  void Free(std::string_view statement, std::string_view text) {
    if (text.empty()) return;
    const bool plain =
        text.find_first_of("\r\n\"") == std::string_view::npos && text.front() != ' ' && text.back() != ' ';
    std::string quoted = "\"";
    quoted.clear();
    if (!plain) quoted = Quoted(fmt::format("{}", text));
    if (!plain && quoted.front() != '"') quoted = '"' + quoted + '"';
    Add("  {} {}\n", statement, plain ? text : std::string_view(quoted));
  }

  std::string Amount(const EventSchema& schema, Extent extent, uint16_t value) const {
    switch (extent) {
      case Extent::kNone: return {};
      case Extent::kFixed: return std::to_string(value);
      case Extent::kField: return schema.properties[value].name;
      case Extent::kPrefix16: return "u16";
      case Extent::kRest: return "*";
    }
    return {};
  }

  void Fields(const EventSchema& schema, size_t begin, size_t end, int depth) {
    for (size_t i = begin; i < end; ++i) {
      const Property& property = schema.properties[i];
      Add("{:{}}{}", "", depth * 2, Quoted(property.name.empty() ? "-" : property.name));
      if (property.count != Extent::kNone) Add("[{}]", Amount(schema, property.count, property.count_value));
      if (property.in == InType::kStruct) {
        Add(" {{\n");
        if (depth < EventSchema::kMaxDepth) {
          Fields(schema, property.first_member, size_t{property.first_member} + property.member_count, depth + 1);
        }
        Add("{:{}}}}\n", "", depth * 2);
        continue;
      }
      Add(" {}", WordOf(property.in));
      if (property.length != Extent::kNone) Add("({})", Amount(schema, property.length, property.length_value));
      if (property.out != OutType::kDefault) Add(":{}", WordOf(property.out));
      if (property.map != kNoMap) Add(" {}", Quoted(map_names_.at(schema.maps[property.map].get())));
      if (property.optional) Add(" optional");
      Add("\n");
    }
  }

  std::string text_;
  std::map<const ValueMap*, std::string> map_names_;
};

}  // namespace

std::string PrintSchemaText(const std::vector<std::shared_ptr<const EventSchema>>& schemas) {
  return Printer().Run(schemas);
}

}  // namespace etwpipe::schema
