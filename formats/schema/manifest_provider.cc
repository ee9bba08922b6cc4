#include "formats/schema/manifest_provider.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "formats/schema/manifest_template.h"
#include "formats/schema/manifest_words.h"

namespace etwpipe::schema {
namespace {

size_t MemoryOf(const EventSchema& schema) {
  // Each property has an offset for either pointer size.
  size_t bytes = sizeof schema + schema.provider->name.size() + schema.name.size() + schema.symbol.size() +
                 schema.task_name.size() + schema.opcode_name.size() + schema.channel_name.size() +
                 schema.message.size() + schema.maps.size() * sizeof schema.maps[0];
  for (const Property& property : schema.properties) {
    bytes += sizeof property + property.name.size() + 2 * sizeof(uint32_t);
  }
  return bytes;
}

// %n and the like of the message compiler. What a renderer must see stays: %% and the numbers of fields.
std::string MessageText(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char next = text[i] == '%' && i + 1 < text.size() ? text[i + 1] : '\0';
    switch (next) {
      case 'n': out += '\n'; break;
      case 't': out += '\t'; break;
      case 'r': out += '\r'; break;
      case 'b': out += ' '; break;
      case '%': out += "%%"; break;
      default: out += text[i]; continue;
    }
    ++i;
  }
  return out;
}

struct Task {
  uint16_t value = 0;
  Guid event_guid{};
  NameTable opcodes;
};

struct Named {
  uint64_t value = 0;
  std::string name;
};

// Reads one <provider>.
class ProviderReader {
 public:
  ProviderReader(const ManifestStrings& strings, SchemaOrigin origin, ManifestOutput& out)
      : strings_(strings), origin_(origin), out_(out) {}

  void Run(const pugi::xml_node& node) {
    provider_.name = ManifestAttribute(node, "name");
    const auto guid = ParseGuid(ManifestAttribute(node, "guid"));
    if (!guid) return Problem("its guid is none");
    provider_.guid = *guid;
    for (const auto& list : node.children("keywords")) ReadNames(list, "keyword", "mask", UINT64_MAX, keywords_);
    for (const auto& list : node.children("levels")) ReadNames(list, "level", "value", UINT8_MAX, levels_);
    for (const auto& list : node.children("opcodes")) ReadNames(list, "opcode", "value", UINT8_MAX, opcodes_);
    for (const auto& list : node.children("channels")) ReadChannels(list);
    for (const auto& list : node.children("tasks")) ReadTasks(list);
    for (const auto& list : node.children("maps")) ReadMaps(list);
    for (const auto& list : node.children("templates")) ReadTemplates(list);
    for (const auto& list : node.children("keywords")) ReadKeywords(list);
    shared_ = std::make_shared<const ProviderSchema>(provider_);
    for (const auto& list : node.children("events")) {
      for (const auto& event : list.children("event")) {
        if (out_.full()) return;
        ReadEvent(event);
      }
    }
  }

 private:
  void Problem(const std::string& text) { out_.Problem(fmt::format("provider '{:.100}': {}", provider_.name, text)); }

  void ReadNames(const pugi::xml_node& list, const char* element, const char* attribute, uint64_t max,
                 NameTable& table) {
    for (const auto& node : list.children(element)) {
      const std::string name = ManifestAttribute(node, "name");
      const auto value = ManifestNumber(ManifestAttribute(node, attribute));
      if (value && *value <= max) {
        table.Add(name, *value);
      } else {
        Problem(fmt::format("{} '{:.100}' has no valid {}", element, name, attribute));
      }
    }
  }

  void ReadKeywords(const pugi::xml_node& list) {
    constexpr std::string_view kSuffix = "Keyword";
    for (const auto& node : list.children("keyword")) {
      const std::string name = ManifestAttribute(node, "name");
      const auto mask = keywords_.ValueOf(name);
      if (!mask) continue;
      std::string shown = WithoutPrefix(name);
      if (shown.size() > kSuffix.size() && shown.ends_with(kSuffix)) shown.resize(shown.size() - kSuffix.size());
      provider_.keywords.push_back({std::move(shown), *mask});
    }
  }

