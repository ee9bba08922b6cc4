#include "formats/schema/schema_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <tuple>

#include "formats/schema/schema_words.h"

namespace etwpipe::schema {
namespace {

// One line as words. A word in quotes is marked, so that a name may look like anything.
struct Word {
  std::string text;
  bool quoted = false;
};

Result<std::vector<Word>> SplitLine(std::string_view line) {
  std::vector<Word> words;
  for (size_t at = 0; at < line.size();) {
    if (line[at] == ' ' || line[at] == '\t' || line[at] == '\r') {
      ++at;
      continue;
    }
    if (line[at] == '#') break;
    Word word;
    // A quoted part may be followed by a count: "a name"[4].
    while (at < line.size() && line[at] != ' ' && line[at] != '\t' && line[at] != '\r') {
      if (line[at] != '"') {
        word.text += line[at++];
        continue;
      }
      word.quoted = true;
      for (++at; at < line.size() && line[at] != '"'; ++at) {
        if (line[at] != '\\' || at + 1 == line.size()) {
          word.text += line[at];
        } else {
          word.text += line[++at] == 'n' ? '\n' : line[at];
        }
      }
      if (at == line.size()) return Status::InvalidArgument("a quote is not closed");
      ++at;
    }
    words.push_back(std::move(word));
  }
  return words;
}

std::optional<uint64_t> NumberOf(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x")) {
    text.remove_prefix(2);
    base = 16;
  }
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// A field as written: its references are names, and its members stand in it.
struct Field {
  Property property;
  std::string count_field;
  std::string length_field;
  std::string map_name;
  std::vector<Field> members;
};

class Parser {
 public:
  Parser(std::string_view text, std::string_view name, SchemaOrigin origin)
      : text_(text), name_(name), origin_(origin) {}

  Result<std::vector<std::shared_ptr<const EventSchema>>> Run() {
    while (!text_.empty()) {
      const size_t end = std::min(text_.find('\n'), text_.size());
      const std::string_view line = text_.substr(0, end);
      text_.remove_prefix(std::min(end + 1, text_.size()));
      ++line_;
      ETWPIPE_RETURN_IF_ERROR(Line(line).WithContext(fmt::format("{}:{}", name_, line_)));
    }
    ETWPIPE_RETURN_IF_ERROR(EndBlock().WithContext(fmt::format("{}:{}", name_, line_)));
    EndProvider();
    return std::move(schemas_);
  }

 private:
  enum class Block { kNone, kMap, kLayout, kEvent };

  static Status Error(std::string_view what) { return Status::InvalidArgument(std::string(what)); }

  Status Line(std::string_view line) {
    auto split = SplitLine(line);
    if (!split.ok()) return split.status();
    std::vector<Word>& words = *split;
    if (words.empty()) return {};
    const bool indented = line.front() == ' ' || line.front() == '\t';
    if (indented) return Indented(line, words);
    ETWPIPE_RETURN_IF_ERROR(EndBlock());
    const std::string& statement = words.front().text;
    if (statement == "provider") return Provider(words);
    if (statement == "keyword") return Keyword(words);
    if (statement == "map" || statement == "flags") return Map(words);
    if (statement == "layout") return Layout(words);
    if (statement == "event") return Event(words);
    return Error(
        fmt::format("unknown statement '{}'; expected provider, keyword, map, flags, layout or event", statement));
  }

  Status Provider(const std::vector<Word>& words) {
    const auto guid = words.size() == 3 ? ParseGuid(words[2].text) : std::nullopt;
    if (!guid) return Error("expected provider NAME GUID");
    EndProvider();
    provider_ = std::make_shared<ProviderSchema>();
    provider_->name = words[1].text;
    provider_->guid = *guid;
    return {};
  }

  // Events get their provider when all its keywords are known.
  void EndProvider() {
    for (const auto& schema : pending_) schema->provider = provider_;
    pending_.clear();
  }

  Status Keyword(const std::vector<Word>& words) {
    const auto mask = words.size() == 3 ? NumberOf(words[2].text) : std::nullopt;
    if (!mask) return Error("expected keyword NAME MASK");
    if (provider_ == nullptr) return Error("a keyword needs a provider before it");
    provider_->keywords.push_back({words[1].text, *mask});
    return {};
  }

  Status Map(const std::vector<Word>& words) {
    if (words.size() != 2) return Error(fmt::format("expected {} NAME", words.front().text));
    map_ = std::make_shared<ValueMap>();
    map_->name = words[1].text;
    map_->bits = words.front().text == "flags";
    block_ = Block::kMap;
    return {};
  }

