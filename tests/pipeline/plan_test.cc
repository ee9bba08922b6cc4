// Plans and configurations over made-up stages with every kind of option.
#include "pipeline/plan.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "stages/filter_process/options.pb.h"
#include "stages/filter_time/options.pb.h"
#include "stages/filter_where/options.pb.h"
#include "stages/register_stages.h"
#include "tests/pipeline/plan_test_options.pb.h"

namespace etwpipe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class FakeStage : public Stage {
 public:
  explicit FakeStage(StageInfo info) : info_(std::move(info)) {}
  const StageInfo& info() const override { return info_; }
  Status Process(const ProcessArgs&) const override { return {}; }

 private:
  StageInfo info_;
};

StageInfo FakeInfo(const std::string& name) {
  StageInfo info;
  info.name = name;
  info.options = test::v1::PlanTestOptions::descriptor();
  info.main_option = "text";
  return info;
}

void AddFake(Registry& registry, const StageInfo& info) {
  registry.Add({info, [info](const google::protobuf::Message&) -> Result<std::unique_ptr<Stage>> {
                  return std::unique_ptr<Stage>(std::make_unique<FakeStage>(info));
                }});
}

class PlanTest : public testing::Test {
 protected:
  PlanTest() {
    RegisterStages(registry_);
    AddFake(registry_, FakeInfo("test.all"));
    StageInfo bare = FakeInfo("test.bare");
    bare.main_option.clear();
    AddFake(registry_, bare);
  }

  template <typename Options>
  Options Parsed(const std::string& argument) {
    const auto config = ParseStageArgument(argument, registry_);
    EXPECT_TRUE(config.ok()) << argument << ": " << config.status().message();
    Options options;
    EXPECT_TRUE(!config.ok() || config->options().UnpackTo(&options)) << argument;
    return options;
  }
  test::v1::PlanTestOptions All(const std::string& argument) { return Parsed<test::v1::PlanTestOptions>(argument); }

  std::string ErrorOf(const std::string& argument) {
    const auto config = ParseStageArgument(argument, registry_);
    if (config.ok()) return "no error";
    EXPECT_EQ(config.status().code(), StatusCode::kInvalidArgument);
    return std::string(config.status().message());
  }

  Result<Plan> PlanOf(const std::string& text) {
    const auto config = ParseConfig(text, "test");
    if (!config.ok()) return config.status();
    return MakePlan(*config, registry_);
  }

  std::string PlanError(const std::string& text) {
    const auto plan = PlanOf(text);
    return plan.ok() ? "no error" : std::string(plan.status().message());
  }

  Registry registry_;
};

TEST_F(PlanTest, OneUnnamedValueGoesToTheMainOption) {
  EXPECT_EQ(Parsed<v1::FilterWhereOptions>("filter.where:pid == 4 and size > 90").expression(),
            "pid == 4 and size > 90");
  EXPECT_EQ(Parsed<v1::FilterTimeOptions>("filter.time:10s..20s").range(), "10s..20s");
  EXPECT_THAT(Parsed<v1::FilterProcessOptions>("filter.process:1234").pids(), ElementsAre(1234));
  EXPECT_THAT(Parsed<v1::FilterProcessOptions>("filter.process:1,2,3").pids(), ElementsAre(1, 2, 3));
  EXPECT_THAT(Parsed<v1::FilterProcessOptions>("filter.process:'1,2'").pids(), ElementsAre(1, 2));
}

TEST_F(PlanTest, OnlyTheFirstColonEndsTheName) {
  EXPECT_EQ(Parsed<v1::FilterTimeOptions>("filter.time:2020-07-29T00:07:05Z..").range(), "2020-07-29T00:07:05Z..");
  EXPECT_EQ(Parsed<v1::FilterTimeOptions>("filter.time:ticks:5..ticks:9").range(), "ticks:5..ticks:9");
}

TEST_F(PlanTest, ACommaSeparatesOnlyBeforeADeclaredOption) {
  const auto options = Parsed<v1::FilterTimeOptions>("filter.time:10s..20s,context=drop");
  EXPECT_EQ(options.range(), "10s..20s");
  EXPECT_EQ(options.context(), v1::CONTEXT_DROP);
  EXPECT_EQ(All("test.all:a,b,c,flag=true").text(), "a,b,c");
  EXPECT_EQ(All("test.all:a,zzz=b").text(), "a,zzz=b");
  EXPECT_TRUE(All("test.all:a , flag = true").flag());
}

