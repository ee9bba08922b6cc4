// Events of vcperf: every row of semantics.md 4.3, from payloads built here.
#include <gtest/gtest.h>

#include "formats/schema/builtin_schemas.h"
#include "formats/schema/value_text.h"
#include "tests/formats/schema/flat_fields.h"
#include "tests/formats/schema/payload_builder.h"

namespace etwpipe::schema {
namespace {

const Guid kProvider = GuidOf("f78a07b0-796a-5da4-5c20-61aa526e77af");

// The start of nearly all of them.
constexpr std::string_view kTimeline =
    "TimelineId:UInt16,TimelineDescription:AnsiString,Tool:AnsiString,InvocationId:UInt32,";
constexpr std::string_view kBuild = "InvocationDescription:UnicodeString,Component:UnicodeString,";
constexpr std::string_view kBuildDurations =
    "ExclusiveMillisecondDuration:UInt32,InclusiveMillisecondDuration:UInt32,"
    "ExclusiveMillisecondCPUTime:UInt32,InclusiveMillisecondCPUTime:UInt32";
constexpr std::string_view kFile =
    "Component:UnicodeString,IncludedPath:AnsiString,ParentPath:AnsiString,Depth:UInt16,ActivityName:AnsiString,"
    "ExclusiveMillisecondDuration:UInt32,InclusiveMillisecondDuration:UInt32";
constexpr std::string_view kTemplate =
    "Component:UnicodeString,PrimaryTemplateName:AnsiString,SpecializationName:AnsiString,MicrosecondDuration:UInt32";

struct Row {
  uint16_t id;
  uint16_t version;
  uint8_t opcode;
  std::string_view name;
  std::string fields;
};

std::vector<Row> Rows() {
  const std::string timeline(kTimeline);
  const std::string build = timeline + std::string(kBuild);
  const std::string build_activity = build + "ActivityName:AnsiString," + std::string(kBuildDurations);
  const std::string file = timeline + std::string(kFile);
  const std::string instantiation = timeline + std::string(kTemplate);
  return {
      {0, 0, 20, "BuildExplorer/Activity", build_activity},
      {0, 1, 20, "BuildExplorer/Activity", build_activity + ",WallClockMillisecondTimeResponsibility:UInt32"},
      {1, 0, 22, "BuildExplorer/SimpleEvent", build + "Name:AnsiString,Value:AnsiString"},
      {2, 0, 22, "BuildExplorer/SimpleEvent", build + "Name:AnsiString,Value:UnicodeString"},
      {1000, 0, 20, "Files/Activity", file},
      {1000, 1, 20, "Files/Activity", file + ",WallClockMillisecondTimeResponsibility:UInt32"},
      {1500, 0, 20, "Functions/Activity",
       timeline + "Component:UnicodeString,FunctionName:AnsiString,ActivityName:AnsiString,MillisecondDuration:UInt32"},
      {1500, 1, 20, "Functions/Activity",
       timeline + "Component:UnicodeString,FunctionInstanceId:UInt64,FunctionName:AnsiString,ActivityName:AnsiString,"
                  "MillisecondDuration:UInt32,WallClockMillisecondTimeResponsibility:UInt32"},
      {1501, 0, 22, "Functions/SimpleEvent",
       timeline + "Component:UnicodeString,FunctionName:AnsiString,ActivityName:AnsiString,EventName:AnsiString,"
                  "StringDescription:AnsiString,StringValue:AnsiString,NumericDescription:AnsiString,"
                  "NumericValue:Int32"},
      {1501, 1, 22, "Functions/SimpleEvent",
       timeline + "Component:UnicodeString,FunctionInstanceId:UInt64,FunctionName:AnsiString,ActivityName:AnsiString,"
                  "EventId:UInt16,EventName:AnsiString,StringValue:AnsiString,NumericValue:Int32"},
      {1502, 0, 23, "Functions/ActivityExtension1", "FunctionInstanceId:UInt64"},
      {1503, 0, 24, "Functions/SimpleEventExtension1", "FunctionInstanceId:UInt64,EventId:UInt16"},
      {2000, 0, 20, "TemplateInstantiations/Activity", instantiation},
      {2000, 1, 20, "TemplateInstantiations/Activity",
       instantiation + ",WallClockMicrosecondTimeResponsibility:UInt32"},
      {2500, 0, 25, "GenericField", "Value:AnsiString"},
      {2501, 0, 25, "GenericField", "Value:AnsiString"},
      {2502, 0, 25, "GenericField", "Value:UnicodeString"},
      {2503, 0, 25, "GenericField", "Value:Int64"},
  };
}

std::shared_ptr<const EventSchema> Find(uint16_t id, uint16_t version) {
  return PickVersion(BuiltInSchemas(kProvider), false, id, version);
}

TEST(BuildInsights, TheGuidIsTheHashOfTheName) {
  EXPECT_EQ(ProviderGuidFromName("Microsoft.VisualCpp.BuildInsights"), kProvider);
}

TEST(BuildInsights, EveryRowDecodesToItsLastByte) {
  const auto rows = Rows();
  EXPECT_EQ(BuiltInSchemas(kProvider).size(), rows.size());
  for (const Row& row : rows) {
    SCOPED_TRACE(std::string(row.name) + " " + std::to_string(row.id) + " v" + std::to_string(row.version));
    const auto schema = Find(row.id, row.version);
    ASSERT_NE(schema, nullptr);
    EXPECT_EQ(schema->key, (EventKey{false, row.id, row.version, row.version}));
    EXPECT_EQ(schema->name, row.name);
    EXPECT_EQ(schema->opcode, row.opcode);
    EXPECT_EQ(schema->level, 4);
    EXPECT_EQ(schema->keyword, 0u);
    test::PayloadBuilder built(8);
    built.Add(test::ParseFieldList(row.fields));
    test::ExpectDecodes(*schema, built, 8);
  }
}

TEST(BuildInsights, TasksAreThoseOfTheManifest) {
  const std::pair<uint16_t, std::string> tasks[] = {{0, "1:BuildExplorer"},
                                                    {1000, "2:Files"},
                                                    {1500, "3:Functions"},
                                                    {1501, "3:Functions"},
                                                    {2000, "4:TemplateInstantiations"}};
  for (const auto& [id, task] : tasks) {
    const auto schema = Find(id, 0);
    EXPECT_EQ(std::to_string(schema->task) + ":" + schema->task_name, task);
  }
}

TEST(BuildInsights, ForceInlineeHasAName) {
  const auto schema = Find(1501, 1);
  const Property& id = schema->properties.at(static_cast<size_t>(schema->IndexOf("EventId")));
  ASSERT_NE(id.map, kNoMap);
  EXPECT_EQ(schema->maps.at(id.map)->NameOf(1), "ForceInlinee");
}

TEST(BuildInsights, Utf8IsText) {
  const std::string text = "gr\xc3\xbc\xc3\x9f";
  const auto* bytes = reinterpret_cast<const std::byte*>(text.c_str());
  const auto fields = test::Flatten(*Find(2501, 0), {bytes, text.size() + 1}, 8);
  ASSERT_EQ(fields.size(), 1u);
  EXPECT_EQ(fields[0].text, text);
}

}  // namespace
}  // namespace etwpipe::schema