  Status Layout(const std::vector<Word>& words) {
    if (words.size() != 2) return Error("expected layout NAME");
    layout_name_ = words[1].text;
    fields_.clear();
    block_ = Block::kLayout;
    return {};
  }

  Status Event(const std::vector<Word>& words) {
    if (provider_ == nullptr) return Error("an event needs a provider before it");
    if (words.size() < 2) return Error("expected event NAME type N or event NAME id N");
    event_ = std::make_shared<EventSchema>();
    event_->name = words[1].text;
    event_->origin = origin_;
    event_->key.last_version = std::numeric_limits<uint16_t>::max();
    bool keyed = false;
    for (size_t i = 2; i < words.size(); ++i) {
      const std::string& word = words[i].text;
      if (word.size() > 1 && word[0] == 'v' && word[1] >= '0' && word[1] <= '9') {
        ETWPIPE_RETURN_IF_ERROR(Versions(std::string_view(word).substr(1)));
        continue;
      }
      if (i + 1 == words.size()) return Error(fmt::format("'{}' needs a value", word));
      ETWPIPE_RETURN_IF_ERROR(Attribute(word, words[++i].text));
      keyed = keyed || word == "type" || word == "id";
    }
    if (!keyed) return Error("an event needs type N or id N");
    fields_.clear();
    block_ = Block::kEvent;
    return {};
  }

  Status Versions(std::string_view text) {
    const size_t dots = text.find("..");
    const bool open = text.back() == '+';
    const auto first = NumberOf(text.substr(0, open ? text.size() - 1 : std::min(dots, text.size())));
    auto last = first;
    if (open) last = std::numeric_limits<uint16_t>::max();
    if (dots != std::string_view::npos) last = NumberOf(text.substr(dots + 2));
    constexpr uint64_t kMax = std::numeric_limits<uint16_t>::max();
    if (!first || !last || *first > *last || *last > kMax) return Error("expected a version: vN, vN+ or vN..M");
    event_->key.first_version = static_cast<uint16_t>(*first);
    event_->key.last_version = static_cast<uint16_t>(*last);
    return {};
  }

  // Reads a number, or a number and a name separated by a colon.
  static Status Numbered(const std::string& text, uint64_t max, uint64_t& number, std::string* name) {
    const size_t colon = name == nullptr ? std::string::npos : text.find(':');
    const auto value = NumberOf(std::string_view(text).substr(0, colon));
    if (!value || *value > max) return Error(fmt::format("'{}' is not a number up to {}", text, max));
    number = *value;
    if (colon != std::string::npos) *name = text.substr(colon + 1);
    return {};
  }

  Status Attribute(const std::string& word, const std::string& text) {
    uint64_t number = 0;
    EventSchema& event = *event_;
    if (word == "symbol") {
      event.symbol = text;
    } else if (word == "channel") {
      event.channel_name = text;
    } else if (word == "keyword") {
      ETWPIPE_RETURN_IF_ERROR(Numbered(text, std::numeric_limits<uint64_t>::max(), number, nullptr));
      event.keyword = number;
    } else if (word == "level") {
      ETWPIPE_RETURN_IF_ERROR(Numbered(text, 0xFF, number, nullptr));
      event.level = static_cast<uint8_t>(number);
    } else if (word == "task") {
      ETWPIPE_RETURN_IF_ERROR(Numbered(text, 0xFFFF, number, &event.task_name));
      event.task = static_cast<uint16_t>(number);
    } else if (word == "opcode") {
      ETWPIPE_RETURN_IF_ERROR(Numbered(text, 0xFF, number, &event.opcode_name));
      event.opcode = static_cast<uint8_t>(number);
    } else if (word == "id" || word == "type") {
      event.key.classic = word == "type";
      ETWPIPE_RETURN_IF_ERROR(Numbered(text, event.key.classic ? 0xFF : 0xFFFF, number, nullptr));
      event.key.number = static_cast<uint16_t>(number);
      if (event.key.classic) event.opcode = static_cast<uint8_t>(number);
    } else {
      return Error(fmt::format("unknown word '{}'", word));
    }
    return {};
  }

  Status Indented(std::string_view line, const std::vector<Word>& words) {
    switch (block_) {
      case Block::kNone: return Error("an indented line needs a map, flags, layout or event above it");
      case Block::kMap: {
        if (words.size() != 2) return Error("expected VALUE NAME");
        const std::string_view number = words[0].text;
        const size_t slash = map_->bits ? number.find('/') : std::string_view::npos;
        const auto value = NumberOf(number.substr(0, slash));
        const auto mask = slash == std::string_view::npos ? uint64_t{0} : NumberOf(number.substr(slash + 1));
        if (!value || !mask) return Error("expected VALUE NAME");
        if ((*value & ~*mask) != 0 && slash != std::string_view::npos)
          return Error("the value has bits outside its mask");
        map_->entries.push_back({*value, words[1].text, *mask});
        return {};
      }
      case Block::kEvent:
        if (words.front().text == "note") return Free(line, "note", event_->note);
        if (words.front().text == "message") return Free(line, "message", event_->message);
        return FieldLine(words);
      case Block::kLayout: return FieldLine(words);
    }
    return {};
  }