TEST_F(PlanTest, ACommaInQuotesOrBracketsSeparatesNothing) {
  EXPECT_EQ(All("test.all:x in (1,flag=true)").text(), "x in (1,flag=true)");
  EXPECT_EQ(All("test.all:a[1,flag=true]").text(), "a[1,flag=true]");
  EXPECT_EQ(All("test.all:{1,flag=true}").text(), "{1,flag=true}");
  EXPECT_EQ(All("test.all:a == ',flag=true'").text(), "a == ',flag=true'");
  EXPECT_EQ(All("test.all:a == \"(\",flag=true").text(), "a == \"(\"");
  EXPECT_TRUE(All("test.all:a == \"(\",flag=true").flag());
}

TEST_F(PlanTest, OperatorsOfTheExpressionLanguageAreNoOptions) {
  EXPECT_EQ(All("test.all:text == 4").text(), "text == 4");
  EXPECT_EQ(All("test.all:x,flag == true").text(), "x,flag == true");
  EXPECT_EQ(All("test.all:x,flag =~ 'true'").text(), "x,flag =~ 'true'");
}

TEST_F(PlanTest, QuotesAroundAValueAreOptional) {
  EXPECT_EQ(All("test.all:'a,flag=true'").text(), "a,flag=true");
  EXPECT_EQ(All("test.all:text=\"b\",flag=true").text(), "b");
  EXPECT_EQ(All("test.all:text=''").text(), "");
  EXPECT_EQ(All("test.all:'a' == 'b'").text(), "'a' == 'b'");
  EXPECT_TRUE(All("test.all:flag='true'").flag());
}

TEST_F(PlanTest, EveryTypeOfOptionReadsItsText) {
  const auto options =
      All("test.all:flag=true,small=-2147483648,big=-9223372036854775808,usmall=0xffffffff,ubig=18446744073709551615,"
          "real=-1.5e3,ratio=0.25,mode=very_fast,numbers=1,0x2,-3,words=a,'b,c',d,modes=slow,very_fast");
  EXPECT_TRUE(options.flag());
  EXPECT_EQ(options.small(), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(options.big(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(options.usmall(), 0xFFFFFFFFu);
  EXPECT_EQ(options.ubig(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(options.real(), -1500.0);
  EXPECT_EQ(options.ratio(), 0.25f);
  EXPECT_EQ(options.mode(), test::v1::SPEED_MODE_VERY_FAST);
  EXPECT_THAT(options.numbers(), ElementsAre(1, 2, -3));
  EXPECT_THAT(options.words(), ElementsAre("a", "b,c", "d"));
  EXPECT_THAT(options.modes(), ElementsAre(test::v1::SPEED_MODE_SLOW, test::v1::SPEED_MODE_VERY_FAST));
}

TEST_F(PlanTest, ArgumentErrorsNameTheStageTheOptionAndWhatIsAllowed) {
  const struct {
    const char* argument;
    const char* says;
  } cases[] = {
      {"", "a stage needs a name"},
      {":x", "a stage needs a name"},
      {"filter.were:x", "unknown stage 'filter.were'; did you mean filter.where"},
      {"zzzzzzzz", "unknown stage 'zzzzzzzz'; the stages are annotate.activity, annotate.instrumentation"},
      {"filter.where:", "stage 'filter.where': nothing follows the ':'"},
      {"filter.time:rnge=1s..", "stage 'filter.time': unknown option 'rnge'; did you mean range?"},
      {"filter.time:1s..,contex=drop", "stage 'filter.time': unknown option 'contex'; did you mean context?"},
      {"filter.time:1s..,context=dorp", "option context: 'dorp' is not allowed; write keep or drop"},
      {"filter.time:1s..,context=DROP", "option context: 'DROP' is not allowed"},
      {"filter.time:1s..,context=", "option context: '' is not allowed"},
      {"filter.time:1s..,range=2s..", "option range is given twice"},
      {"test.bare:x", "'x' needs the name of an option; the options are text, flag"},
      {"test.bare:nothing=x", "unknown option 'nothing'; the options are text, flag"},
      {"test.all:flag=yes", "option flag: 'yes' is not allowed; write true or false"},
      {"test.all:small=2147483648", "a whole number from -2147483648 to 2147483647"},
      {"test.all:small=-2147483649", "is not allowed"},
      {"test.all:ubig=-1", "a whole number from 0 to 18446744073709551615"},
      {"test.all:ubig=18446744073709551616", "is not allowed"},
      {"test.all:big=9223372036854775808", "is not allowed"},
      {"test.all:usmall=1.5", "is not allowed"},
      {"test.all:usmall=0x", "is not allowed"},
      {"test.all:real=fast", "option real: 'fast' is not allowed; write a number"},
      {"test.all:real=", "is not allowed"},
      {"test.all:ratio=1e300", "is not allowed"},
      {"test.all:mode=medium", "option mode: 'medium' is not allowed; write slow or very_fast"},
      {"test.all:numbers=1,x", "option numbers: 'x' is not allowed; write a list with commas, each a whole number"},
      {"test.all:nested=x", "option nested: it cannot be given here; write it in a config file"},
      {"test.all:raw=x", "option raw: it cannot be given here"},
      {"test.all:'abc", "the quote at character 1 of its options is not closed"},
  };
  for (const auto& bad : cases) EXPECT_THAT(ErrorOf(bad.argument), HasSubstr(bad.says)) << bad.argument;
}

TEST_F(PlanTest, MakeStageConfigTakesTheValueAsItIs) {
  const auto config = MakeStageConfig("filter.where", "'a' == header", registry_);
  ASSERT_TRUE(config.ok());
  v1::FilterWhereOptions options;
  ASSERT_TRUE(config->options().UnpackTo(&options));
  EXPECT_EQ(options.expression(), "'a' == header");
  EXPECT_FALSE(MakeStageConfig("test.bare", "x", registry_).ok());
  EXPECT_FALSE(MakeStageConfig("nothing", "x", registry_).ok());
  EXPECT_FALSE(MakeStageConfig("filter.process", "x", registry_).ok());
}

constexpr const char* kConfigText = R"(stages {
  name: "filter.where"
  options {
    [type.googleapis.com/etwpipe.v1.FilterWhereOptions] {
      expression: "level <= 4 and header == \'MESSAGE\'"
    }
  }
  label: "quiet"
}
stages {
  name: "filter.process"
  options {
    [type.googleapis.com/etwpipe.v1.FilterProcessOptions] {
      pids: [1, 2]
      context: CONTEXT_DROP
    }
  }
}
)";

TEST_F(PlanTest, TheCanonicalTextReadsBackToItself) {
  const auto config = ParseConfig(kConfigText, "a.textproto");
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(PrintConfig(*config), kConfigText);
}

TEST_F(PlanTest, JsonAndTextMeanTheSame) {
  const auto config = ParseConfig(R"(  {"stages": [
    {"name": "filter.where", "label": "quiet", "options": {
      "@type": "type.googleapis.com/etwpipe.v1.FilterWhereOptions",
      "expression": "level <= 4 and header == 'MESSAGE'"}},
    {"name": "filter.process", "options": {
      "@type": "type.googleapis.com/etwpipe.v1.FilterProcessOptions", "pids": [1, 2], "context": "CONTEXT_DROP"}}]})",
                                  "a.json");
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(PrintConfig(*config), kConfigText);
}

