#include "pipeline/option_fields.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

namespace etwpipe {
namespace {

using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// Values of enum FooBar are named FOO_BAR_X by convention; x is what people write.
std::string ShortName(const EnumValueDescriptor& value) {
  std::string prefix;
  for (const char c : value.type()->name()) {
    if (c >= 'A' && c <= 'Z' && !prefix.empty()) prefix += '_';
    prefix += c;
  }
  prefix = Lower(prefix) + '_';
  const std::string name = Lower(value.name());
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

std::string Joined(const std::vector<std::string>& words, std::string_view last) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? last : ", ";
    text += words[i];
  }
  return text;
}

std::vector<std::string> ShortNames(const EnumDescriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.value_count(); ++i) names.push_back(ShortName(*type.value(i)));
  return names;
}

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::string_view Unquoted(std::string_view text) {
  if (text.size() >= 2 && (text.front() == '\'' || text.front() == '"') &&
      text.find(text.front(), 1) == text.size() - 1) {
    return text.substr(1, text.size() - 2);
  }
  return text;
}

template <typename T>
std::optional<T> ParseInteger(std::string_view text) {
  const bool negative = std::is_signed_v<T> && text.starts_with('-');
  std::string_view digits = text.substr(negative ? 1 : 0);
  int base = 10;
  if (digits.starts_with("0x") || digits.starts_with("0X")) {
    base = 16;
    digits.remove_prefix(2);
  }
  uint64_t magnitude = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, base);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  const auto largest = static_cast<uint64_t>(std::numeric_limits<T>::max());
  if (!negative) return magnitude <= largest ? std::optional(static_cast<T>(magnitude)) : std::nullopt;
  // The lowest value has no positive twin, hence the detour over the unsigned negation.
  return magnitude <= largest + 1 ? std::optional(static_cast<T>(0 - magnitude)) : std::nullopt;
}

std::optional<double> ParseDouble(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Parts between commas that stand outside quotes.
std::vector<std::string_view> ListItems(std::string_view text) {
  std::vector<std::string_view> items;
  char quote = 0;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (quote != 0) {
      if (text[i] == quote) quote = 0;
    } else if (text[i] == '\'' || text[i] == '"') {
      quote = text[i];
    } else if (text[i] == ',') {
      items.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  items.push_back(text.substr(begin));
  return items;
}

std::string AllowedScalar(const FieldDescriptor& field) {
  const auto integers = [](auto lowest, auto highest) {
    return fmt::format("a whole number from {} to {}", lowest, highest);
  };
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: {
      using Limits = std::numeric_limits<int32_t>;
      return integers(Limits::min(), Limits::max());
    }
    case FieldDescriptor::CPPTYPE_INT64: {
      using Limits = std::numeric_limits<int64_t>;
      return integers(Limits::min(), Limits::max());
    }
    case FieldDescriptor::CPPTYPE_UINT32: return integers(0, std::numeric_limits<uint32_t>::max());
    case FieldDescriptor::CPPTYPE_UINT64: return integers(0, std::numeric_limits<uint64_t>::max());
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT: return "a number";
    case FieldDescriptor::CPPTYPE_BOOL: return "true or false";
    case FieldDescriptor::CPPTYPE_ENUM: return Joined(ShortNames(*field.enum_type()), " or ");
    case FieldDescriptor::CPPTYPE_STRING:
      if (field.type() == FieldDescriptor::TYPE_STRING) return "text";
      break;
    case FieldDescriptor::CPPTYPE_MESSAGE: break;
  }
  return {};
}

// Sets or, in a repeated field, appends.
template <typename T, typename Set, typename Add>
bool Store(Message& options, const FieldDescriptor& field, const std::optional<T>& value, Set set, Add add) {
  if (!value) return false;
  const auto& reflection = *options.GetReflection();
  if (field.is_repeated()) {
    (reflection.*add)(&options, &field, *value);
  } else {
    (reflection.*set)(&options, &field, *value);
  }
  return true;
}

bool StoreScalar(Message& options, const FieldDescriptor& field, std::string_view value) {
  using google::protobuf::Reflection;
  const std::string_view word = Trimmed(value);
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return Store(options, field, ParseInteger<int32_t>(word), &Reflection::SetInt32, &Reflection::AddInt32);
    case FieldDescriptor::CPPTYPE_INT64:
      return Store(options, field, ParseInteger<int64_t>(word), &Reflection::SetInt64, &Reflection::AddInt64);
    case FieldDescriptor::CPPTYPE_UINT32:
      return Store(options, field, ParseInteger<uint32_t>(word), &Reflection::SetUInt32, &Reflection::AddUInt32);
    case FieldDescriptor::CPPTYPE_UINT64:
      return Store(options, field, ParseInteger<uint64_t>(word), &Reflection::SetUInt64, &Reflection::AddUInt64);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return Store(options, field, ParseDouble(word), &Reflection::SetDouble, &Reflection::AddDouble);
    case FieldDescriptor::CPPTYPE_FLOAT: {
      const auto parsed = ParseDouble(word);
      const auto narrow = parsed ? std::optional(static_cast<float>(*parsed)) : std::nullopt;
      if (narrow && std::isinf(*narrow) && !std::isinf(*parsed)) return false;
      return Store(options, field, narrow, &Reflection::SetFloat, &Reflection::AddFloat);
    }
    case FieldDescriptor::CPPTYPE_BOOL: {
      if (word != "true" && word != "false") return false;
      return Store(options, field, std::optional(word == "true"), &Reflection::SetBool, &Reflection::AddBool);
    }
    case FieldDescriptor::CPPTYPE_ENUM:
      for (int i = 0; i < field.enum_type()->value_count(); ++i) {
        const EnumValueDescriptor* candidate = field.enum_type()->value(i);
        if (ShortName(*candidate) != word) continue;
        return Store(options, field, std::optional(candidate), &Reflection::SetEnum, &Reflection::AddEnum);
      }
      return false;
    case FieldDescriptor::CPPTYPE_STRING: {
      const auto& reflection = *options.GetReflection();
      if (field.is_repeated()) {
        reflection.AddString(&options, &field, std::string(Unquoted(word)));
      } else {
        reflection.SetString(&options, &field, std::string(value));
      }
      return true;
    }
    case FieldDescriptor::CPPTYPE_MESSAGE: break;
  }
  return false;
}

}  // namespace

