#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include "pipeline/plan.h"
#include "proto/option_help.pb.h"
#include "stages/register_stages.h"

namespace etwpipe {
namespace {

TEST(Stages, EveryExampleIsAnArgumentThatMakesAPlan) {
  Registry registry;
  RegisterStages(registry);
  ASSERT_EQ(registry.entries().size(), 9u);
  for (const auto& entry : registry.entries()) {
    const auto config = ParseStageArgument(entry.info.example, registry);
    ASSERT_TRUE(config.ok()) << config.status().message();
    v1::PipelineConfig pipeline;
    *pipeline.add_stages() = *config;
    const auto plan = MakePlan(pipeline, registry);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_EQ(plan->stages.front().stage->info().name, entry.info.name);
  }
}

TEST(Stages, MainOptionsAreFieldsOfTheOptionsMessage) {
  Registry registry;
  RegisterStages(registry);
  for (const auto& entry : registry.entries()) {
    const std::string& option = entry.info.main_option;
    EXPECT_TRUE(option.empty() || entry.info.options->FindFieldByName(option) != nullptr) << entry.info.name;
    EXPECT_FALSE(entry.info.summary.empty());
  }
}

TEST(Stages, EveryOptionSaysWhatItMeans) {
  Registry registry;
  RegisterStages(registry);
  for (const auto& entry : registry.entries()) {
    for (int i = 0; i < entry.info.options->field_count(); ++i) {
      const auto& field = *entry.info.options->field(i);
      const auto& help = field.options().GetExtension(v1::help);
      EXPECT_FALSE(help.meaning().empty()) << field.full_name();
      EXPECT_EQ(help.required(), field.name() == entry.info.main_option) << field.full_name();
    }
  }
}

TEST(Stages, WithoutTheMainOptionEveryStageSaysWhatIsMissing) {
  Registry registry;
  RegisterStages(registry);
  for (const auto& entry : registry.entries()) {
    if (entry.info.main_option.empty()) continue;
    v1::PipelineConfig pipeline;
    pipeline.add_stages()->set_name(entry.info.name);
    const auto plan = MakePlan(pipeline, registry);
    ASSERT_FALSE(plan.ok());
    EXPECT_EQ(plan.status().code(), StatusCode::kInvalidArgument);
    const std::string message(plan.status().message());
    EXPECT_NE(message.find("'" + entry.info.name + "'"), std::string::npos) << message;
    EXPECT_NE(message.find("option " + entry.info.main_option), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace etwpipe