  void ReadChannels(const pugi::xml_node& list) {
    for (const auto& node : list.children()) {
      const std::string name = ManifestAttribute(node, "name");
      channels_.emplace(name, name);
      channels_.emplace(ManifestAttribute(node, "chid"), name);
    }
  }

  void ReadTasks(const pugi::xml_node& list) {
    Task* last = nullptr;
    for (const auto& node : list.children()) {
      const std::string_view element = node.name();
      // Manifests made from MOF classes have a task's opcodes behind it.
      if (element == "opcodes" && last != nullptr) ReadNames(node, "opcode", "value", UINT8_MAX, last->opcodes);
      if (element != "task") continue;
      const std::string name = ManifestAttribute(node, "name");
      const auto value = ManifestNumber(ManifestAttribute(node, "value"));
      if (!value || *value > UINT16_MAX) {
        Problem(fmt::format("task '{:.100}' has no valid value", name));
        last = nullptr;
        continue;
      }
      last = &tasks_[name];
      last->value = static_cast<uint16_t>(*value);
      last->event_guid = ParseGuid(ManifestAttribute(node, "eventGUID")).value_or(Guid{});
      for (const auto& opcodes : node.children("opcodes")) {
        ReadNames(opcodes, "opcode", "value", UINT8_MAX, last->opcodes);
      }
    }
  }

  void ReadMaps(const pugi::xml_node& list) {
    for (const auto& node : list.children()) {
      const std::string_view element = node.name();
      if (element != "valueMap" && element != "bitMap") continue;
      auto map = std::make_shared<ValueMap>();
      map->name = ManifestAttribute(node, "name");
      map->bits = element == "bitMap";
      for (const auto& entry : node.children("map")) {
        const auto value = ManifestNumber(ManifestAttribute(entry, "value"));
        if (!value) {
          Problem(fmt::format("map '{:.100}': an entry has no valid value", map->name));
          continue;
        }
        auto text = Localized(ManifestAttribute(entry, "message"));
        if (!text || text->empty()) text = ManifestAttribute(entry, "symbol");
        if (!out_.Charge(text->size() + sizeof(ValueMap::Entry))) return;
        if (text->empty()) {
          Problem(fmt::format("map '{:.100}': value {} has no name", map->name, *value));
          continue;
        }
        text->erase(text->find_last_not_of(' ') + 1);
        map->entries.push_back({*value, std::move(*text)});
      }
      maps_.emplace(map->name, std::move(map));
    }
  }

  void ReadTemplates(const pugi::xml_node& list) {
    for (const auto& node : list.children("template")) {
      const std::string tid = ManifestAttribute(node, "tid");
      if (templates_.contains(tid)) {
        Problem(fmt::format("template '{:.100}' is there twice; the first counts", tid));
        continue;
      }
      const ManifestTemplate& read = templates_.emplace(tid, ReadManifestTemplate(node, maps_)).first->second;
      for (const std::string& remark : read.remarks) Problem(fmt::format("template '{:.100}': {}", tid, remark));
    }
  }

  // The text of "$(string.ID)", or what is no such reference as it is; nullopt if there is no string of that ID.
  std::optional<std::string> Localized(const std::string& text) const {
    constexpr std::string_view kBegin = "$(string.";
    if (!text.starts_with(kBegin) || !text.ends_with(')')) return text;
    const auto found = strings_.find(text.substr(kBegin.size(), text.size() - kBegin.size() - 1));
    return found == strings_.end() ? std::nullopt : std::optional(found->second);
  }