TEST_F(PlanTest, ArgumentsBuildWhatTheConfigSays) {
  v1::PipelineConfig config;
  *config.add_stages() = *ParseStageArgument("filter.where:level <= 4 and header == 'MESSAGE'", registry_);
  config.mutable_stages(0)->set_label("quiet");
  *config.add_stages() = *ParseStageArgument("filter.process:1,2,context=drop", registry_);
  EXPECT_EQ(PrintConfig(config), kConfigText);
}

TEST_F(PlanTest, AnEmptyConfigHasNoStages) {
  for (const char* text : {"", "\n# only a comment\n", "{}", "\xEF\xBB\xBF"}) {
    const auto config = ParseConfig(text, "x");
    ASSERT_TRUE(config.ok()) << config.status().message();
    EXPECT_EQ(config->stages_size(), 0);
  }
}

TEST_F(PlanTest, ConfigErrorsGiveLineAndColumn) {
  const auto error = [](const std::string& text) {
    const auto config = ParseConfig(text, "my.textproto");
    return config.ok() ? "no error" : std::string(config.status().message());
  };
  EXPECT_THAT(error("stages {\n  nam: \"x\"\n}"),
              StartsWith("my.textproto:2:6: unknown option 'nam' of etwpipe.v1.StageConfig; did you mean name"));
  EXPECT_THAT(
      error("stages {\n  options {\n    [type.googleapis.com/etwpipe.v1.FilterTimeOptions] { rnge: \"1s..\" }\n  }\n}"),
      HasSubstr("unknown option 'rnge' of etwpipe.v1.FilterTimeOptions; did you mean range?"));
  EXPECT_THAT(error("stages { name: 5 }"), StartsWith("my.textproto:1:"));
  EXPECT_THAT(error("stages {"), StartsWith("my.textproto:1:"));
  EXPECT_THAT(error("{\"stages\": ["), StartsWith("my.textproto: "));
  EXPECT_THAT(error("{\"stagse\": []}"), HasSubstr("stagse"));
}