  // Text up to the end of the line, as it is; a quoted word keeps line ends.
  static Status Free(std::string_view line, std::string_view statement, std::string& out) {
    std::string_view rest = line.substr(line.find(statement) + statement.size());
    while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\t')) rest.remove_prefix(1);
    while (!rest.empty() && (rest.back() == ' ' || rest.back() == '\r')) rest.remove_suffix(1);
    if (!out.empty()) out += '\n';
    if (rest.starts_with('"')) {
      const auto words = SplitLine(rest);
      if (!words.ok()) return words.status();
      out += words->front().text;
    } else {
      out += rest;
    }
    return {};
  }

  std::vector<Field>& CurrentFields() {
    std::vector<Field>* fields = &fields_;
    for (int depth = 0; depth < open_structs_; ++depth) fields = &fields->back().members;
    return *fields;
  }

  Status FieldLine(const std::vector<Word>& words) {
    const Word& first = words.front();
    if (first.text == "}" && !first.quoted) {
      if (open_structs_ == 0) return Error("there is no struct to end");
      --open_structs_;
      return {};
    }
    if (first.text == "use" && !first.quoted && words.size() == 2 && !InTypeOf(words[1].text)) {
      const auto layout = layouts_.find(words[1].text);
      if (layout == layouts_.end()) return Error(fmt::format("unknown layout '{}'", words[1].text));
      auto& fields = CurrentFields();
      fields.insert(fields.end(), layout->second.begin(), layout->second.end());
      return {};
    }
    Field field;
    ETWPIPE_RETURN_IF_ERROR(Name(first.text, field));
    if (words.size() < 2) return Error("expected NAME TYPE");
    if (words[1].text == "{") {
      if (open_structs_ >= EventSchema::kMaxDepth) return Error("structs are nested too deep");
      field.property.in = InType::kStruct;
      CurrentFields().push_back(std::move(field));
      ++open_structs_;
      return {};
    }
    ETWPIPE_RETURN_IF_ERROR(Type(words[1].text, field));
    for (size_t i = 2; i < words.size(); ++i) {
      if (words[i].text == "optional" && !words[i].quoted) {
        field.property.optional = true;
      } else if (field.map_name.empty()) {
        field.map_name = words[i].text;
      } else {
        return Error(fmt::format("'{}' is too much; a field has one map", words[i].text));
      }
    }
    CurrentFields().push_back(std::move(field));
    return {};
  }

  static Status Name(const std::string& text, Field& field) {
    const size_t bracket = text.ends_with(']') ? text.rfind('[') : std::string::npos;
    field.property.name = text.substr(0, bracket);
    if (bracket == std::string::npos) return {};
    return Amount(text.substr(bracket + 1, text.size() - bracket - 2), field.property.count, field.property.count_value,
                  field.count_field);
  }

  static Status Amount(const std::string& text, Extent& extent, uint16_t& value, std::string& field) {
    if (text == "*") {
      extent = Extent::kRest;
    } else if (text == "u16") {
      extent = Extent::kPrefix16;
    } else if (const auto number = NumberOf(text)) {
      if (*number > 0xFFFF) return Error("a count or length is at most 65535");
      extent = Extent::kFixed;
      value = static_cast<uint16_t>(*number);
    } else if (!text.empty()) {
      extent = Extent::kField;
      field = text;
    } else {
      return Error("a count or length is missing");
    }
    return {};
  }

  static Status Type(std::string_view text, Field& field) {
    const size_t colon = text.find(':');
    if (colon != std::string_view::npos) {
      const auto out = OutTypeOf(text.substr(colon + 1));
      if (!out) return Error(fmt::format("unknown way to show '{}'", text.substr(colon + 1)));
      field.property.out = *out;
      text = text.substr(0, colon);
    }
    const size_t bracket = text.ends_with(')') ? text.find('(') : std::string_view::npos;
    if (bracket != std::string_view::npos) {
      ETWPIPE_RETURN_IF_ERROR(Amount(std::string(text.substr(bracket + 1, text.size() - bracket - 2)),
                                     field.property.length, field.property.length_value, field.length_field));
      text = text.substr(0, bracket);
    }
    const auto in = InTypeOf(text);
    if (!in) return Error(fmt::format("unknown type '{}'", text));
    field.property.in = *in;
    return {};
  }