  // A name that the task, the provider or "win:" declares, or a number.
  static std::optional<Named> Find(const std::string& text, std::initializer_list<const NameTable*> tables) {
    for (const NameTable* table : tables) {
      if (const auto value = table->ValueOf(text)) return Named{*value, WithoutPrefix(text)};
    }
    const auto number = ManifestNumber(text);
    if (!number) return std::nullopt;
    for (const NameTable* table : tables) {
      if (std::string name = table->NameOf(*number); !name.empty()) return Named{*number, WithoutPrefix(name)};
    }
    return Named{*number, {}};
  }

  void ReadEvent(const pugi::xml_node& node) {
    const std::string number = ManifestAttribute(node, "value");
    const std::string version_text = ManifestAttribute(node, "version");
    const std::string label = fmt::format("event {:.20} v{:.20}", number, version_text.empty() ? "0" : version_text);
    const auto problem = [&](const std::string& text) { Problem(label + ": " + text); };
    const auto value = ManifestNumber(number);
    const auto version = version_text.empty() ? std::optional<uint64_t>(0) : ManifestNumber(version_text);
    if (!value || !version || *version > UINT16_MAX) return problem("its value or version is no number");

    EventSchema schema;
    if (const std::string tid = ManifestAttribute(node, "template"); !tid.empty()) {
      const auto found = templates_.find(tid);
      if (found == templates_.end()) return problem(fmt::format("there is no template '{:.100}'", tid));
      if (!found->second.defect.empty()) return problem(found->second.defect);
      schema = found->second.layout;
    } else if (const Status status = schema.Finish(); !status.ok()) {
      return problem(std::string(status.message()));
    }
    schema.provider = shared_;
    schema.origin = origin_;
    schema.key = {false, 0, static_cast<uint16_t>(*version), static_cast<uint16_t>(*version)};
    schema.symbol = ManifestAttribute(node, "symbol");
    const Task* task = ReadNamesOf(node, schema, problem);
    schema.name = NameOf(schema, *value);

    if (!out_.Charge(MemoryOf(schema))) return;

    const bool has_classic_form = task != nullptr && task->event_guid != Guid{};
    if (*value > UINT16_MAX && !has_classic_form) return problem("its value is too large for an event id");
    if (has_classic_form) {
      EventSchema classic = schema;
      classic.provider = ClassicProvider(task->event_guid);
      classic.key.classic = true;
      classic.key.number = schema.opcode;
      classic.keyword = 0;
      // Several events may share one: runtime and rundown of the CLR do.
      if (out_.Charge(MemoryOf(classic))) (void)out_.Add(std::move(classic));
    }
    if (*value > UINT16_MAX) return;
    schema.key.number = static_cast<uint16_t>(*value);
    if (!out_.Add(std::move(schema))) problem("it is there twice; the first counts");
  }

  // Task, opcode, level, keywords, channel and message; what is not declared is a problem and stays out. Gives the
  // task.
  template <typename Report>
  const Task* ReadNamesOf(const pugi::xml_node& node, EventSchema& schema, const Report& problem) {
    const auto missing = [&](const char* what, const std::string& name) {
      problem(fmt::format("there is no {} '{:.100}'", what, name));
    };
    static const Task kNoTask;
    const Task* task = nullptr;
    if (const std::string name = ManifestAttribute(node, "task"); !name.empty()) {
      const auto found = tasks_.find(name);
      if (found != tasks_.end()) {
        task = &found->second;
        schema.task = task->value;
        schema.task_name = name;
      } else {
        missing("task", name);
      }
    }
    if (const std::string name = ManifestAttribute(node, "opcode"); !name.empty()) {
      const NameTable& own = (task == nullptr ? kNoTask : *task).opcodes;
      const auto opcode = Find(name, {&own, &opcodes_, &WinOpcodes()});
      if (opcode && opcode->value <= UINT8_MAX) {
        schema.opcode = static_cast<uint8_t>(opcode->value);
        schema.opcode_name = opcode->name;
      } else {
        missing("opcode", name);
      }
    }
    if (const std::string name = ManifestAttribute(node, "level"); !name.empty()) {
      const auto level = Find(name, {&levels_, &WinLevels()});
      if (level && level->value <= UINT8_MAX) {
        schema.level = static_cast<uint8_t>(level->value);
      } else {
        missing("level", name);
      }
    }
    const std::string keywords = ManifestAttribute(node, "keywords");
    constexpr std::string_view kBlanks = " \t\r\n";
    for (size_t at = keywords.find_first_not_of(kBlanks); at != std::string::npos;) {
      const size_t end = std::min(keywords.find_first_of(kBlanks, at), keywords.size());
      const std::string name = keywords.substr(at, end - at);
      if (const auto keyword = Find(name, {&keywords_, &WinKeywords()})) {
        schema.keyword |= keyword->value;
      } else {
        missing("keyword", name);
      }
      at = keywords.find_first_not_of(kBlanks, end);
    }
    if (const std::string name = ManifestAttribute(node, "channel"); !name.empty()) {
      const auto channel = channels_.find(name);
      schema.channel_name = channel == channels_.end() ? name : channel->second;
    }
    if (const std::string text = ManifestAttribute(node, "message"); !text.empty()) {
      if (const auto message = Localized(text)) {
        schema.message = MessageText(*message);
      } else {
        missing("message", text);
      }
    }
    return task;
  }