TEST_F(PlanTest, UnknownStagesAndForeignOptionsAreErrors) {
  EXPECT_THAT(PlanError("stages { name: \"filter.tim\" }"),
              HasSubstr("stage 1 'filter.tim': unknown stage 'filter.tim'; did you mean filter.time"));
  EXPECT_THAT(
      PlanError("stages { name: \"filter.time\" options { [type.googleapis.com/etwpipe.v1.FilterWhereOptions] {} } }"),
      HasSubstr("its options are of type 'etwpipe.v1.FilterWhereOptions'; it takes 'etwpipe.v1.FilterTimeOptions'"));
  v1::PipelineConfig config;
  config.add_stages()->set_name("filter.time");
  config.mutable_stages(0)->mutable_options()->set_type_url("x/etwpipe.v1.FilterTimeOptions");
  config.mutable_stages(0)->mutable_options()->set_value("\xFF\xFF");
  const auto plan = MakePlan(config, registry_);
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(std::string(plan.status().message()), HasSubstr("not a valid 'etwpipe.v1.FilterTimeOptions'"));
}

TEST_F(PlanTest, LabelsAreMadeDifferentOrRefused) {
  const auto plan =
      PlanOf("stages{name:'test.all'} stages{name:'test.all'} stages{name:'test.all' label:'test.all#2'}");
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->stages[0].label, "test.all");
  EXPECT_EQ(plan->stages[1].label, "test.all#3");
  EXPECT_EQ(plan->stages[2].label, "test.all#2");
  EXPECT_THAT(PlanError("stages{name:'test.all' label:'a'} stages{name:'test.bare' label:'a'}"),
              HasSubstr("two stages have the label 'a'"));
}

TEST_F(PlanTest, AnnotationsHaveOneProducerUpstreamOfTheirUse) {
  StageInfo producer = FakeInfo("test.producer");
  producer.produces = {{"test.column", AnnotationType::kU64, AnnotationUnit::kNone, ""}};
  AddFake(registry_, producer);
  StageInfo rival = producer;
  rival.name = "test.rival";
  AddFake(registry_, rival);
  StageInfo consumer = FakeInfo("test.consumer");
  consumer.needs_annotations = {"test.column"};
  AddFake(registry_, consumer);

  EXPECT_EQ(PlanError("stages{name:'test.producer'} stages{name:'test.consumer'}"), "no error");
  EXPECT_THAT(PlanError("stages{name:'test.consumer'} stages{name:'test.producer'}"),
              HasSubstr("stage 'test.consumer' needs the annotation 'test.column', which no stage before it produces"));
  EXPECT_THAT(PlanError("stages{name:'test.producer'} stages{name:'test.rival'}"),
              HasSubstr("stages 'test.producer' and 'test.rival' both produce the annotation 'test.column'"));
  const auto plan = PlanOf("stages{name:'test.producer'}");
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->annotations.size(), 1u);
  EXPECT_EQ(plan->annotations[0].name, "test.column");
}

TEST_F(PlanTest, ThePlanIsTheStrongestOfItsStages) {
  StageInfo analyst = FakeInfo("test.analyst");
  analyst.analysis_passes = 2;
  analyst.injects = true;
  AddFake(registry_, analyst);
  auto plan = PlanOf("stages{name:'test.all'}");
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->order, Order::kPerCpu);
  EXPECT_EQ(plan->analysis_passes, 0);
  EXPECT_FALSE(plan->drops || plan->rewrites);
  v1::PipelineConfig config;
  config.add_stages()->set_name("test.analyst");
  *config.add_stages() = *ParseStageArgument("sample.every:2", registry_);
  plan = MakePlan(config, registry_);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->order, Order::kTime);
  EXPECT_EQ(plan->analysis_passes, 2);
  EXPECT_TRUE(plan->drops && plan->rewrites);
}

TEST_F(PlanTest, ItsTextIsStable) {
  v1::PipelineConfig config;
  *config.add_stages() = *ParseStageArgument("filter.where:level <= 4", registry_);
  *config.add_stages() = *ParseStageArgument("sample.every:10,context=drop", registry_);
  config.mutable_stages(1)->set_label("thin");
  const auto plan = MakePlan(config, registry_);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->ToText(),
            "passes: 0 analysis, 1 transform\n"
            "order: time\n"
            "stages: 2\n"
            "  1. filter.where\n"
            "     options: {expression: \"level <= 4\"}\n"
            "     needs: header\n"
            "     order: per-cpu\n"
            "     effects: drops\n"
            "  2. thin\n"
            "     stage: sample.every\n"
            "     options: {n: 10 context: CONTEXT_DROP}\n"
            "     needs: payload\n"
            "     order: time, one batch at a time\n"
            "     effects: drops\n");
}

}  // namespace
}  // namespace etwpipe
