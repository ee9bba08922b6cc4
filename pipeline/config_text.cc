// PipelineConfig as text format and JSON.
#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

#include <string>
#include <vector>

#include "pipeline/option_fields.h"
#include "pipeline/plan.h"

namespace etwpipe {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;

std::string Between(const std::string& text, std::string_view before, std::string_view after) {
  const size_t found = text.find(before);
  if (found == std::string::npos) return {};
  const size_t begin = found + before.size();
  const size_t end = text.find(after, begin);
  return end == std::string::npos ? std::string() : text.substr(begin, end - begin);
}

// The parser names the message and the field it does not have; the near fields help more.
std::string Improved(const std::string& message) {
  const std::string type_name = Between(message, "Message type \"", "\"");
  const std::string field_name = Between(message, "has no field named \"", "\"");
  if (field_name.empty()) return message;
  const Descriptor* type = DescriptorPool::generated_pool()->FindMessageTypeByName(type_name);
  if (type == nullptr) return message;
  return fmt::format("unknown option '{}' of {}{}", field_name, type_name,
                     NearOrAll(field_name, OptionNames(*type), "the options are"));
}

// Keeps the first error: those after it are mostly its consequences.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  explicit FirstError(std::string_view name) : name_(name) {}

  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override {
    if (!text_.empty()) return;
    text_ = line < 0 ? fmt::format("{}: {}", name_, Improved(message))
                     : fmt::format("{}:{}:{}: {}", name_, line + 1, column + 1, Improved(message));
  }
  void AddWarning(int, google::protobuf::io::ColumnNumber, const std::string&) override {}
  const std::string& text() const { return text_; }

 private:
  std::string name_;
  std::string text_;
};

Result<v1::PipelineConfig> ParseJson(std::string_view text, std::string_view name) {
  v1::PipelineConfig config;
  google::protobuf::util::JsonParseOptions options;
  const auto status = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(text.data(), text.size()), &config, options);
  if (!status.ok()) {
    const auto message = status.message();
    return Status::InvalidArgument(fmt::format("{}: {}", name, std::string_view(message.data(), message.size())));
  }
  return config;
}

}  // namespace

Result<v1::PipelineConfig> ParseConfig(std::string_view text, std::string_view name) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin != std::string_view::npos && text[begin] == '{') return ParseJson(text, name);

  v1::PipelineConfig config;
  FirstError error(name);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  if (parser.ParseFromString(std::string(text), &config)) return config;
  if (error.text().empty()) return Status::InvalidArgument(fmt::format("{}: not a pipeline configuration", name));
  return Status::InvalidArgument(error.text());
}

std::string PrintConfig(const v1::PipelineConfig& config) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetExpandAny(true);
  printer.SetUseUtf8StringEscaping(true);
  printer.SetUseShortRepeatedPrimitives(true);
  std::string text;
  printer.PrintToString(config, &text);
  return text;
}

}  // namespace etwpipe