  static std::string NameOf(const EventSchema& schema, uint64_t value) {
    if (schema.task_name.empty()) return schema.symbol.empty() ? fmt::format("EventID({})", value) : schema.symbol;
    if (schema.opcode == 0) return schema.task_name;
    if (schema.opcode_name.empty()) return fmt::format("{}/Opcode({})", schema.task_name, schema.opcode);
    return schema.task_name + "/" + schema.opcode_name;
  }

  std::shared_ptr<const ProviderSchema> ClassicProvider(const Guid& guid) {
    auto& provider = classic_[guid];
    if (provider == nullptr) {
      // Classic records have no keywords.
      provider = std::make_shared<const ProviderSchema>(ProviderSchema{guid, provider_.name, {}});
    }
    return provider;
  }

  const ManifestStrings& strings_;
  SchemaOrigin origin_;
  ManifestOutput& out_;
  ProviderSchema provider_;
  std::shared_ptr<const ProviderSchema> shared_;
  std::unordered_map<Guid, std::shared_ptr<const ProviderSchema>> classic_;
  NameTable keywords_;
  NameTable levels_;
  NameTable opcodes_;
  std::unordered_map<std::string, std::string> channels_;
  std::unordered_map<std::string, Task> tasks_;
  ManifestMaps maps_;
  std::unordered_map<std::string, ManifestTemplate> templates_;
};

}  // namespace

void ManifestOutput::Problem(const std::string& text) {
  if (++problems_ <= kMaxProblems) result_.problems.push_back(name_ + ": " + text);
}

bool ManifestOutput::Charge(size_t bytes) {
  if (full_) return false;
  result_.memory += bytes;
  if (result_.memory <= kMaxMemory) return true;
  full_ = true;
  Problem(fmt::format("its events take more than {} MiB; the rest is left out", kMaxMemory >> 20));
  return false;
}

bool ManifestOutput::Add(EventSchema&& schema) {
  const EventKey& key = schema.key;
  if (!keys_.emplace(schema.provider->guid, key.classic, key.number, key.first_version).second) return false;
  result_.schemas.push_back(std::make_shared<const EventSchema>(std::move(schema)));
  return true;
}

ManifestSchemas ManifestOutput::Take() {
  if (problems_ > kMaxProblems) {
    result_.problems.push_back(fmt::format("{}: {} more problems", name_, problems_ - kMaxProblems));
  }
  return std::move(result_);
}

void ReadManifestProvider(const pugi::xml_node& node, const ManifestStrings& strings, SchemaOrigin origin,
                          ManifestOutput& out) {
  ProviderReader(strings, origin, out).Run(node);
}

}  // namespace etwpipe::schema
