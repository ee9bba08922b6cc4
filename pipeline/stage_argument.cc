// --stage, --where and --time: arguments to a StageConfig (design.md section 9).
#include <fmt/format.h>
#include <google/protobuf/descriptor.h>

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "pipeline/option_fields.h"
#include "pipeline/plan.h"

namespace etwpipe {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::Message;

bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsNameCharacter(char c) { return IsNameStart(c) || (c >= '0' && c <= '9') || c == '-'; }
bool IsBlank(char c) { return c == ' ' || c == '\t'; }

struct Assignment {
  std::string_view name;
  size_t value = 0;  // where the value begins
};

// `name=` at `at`, blanks allowed around the name. An operator of the expression language (==, =~) is none.
std::optional<Assignment> AssignmentAt(std::string_view text, size_t at) {
  while (at < text.size() && IsBlank(text[at])) ++at;
  const size_t begin = at;
  if (at == text.size() || !IsNameStart(text[at])) return std::nullopt;
  while (at < text.size() && IsNameCharacter(text[at])) ++at;
  const std::string_view name = text.substr(begin, at - begin);
  while (at < text.size() && IsBlank(text[at])) ++at;
  if (at == text.size() || text[at] != '=') return std::nullopt;
  if (at + 1 < text.size() && (text[at + 1] == '=' || text[at + 1] == '~')) return std::nullopt;
  return Assignment{name, at + 1};
}

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// Quotes around a whole value are taken off; quotes inside it belong to it.
std::string_view Unquoted(std::string_view value) {
  const std::string_view text = Trimmed(value);
  if (text.size() < 2 || (text.front() != '\'' && text.front() != '"')) return text;
  return text.find(text.front(), 1) == text.size() - 1 ? text.substr(1, text.size() - 2) : text;
}

class ArgumentParser {
 public:
  ArgumentParser(const StageInfo& info, std::string_view text)
      : info_(info), text_(text), options_(NewOptions(*info.options)) {}

  Result<v1::StageConfig> Parse() {
    if (Trimmed(text_).empty()) return Status::InvalidArgument("nothing follows the ':'");
    size_t at = 0;
    for (bool more = true; more;) {
      auto assignment = AssignmentAt(text_, at);
      if (assignment && !Declares(assignment->name)) {
        if (!IsTypo(assignment->name)) {
          assignment.reset();
        } else {
          return Unknown(assignment->name);
        }
      }
      if (!assignment && at > 0) return Status::Internal("a part without an option");
      const size_t begin = assignment ? assignment->value : at;
      const auto end = EndOfValue(begin);
      if (!end.ok()) return end.status();
      const std::string_view value = text_.substr(begin, *end - begin);
      ETWPIPE_RETURN_IF_ERROR(assignment ? Set(assignment->name, value) : SetMain(value));
      more = *end < text_.size();
      at = *end + 1;
    }
    v1::StageConfig config;
    config.set_name(info_.name);
    config.mutable_options()->PackFrom(*options_);
    return config;
  }

 private:
  const Descriptor& type() const { return *info_.options; }
  bool Declares(std::string_view name) const { return type().FindFieldByName(std::string(name)) != nullptr; }
  // A misspelt option, or anything named where nothing may be unnamed.
  bool IsTypo(std::string_view name) const {
    return info_.main_option.empty() || !NearNames(name, OptionNames(type())).empty();
  }

  Status Unknown(std::string_view name) const {
    return Status::InvalidArgument(
        fmt::format("unknown option '{}'{}", name, NearOrAll(name, OptionNames(type()), "the options are")));
  }

  // The comma that ends the value at `begin`, or the end of the text: outside quotes and brackets and before an option.
  Result<size_t> EndOfValue(size_t begin) const {
    int depth = 0;
    for (size_t i = begin; i < text_.size(); ++i) {
      switch (text_[i]) {
        case '\'':
        case '"': {
          const size_t close = text_.find(text_[i], i + 1);
          if (close == std::string_view::npos) {
            return Status::InvalidArgument(
                fmt::format("the quote at character {} of its options is not closed", i + 1));
          }
          i = close;
          break;
        }
        case '(':
        case '[':
        case '{': ++depth; break;
        case ')':
        case ']':
        case '}': depth = depth > 0 ? depth - 1 : 0; break;
        case ',': {
          if (depth > 0) break;
          const auto next = AssignmentAt(text_, i + 1);
          if (!next) break;
          if (Declares(next->name)) return i;
          if (IsTypo(next->name)) return Unknown(next->name);
          break;
        }
        default: break;
      }
    }
    return text_.size();
  }

  Status SetMain(std::string_view value) {
    if (info_.main_option.empty()) {
      return Status::InvalidArgument(fmt::format("'{}' needs the name of an option{}", Trimmed(value),
                                                 NearOrAll({}, OptionNames(type()), "the options are")));
    }
    return Set(info_.main_option, value);
  }

  Status Set(std::string_view name, std::string_view value) {
    const auto* field = type().FindFieldByName(std::string(name));
    if (!given_.insert(field->name()).second) {
      return Status::InvalidArgument(fmt::format("option {} is given twice", name));
    }
    // The items of a list of texts have quotes of their own.
    const bool texts = field->is_repeated() && field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_STRING;
    const std::string_view text = texts ? Trimmed(value) : Unquoted(value);
    return SetOption(*options_, *field, text).WithContext(fmt::format("option {}", name));
  }

  const StageInfo& info_;
  std::string_view text_;
  std::unique_ptr<Message> options_;
  std::set<std::string> given_;
};

}  // namespace

Result<v1::StageConfig> ParseStageArgument(std::string_view argument, const Registry& registry) {
  const size_t colon = argument.find(':');
  const std::string_view name = Trimmed(argument.substr(0, colon));
  if (name.empty()) return Status::InvalidArgument("a stage needs a name: NAME[:option=value[,option=value]...]");
  const Registry::Entry* entry = registry.Find(name);
  if (entry == nullptr) return UnknownStage(name, registry);
  if (colon == std::string_view::npos) {
    v1::StageConfig config;
    config.set_name(entry->info.name);
    config.mutable_options()->PackFrom(*NewOptions(*entry->info.options));
    return config;
  }
  auto config = ArgumentParser(entry->info, argument.substr(colon + 1)).Parse();
  if (!config.ok()) return config.status().WithContext(fmt::format("stage '{}'", name));
  return config;
}

Result<v1::StageConfig> MakeStageConfig(std::string_view name, std::string_view value, const Registry& registry) {
  const Registry::Entry* entry = registry.Find(name);
  if (entry == nullptr) return UnknownStage(name, registry);
  const auto* field = entry->info.options->FindFieldByName(entry->info.main_option);
  if (field == nullptr) return Status::InvalidArgument(fmt::format("stage '{}' has no main option", name));
  const auto options = NewOptions(*entry->info.options);
  if (Status status = SetOption(*options, *field, value); !status.ok()) {
    return status.WithContext(fmt::format("stage '{}': option {}", name, field->name()));
  }
  v1::StageConfig config;
  config.set_name(entry->info.name);
  config.mutable_options()->PackFrom(*options);
  return config;
}

}  // namespace etwpipe