std::unique_ptr<Message> NewOptions(const google::protobuf::Descriptor& type) {
  return std::unique_ptr<Message>(google::protobuf::MessageFactory::generated_factory()->GetPrototype(&type)->New());
}

std::vector<std::string> OptionNames(const google::protobuf::Descriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.field_count(); ++i) names.push_back(type.field(i)->name());
  return names;
}

std::string AllowedValues(const FieldDescriptor& field) {
  const std::string scalar = AllowedScalar(field);
  return field.is_repeated() && !scalar.empty() ? "a list with commas, each " + scalar : scalar;
}

Status SetOption(Message& options, const FieldDescriptor& field, std::string_view value) {
  if (AllowedScalar(field).empty()) {
    return Status::InvalidArgument("it cannot be given here; write it in a config file");
  }
  if (!field.is_repeated()) {
    if (StoreScalar(options, field, value)) return {};
    return Status::InvalidArgument(fmt::format("'{}' is not allowed; write {}", value, AllowedValues(field)));
  }
  for (const std::string_view item : ListItems(value)) {
    if (StoreScalar(options, field, item)) continue;
    return Status::InvalidArgument(fmt::format("'{}' is not allowed; write {}", Trimmed(item), AllowedValues(field)));
  }
  return {};
}

std::string NearOrAll(std::string_view wanted, const std::vector<std::string>& names, std::string_view lead) {
  const auto near = NearNames(wanted, names);
  if (!near.empty()) return fmt::format("; did you mean {}?", Joined(near, " or "));
  return names.empty() ? "; there are none" : fmt::format("; {} {}", lead, Joined(names, ", "));
}

Status UnknownStage(std::string_view name, const Registry& registry) {
  std::vector<std::string> names;
  for (const auto& entry : registry.entries()) names.push_back(entry.info.name);
  return Status::InvalidArgument(fmt::format("unknown stage '{}'{}", name, NearOrAll(name, names, "the stages are")));
}

}  // namespace etwpipe