  Status EndBlock() {
    if (open_structs_ != 0) return Error("a struct is not ended with }");
    const Block block = std::exchange(block_, Block::kNone);
    switch (block) {
      case Block::kNone: return {};
      case Block::kMap: maps_[map_->name] = map_; return {};
      case Block::kLayout: layouts_[layout_name_] = std::move(fields_); return {};
      case Block::kEvent: return EndEvent();
    }
    return {};
  }

  Status EndEvent() {
    ETWPIPE_RETURN_IF_ERROR(Flatten());
    ETWPIPE_RETURN_IF_ERROR(event_->Finish());
    const EventKey& key = event_->key;
    const auto same = [&](const auto& other) {
      return other->key.classic == key.classic && other->key.number == key.number &&
             other->key.first_version <= key.last_version && key.first_version <= other->key.last_version;
    };
    if (std::any_of(pending_.begin(), pending_.end(), same)) return Error("the event is described twice");
    pending_.push_back(event_);
    schemas_.push_back(event_);
    return {};
  }

  // Level by level, so that members stand behind all structs that hold them.
  Status Flatten() {
    std::vector<const Field*> order;
    for (const Field& field : fields_) order.push_back(&field);
    event_->top_level = static_cast<uint16_t>(std::min<size_t>(order.size(), kMaxProperties));
    std::vector<size_t> parents(order.size(), SIZE_MAX);
    for (size_t i = 0; i < order.size(); ++i) {
      if (order.size() > kMaxProperties) return Error("too many properties");
      Property property = order[i]->property;
      if (property.in == InType::kStruct) {
        property.first_member = static_cast<uint16_t>(order.size());
        property.member_count = static_cast<uint16_t>(std::min<size_t>(order[i]->members.size(), kMaxProperties));
        for (const Field& member : order[i]->members) {
          order.push_back(&member);
          parents.push_back(i);
        }
      }
      event_->properties.push_back(std::move(property));
    }
    for (size_t i = 0; i < order.size(); ++i) ETWPIPE_RETURN_IF_ERROR(Link(order, parents, i));
    return {};
  }

  // A name refers to the nearest field before: among its own struct's first, then outwards.
  Status Link(const std::vector<const Field*>& order, const std::vector<size_t>& parents, size_t index) {
    Property& property = event_->properties[index];
    const auto find = [&](const std::string& wanted, uint16_t& value) -> Status {
      for (size_t at = index;; at = parents[at]) {
        for (size_t i = at; i-- > 0;) {
          if (parents[i] != parents[at] || order[i]->property.name != wanted) continue;
          value = static_cast<uint16_t>(i);
          return {};
        }
        if (parents[at] == SIZE_MAX) break;
      }
      return Error(fmt::format("there is no field '{}' before '{}'", wanted, property.name));
    };
    if (property.count == Extent::kField)
      ETWPIPE_RETURN_IF_ERROR(find(order[index]->count_field, property.count_value));
    if (property.length == Extent::kField) {
      ETWPIPE_RETURN_IF_ERROR(find(order[index]->length_field, property.length_value));
    }
    if (order[index]->map_name.empty()) return {};
    const auto map = maps_.find(order[index]->map_name);
    if (map == maps_.end()) return Error(fmt::format("unknown map '{}'", order[index]->map_name));
    const auto known = std::find(event_->maps.begin(), event_->maps.end(), map->second);
    property.map = static_cast<uint16_t>(known - event_->maps.begin());
    if (known == event_->maps.end()) event_->maps.push_back(map->second);
    return {};
  }

  std::string_view text_;
  std::string_view name_;
  SchemaOrigin origin_;
  int line_ = 0;
  Block block_ = Block::kNone;
  std::shared_ptr<ProviderSchema> provider_;
  std::shared_ptr<ValueMap> map_;
  std::shared_ptr<EventSchema> event_;
  std::string layout_name_;
  std::vector<Field> fields_;
  int open_structs_ = 0;
  std::map<std::string, std::shared_ptr<const ValueMap>> maps_;
  std::map<std::string, std::vector<Field>> layouts_;
  std::vector<std::shared_ptr<EventSchema>> pending_;  // of the current provider
  std::vector<std::shared_ptr<const EventSchema>> schemas_;
};

}  // namespace

Result<std::vector<std::shared_ptr<const EventSchema>>> ParseSchemaText(std::string_view text, std::string_view name,
                                                                        SchemaOrigin origin) {
  return Parser(text, name, origin).Run();
}

}  // namespace etwpipe::schema
