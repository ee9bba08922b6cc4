// etwpipe stages: which stages there are, and what one of them takes.
#include <fmt/format.h>
#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <boost/program_options.hpp>

#include "proto/option_help.pb.h"
#include "tools/command_line.h"
#include "tools/commands.h"
#include "tools/common_options.h"
#include "tools/json_writer.h"
#include "tools/standard_output.h"
#include "tools/table.h"

namespace etwpipe {
namespace {

namespace po = boost::program_options;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;

// The words a user writes: KEEP of CONTEXT_KEEP, in lower case. `values` share the part before the last common '_'.
std::vector<std::string> EnumWords(const EnumDescriptor& values) {
  std::string prefix = values.value(0)->name();
  for (int i = 1; i < values.value_count(); ++i) {
    const std::string& name = values.value(i)->name();
    size_t common = 0;
    while (common < std::min(prefix.size(), name.size()) && prefix[common] == name[common]) ++common;
    prefix.resize(common);
  }
  const size_t skip = prefix.rfind('_') == std::string::npos ? 0 : prefix.rfind('_') + 1;
  std::vector<std::string> words;
  for (int i = 0; i < values.value_count(); ++i) {
    std::string& word = words.emplace_back(values.value(i)->name().substr(skip));
    for (char& c : word) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return words;
}

// "uint64", "string", "keep|drop", with "..." for lists.
std::string TypeText(const FieldDescriptor& field) {
  std::string text = field.type_name();
  if (const EnumDescriptor* values = field.enum_type()) {
    text = fmt::format("{}", fmt::join(EnumWords(*values), "|"));
  } else if (field.message_type() != nullptr) {
    text = field.message_type()->full_name();
  }
  return field.is_repeated() ? text + "..." : text;
}

const v1::OptionHelp& HelpOf(const FieldDescriptor& field) { return field.options().GetExtension(v1::help); }

// What the option is when it is not given; empty for a required one.
std::string DefaultText(const FieldDescriptor& field) {
  if (HelpOf(field).required()) return {};
  if (field.is_repeated()) return "none";
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_ENUM: return EnumWords(*field.enum_type()).front();
    case FieldDescriptor::CPPTYPE_BOOL: return "false";
    case FieldDescriptor::CPPTYPE_STRING:
    case FieldDescriptor::CPPTYPE_MESSAGE: return "none";
    default: return "0";
  }
}

std::vector<const FieldDescriptor*> Options(const StageInfo& info) {
  std::vector<const FieldDescriptor*> fields;
  const int count = info.options == nullptr ? 0 : info.options->field_count();
  for (int i = 0; i < count; ++i) fields.push_back(info.options->field(i));
  return fields;
}

std::vector<std::string> Needs(const StageInfo& info) {
  std::vector<std::string> needs = {info.needs == StageNeeds::kPayload ? "payload" : "header"};
  needs.insert(needs.end(), info.needs_annotations.begin(), info.needs_annotations.end());
  if (info.order == Order::kTime) needs.emplace_back("time order");
  if (info.analysis_passes > 0) needs.push_back(fmt::format("{} analysis passes", info.analysis_passes));
  return needs;
}

std::vector<std::string> Effects(const StageInfo& info) {
  std::vector<std::string> effects;
  if (info.drops) effects.emplace_back("drops events");
  if (info.rewrites) effects.emplace_back("rewrites events");
  if (info.injects) effects.emplace_back("injects events");
  return effects;
}

void WriteStrings(JsonWriter& json, const std::vector<std::string>& texts) {
  json.BeginArray();
  for (const auto& text : texts) json.String(text);
  json.EndArray();
}

void WriteJson(JsonWriter& json, const StageInfo& info) {
  json.BeginObject();
  json.Key("name").String(info.name);
  json.Key("summary").String(info.summary);
  json.Key("example").String(info.example);
  json.Key("main_option").StringOrNull(info.main_option);
  json.Key("options").BeginArray();
  for (const FieldDescriptor* field : Options(info)) {
    json.BeginObject();
    json.Key("name").String(field->name());
    json.Key("type").String(TypeText(*field));
    json.Key("required").Bool(HelpOf(*field).required());
    json.Key("default").StringOrNull(DefaultText(*field));
    json.Key("meaning").String(HelpOf(*field).meaning());
    json.EndObject();
  }
  json.EndArray();
  json.Key("needs");
  WriteStrings(json, Needs(info));
  json.Key("effects");
  WriteStrings(json, Effects(info));
  json.Key("produces").BeginArray();
  for (const auto& column : info.produces) json.String(column.name);
  json.EndArray();
  json.EndObject();
}

std::string ListText(const Registry& registry) {
  Table table({{""}, {""}});
  for (const auto& entry : registry.entries()) table.Add({entry.info.name, entry.info.summary});
  return table.ToText() + "\netwpipe stages NAME tells more of one.\n";
}

std::string OneText(const StageInfo& info) {
  std::string text = fmt::format("{}: {}\n\noptions:\n", info.name, info.summary);
  Table options({{""}, {""}, {""}, {""}});
  for (const FieldDescriptor* field : Options(info)) {
    const std::string fallback = DefaultText(*field);
    options.Add({field->name(), TypeText(*field), fallback.empty() ? "required" : "default " + fallback,
                 HelpOf(*field).meaning()});
  }
  text += options.empty() ? "  none\n" : options.ToText("  ");
  if (!info.main_option.empty()) text += fmt::format("\n{} may be given without its name\n", info.main_option);
  std::vector<std::string> produces;
  for (const auto& column : info.produces) produces.push_back(column.name);
  const auto effects = Effects(info);
  if (!effects.empty()) text += fmt::format("\n{}\n", fmt::join(effects, ", "));
  text += fmt::format("\nneeds:    {}\nproduces: {}\n", fmt::join(Needs(info), ", "),
                      produces.empty() ? "no annotations" : fmt::format("{}", fmt::join(produces, ", ")));
  return text + fmt::format("\nexample:\n  etwpipe run in.etl -o out.etl --stage \"{}\"\n", info.example);
}

class StagesCommand final : public Subcommand {
 public:
  CommandHelp help() const override {
    return {.name = "stages",
            .summary = "Lists the stages of the pipeline, or describes one: options, needs, produces, example.",
            .arguments = "[NAME]",
            .details = "",
            .examples =
                "  etwpipe stages\n"
                "  etwpipe stages filter.time",
            .min_arguments = 0,
            .max_arguments = 1};
  }

  void AddOptions(po::options_description& options) override { format_.Add(options, {"text", "json"}); }

  Status Run(const CommandArgs& args) override {
    ETWPIPE_RETURN_IF_ERROR(format_.Check());
    JsonWriter json;
    if (args.arguments.empty()) {
      if (!format_.json()) return Print(ListText(args.registry));
      json.BeginArray();
      for (const auto& entry : args.registry.entries()) WriteJson(json, entry.info);
      json.EndArray();
    } else {
      const std::string& name = args.arguments.front();
      const auto* entry = args.registry.Find(name);
      if (entry == nullptr) {
        std::vector<std::string> names;
        for (const auto& known : args.registry.entries()) names.push_back(known.info.name);
        return Status::InvalidArgument(
            fmt::format("{}: no such stage{}", name, DidYouMean(name, names, "; etwpipe stages lists them")));
      }
      if (!format_.json()) return Print(OneText(entry->info));
      WriteJson(json, entry->info);
    }
    json.EndLine();
    return Print(json.text());
  }

 private:
  FormatOption format_;
};

}  // namespace

std::unique_ptr<Subcommand> MakeStagesCommand() { return std::make_unique<StagesCommand>(); }

}  // namespace etwpipe
