#include "pipeline/plan.h"

#include <fmt/format.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "pipeline/option_fields.h"

namespace etwpipe {
namespace {

// One line, fields in the order of their declaration.
std::string OneLine(const google::protobuf::Message& options) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  printer.SetUseUtf8StringEscaping(true);
  printer.SetUseShortRepeatedPrimitives(true);
  std::string text;
  printer.PrintToString(options, &text);
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

Status UnpackOptions(const google::protobuf::Any& any, google::protobuf::Message& options) {
  const std::string& url = any.type_url();
  const std::string type = url.substr(url.rfind('/') + 1);
  const std::string& wanted = options.GetDescriptor()->full_name();
  if (type != wanted) {
    return Status::InvalidArgument(fmt::format("its options are of type '{}'; it takes '{}'", type, wanted));
  }
  if (!options.ParseFromString(any.value())) {
    return Status::InvalidArgument(fmt::format("its options are not a valid '{}'", wanted));
  }
  return {};
}

Result<PlannedStage> MakeStage(const v1::StageConfig& config, const Registry& registry) {
  const Registry::Entry* entry = registry.Find(config.name());
  if (entry == nullptr) return UnknownStage(config.name(), registry);
  const std::unique_ptr<google::protobuf::Message> options = NewOptions(*entry->info.options);
  if (config.has_options()) ETWPIPE_RETURN_IF_ERROR(UnpackOptions(config.options(), *options));
  auto stage = entry->make(*options);
  if (!stage.ok()) return stage.status();
  return PlannedStage{config.label(), OneLine(*options), std::move(*stage)};
}

// Every stage a label of its own: the given one, or the name, with a number from the second on.
Status Label(std::vector<PlannedStage>& stages) {
  std::set<std::string> taken;
  for (const auto& stage : stages) {
    if (!stage.label.empty() && !taken.insert(stage.label).second) {
      return Status::InvalidArgument(fmt::format("two stages have the label '{}'; labels must differ", stage.label));
    }
  }
  for (auto& stage : stages) {
    if (!stage.label.empty()) continue;
    const std::string& name = stage.stage->info().name;
    std::string label = name;
    for (int number = 2; !taken.insert(label).second; ++number) label = fmt::format("{}#{}", name, number);
    stage.label = std::move(label);
  }
  return {};
}

// Annotation columns: each has one producer, and each that is needed has it upstream.
Status CheckAnnotations(Plan& plan) {
  std::vector<std::pair<std::string, std::string>> producers;  // column, label
  const auto producer_of = [&](const std::string& column) -> const std::string* {
    for (const auto& [name, label] : producers) {
      if (name == column) return &label;
    }
    return nullptr;
  };
  for (const auto& planned : plan.stages) {
    const StageInfo& info = planned.stage->info();
    for (const auto& needed : info.needs_annotations) {
      if (producer_of(needed) != nullptr) continue;
      return Status::InvalidArgument(fmt::format(
          "stage '{}' needs the annotation '{}', which no stage before it produces", planned.label, needed));
    }
    for (const auto& column : info.produces) {
      if (const std::string* other = producer_of(column.name)) {
        return Status::InvalidArgument(
            fmt::format("stages '{}' and '{}' both produce the annotation '{}'", *other, planned.label, column.name));
      }
      producers.emplace_back(column.name, planned.label);
      plan.annotations.push_back(column);
    }
  }
  return {};
}

std::string_view TextOf(Order order) { return order == Order::kTime ? "time" : "per-cpu"; }

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string TextOf(FactSet facts) {
  std::vector<std::string> words;
  if ((facts & kSchemas) != 0) words.emplace_back("schemas");
  if ((facts & kProcesses) != 0) words.emplace_back("processes");
  if ((facts & kThreads) != 0) words.emplace_back("threads");
  if ((facts & kImages) != 0) words.emplace_back("images");
  if ((facts & kMethods) != 0) words.emplace_back("methods");
  if ((facts & kStacks) != 0) words.emplace_back("stacks");
  if ((facts & kCpuState) != 0) words.emplace_back("context switches");
  return Joined(words);
}

std::string Effects(const StageInfo& info) {
  std::vector<std::string> effects;
  if (info.drops) effects.emplace_back("drops");
  if (info.rewrites) effects.emplace_back("rewrites");
  if (info.injects) effects.emplace_back("injects");
  if (!info.produces.empty()) effects.emplace_back("annotates");
  return effects.empty() ? "none" : Joined(effects);
}

void AddNeeds(const StageInfo& info, Plan& plan) {
  plan.order = std::max(plan.order, info.order);
  plan.analysis_passes = std::max(plan.analysis_passes, info.analysis_passes);
  plan.facts |= info.facts;
  plan.drops = plan.drops || info.drops;
  plan.rewrites = plan.rewrites || info.rewrites || info.injects;
}

}  // namespace

Result<Plan> MakePlan(const v1::PipelineConfig& config, const Registry& registry) {
  Plan plan;
  for (int i = 0; i < config.stages_size(); ++i) {
    const auto& stage_config = config.stages(i);
    auto stage = MakeStage(stage_config, registry);
    if (!stage.ok()) return stage.status().WithContext(fmt::format("stage {} '{}'", i + 1, stage_config.name()));
    plan.stages.push_back(std::move(*stage));
  }
  if (Status status = Label(plan.stages); !status.ok()) return status;
  if (Status status = CheckAnnotations(plan); !status.ok()) return status;
  for (const auto& planned : plan.stages) AddNeeds(planned.stage->info(), plan);
  return plan;
}

void Plan::Append(std::unique_ptr<Stage> stage) {
  AddNeeds(stage->info(), *this);
  std::string label = stage->info().name;
  stages.push_back({std::move(label), {}, std::move(stage)});
}

std::string Plan::ToText() const {
  std::string text = fmt::format("passes: {}{} analysis, 1 transform\norder: {}\nstages: {}\n",
                                 facts != kNoFacts ? fmt::format("survey of {}, ", TextOf(facts)) : "", analysis_passes,
                                 TextOf(order), stages.size());
  for (size_t i = 0; i < stages.size(); ++i) {
    const PlannedStage& planned = stages[i];
    const StageInfo& info = planned.stage->info();
    text += fmt::format("  {}. {}\n", i + 1, planned.label);
    if (planned.label != info.name) text += fmt::format("     stage: {}\n", info.name);
    text += fmt::format("     options: {{{}}}\n", planned.options);
    text += fmt::format("     needs: {}{}{}\n", info.needs == StageNeeds::kPayload ? "payload" : "header",
                        info.needs_annotations.empty() ? "" : ", ", Joined(info.needs_annotations));
    text += fmt::format("     order: {}{}\n", TextOf(info.order), info.ordered ? ", one batch at a time" : "");
    text += fmt::format("     effects: {}\n", Effects(info));
    for (const auto& column : info.produces) text += fmt::format("     produces: {}\n", column.name);
  }
  return text;
}

}  // namespace etwpipe
