// Chunks of EventSource manifests: put together in every order, with every kind of loss; then the recordings that have
// some, whose events are compared with results nobody here computed.
#include "formats/schema/event_source_manifests.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "formats/etl/etl_source.h"
#include "formats/schema/context_records.h"
#include "formats/schema/decoder.h"
#include "formats/schema/value_text.h"
#include "tests/formats/schema/field_text.h"
#include "tests/support/collect.h"
#include "tests/support/json.h"
#include "tests/support/test_data.h"

namespace etwpipe::schema {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Guid kProvider = GuidOf("11111111-2222-3333-4444-555555555555");
const Guid kOther = GuidOf("22222222-2222-3333-4444-555555555555");

std::string Manifest(const std::string& events, const Guid& provider = kProvider) {
  return fmt::format(
      R"(<instrumentationManifest><instrumentation><events><provider name="Shop" guid="{{{}}}"><events>{}</events>
      </provider></events></instrumentation></instrumentationManifest>)",
      ToString(provider), events);
}

// A chunk record as far as the collector looks at it.
struct Chunk {
  std::string text{};
  uint16_t number = 0;
  uint16_t total = 1;
  int64_t timestamp = 0;
  Guid provider = kProvider;
  uint32_t pid = 4;
  uint32_t tid = 8;
  uint8_t format = 1;
  uint8_t minor = 0;
  uint8_t magic = 0x5B;
  uint16_t id = 0xFFFE;
  HeaderKind kind = HeaderKind::kEvent64;
  EventInstanceId instance_id = 0;

  std::vector<std::byte> Payload() const {
    const uint8_t head[] = {format, 1, minor, magic};
    std::vector<std::byte> bytes(8 + text.size());
    std::memcpy(bytes.data(), head, 4);
    std::memcpy(&bytes[4], &total, 2);
    std::memcpy(&bytes[6], &number, 2);
    std::memcpy(bytes.data() + 8, text.data(), text.size());
    return bytes;
  }
};

void AddBytes(EventSourceManifests& manifests, const Chunk& chunk, std::span<const std::byte> payload) {
  EventHeader row;
  row.kind = chunk.kind;
  row.id = chunk.id;
  row.timestamp = chunk.timestamp;
  row.instance_id = chunk.instance_id;
  row.pid = chunk.pid;
  row.tid = chunk.tid;
  row.record = payload.data();
  row.record_size = static_cast<uint16_t>(payload.size());
  manifests.Add(row, chunk.provider);
}

struct Finished {
  std::vector<std::string> names;  // NAME id, without those of the chunks themselves
  std::vector<std::string> problems;
  std::vector<std::shared_ptr<const EventSchema>> schemas;
};

Finished Finish(EventSourceManifests& manifests) {
  Finished result;
  result.schemas = manifests.Finish(result.problems);
  for (const auto& schema : result.schemas) {
    EXPECT_EQ(schema->origin, SchemaOrigin::kEventSource);
    if (schema->key.number != kEventSourceManifestId) result.names.push_back(schema->name);
  }
  return result;
}

Finished Collect(const std::vector<Chunk>& chunks) {
  EventSourceManifests manifests;
  for (const Chunk& chunk : chunks) AddBytes(manifests, chunk, chunk.Payload());
  return Finish(manifests);
}

// A manifest of one event in `count` chunks, a tick apart.
std::vector<Chunk> Split(const std::string& text, uint16_t count, Chunk like = {}) {
  std::vector<Chunk> chunks;
  const size_t size = text.size() / count + 1;
  for (uint16_t i = 0; i < count; ++i) {
    Chunk chunk = like;
    chunk.text = text.substr(i * size, size);
    chunk.number = i;
    chunk.total = count;
    chunk.timestamp += i;
    chunks.push_back(chunk);
  }
  return chunks;
}

const std::string kBuy = Manifest(R"(<event value="1" symbol="Buy"/>)");

TEST(EventSourceManifests, OneChunk) {
  const Finished result = Collect({{.text = kBuy}});
  EXPECT_THAT(result.names, ElementsAre("Buy"));
  EXPECT_THAT(result.problems, IsEmpty());
  EXPECT_THAT(Collect({}).schemas, IsEmpty());
}

TEST(EventSourceManifests, TheChunksThemselvesHaveASchema) {
  const Chunk chunk{.text = kBuy};
  const Finished result = Collect({chunk});
  ASSERT_EQ(result.schemas.size(), 2u);
  const EventSchema& schema = *result.schemas[1];
  EXPECT_EQ(schema.name, "ManifestData");
  EXPECT_EQ(schema.provider->name, "Shop");
  EXPECT_EQ(schema.key, (EventKey{false, 0xFFFE, 0, 0xFFFF}));
  const auto payload = chunk.Payload();
  DecodedFields fields;
  ASSERT_EQ(Decode(schema, payload, 8, fields), DecodeOutcome::kComplete);
  ASSERT_EQ(fields.tokens.size(), 7u);
  const std::pair<const char*, std::string> expected[] = {{"Format", "1"}, {"MajorVersion", "1"}, {"MinorVersion", "0"},
                                                          {"Magic", "91"}, {"TotalChunks", "1"},  {"ChunkNumber", "0"},
                                                          {"Data", kBuy}};
  for (size_t i = 0; i < 7; ++i) {
    const Property& property = schema.properties[i];
    Value value;
    ReadValue(property, std::span(payload).subspan(fields.tokens[i].offset, fields.tokens[i].size), value);
    std::string text;
    AppendText(value, text);
    EXPECT_EQ(property.name, expected[i].first);
    EXPECT_EQ(text, expected[i].second);
  }
  // Also where the manifest is lost: then nobody knows the provider's name.
  const Finished lost = Collect({{.text = kBuy, .number = 1, .total = 2}});
  ASSERT_EQ(lost.schemas.size(), 1u);
  EXPECT_EQ(lost.schemas[0]->name, "ManifestData");
  EXPECT_EQ(lost.schemas[0]->provider->name, ToString(kProvider));
}

TEST(EventSourceManifests, ChunksInAnyOrderOfArrival) {
  auto chunks = Split(kBuy, 4);
  std::vector<size_t> order = {0, 1, 2, 3};
  do {
    std::vector<Chunk> shuffled;
    for (const size_t i : order) shuffled.push_back(chunks[i]);
    const Finished result = Collect(shuffled);
    EXPECT_THAT(result.names, ElementsAre("Buy"));
    EXPECT_THAT(result.problems, IsEmpty());
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(EventSourceManifests, EqualTimesGoByInstance) {
  auto chunks = Split(kBuy, 3);
  for (Chunk& chunk : chunks) {
    chunk.timestamp = 5;
    chunk.instance_id = 100 + chunk.number;
  }
  const Finished result = Collect({chunks[2], chunks[0], chunks[1]});
  EXPECT_THAT(result.names, ElementsAre("Buy"));
  EXPECT_THAT(result.problems, IsEmpty());
}

TEST(EventSourceManifests, EmittersDoNotMix) {
  // Two threads and another process write at the same time, each a manifest of its own.
  std::vector<Chunk> all;
  const std::string sell = Manifest(R"(<event value="2" symbol="Sell"/>)");
  const std::string other = Manifest(R"(<event value="3" symbol="Other"/>)", kOther);
  for (const Chunk& chunk : Split(kBuy, 3, {.tid = 1})) all.push_back(chunk);
  for (const Chunk& chunk : Split(sell, 3, {.tid = 2})) all.push_back(chunk);
  for (const Chunk& chunk : Split(other, 3, {.provider = kOther, .pid = 9})) all.push_back(chunk);
  std::stable_sort(all.begin(), all.end(), [](const Chunk& a, const Chunk& b) { return a.timestamp < b.timestamp; });
  const Finished result = Collect(all);
  EXPECT_THAT(result.names, ElementsAre("Buy", "Sell", "Other"));
  EXPECT_THAT(result.problems, ElementsAre(HasSubstr("there are 2 different ones")));
}

TEST(EventSourceManifests, ALostChunkIsNamedWhicheverItIs) {
  for (uint16_t lost = 0; lost < 5; ++lost) {
    auto chunks = Split(kBuy, 5);
    chunks.erase(chunks.begin() + lost);
    const Finished result = Collect(chunks);
    EXPECT_THAT(result.names, IsEmpty());
    EXPECT_THAT(result.problems,
                ElementsAre(fmt::format("manifest of {}: chunk {} of 5 is missing", ToString(kProvider), lost + 1)));
  }
}

TEST(EventSourceManifests, AfterALossTheNextChunkZeroStartsAnew) {
  auto chunks = Split(kBuy, 3);
  chunks.pop_back();
  for (const Chunk& chunk : Split(kBuy, 3, {.timestamp = 100})) chunks.push_back(chunk);
  // What follows lost its first chunk.
  chunks.push_back({.text = "x", .number = 1, .total = 2, .timestamp = 200});
  const Finished result = Collect(chunks);
  EXPECT_THAT(result.names, ElementsAre("Buy"));
  EXPECT_THAT(result.problems, ElementsAre(HasSubstr("chunk 1 of 2 is missing"), HasSubstr("chunk 3 of 3 is missing")));
}

TEST(EventSourceManifests, VersionAndTotalMustStay) {
  auto chunks = Split(kBuy, 3);
  chunks[1].minor = 7;
  EXPECT_THAT(Collect(chunks).problems, ElementsAre(HasSubstr("chunk 2 of 3 is missing")));
  chunks = Split(kBuy, 3);
  chunks[2].total = 4;
  EXPECT_THAT(Collect(chunks).problems, ElementsAre(HasSubstr("chunk 3 of 3 is missing")));
}

TEST(EventSourceManifests, WhatIsNoChunk) {
  EventSourceManifests manifests;
  const Chunk good{.text = kBuy};
  const auto payload = good.Payload();
  for (size_t length = 0; length < 8; ++length) AddBytes(manifests, good, std::span(payload).first(length));
  for (const Chunk& bad : {Chunk{.format = 2}, Chunk{.magic = 0}, Chunk{.number = 1, .total = 1}, Chunk{.total = 0}}) {
    AddBytes(manifests, bad, bad.Payload());
  }
  EXPECT_THAT(Finish(manifests).problems, ElementsAre("12 records with the id of manifests hold none"));
  // Other events are none of its business.
  const Finished others = Collect({{.text = kBuy, .id = 1}, {.text = kBuy, .kind = HeaderKind::kFull64}});
  EXPECT_THAT(others.schemas, IsEmpty());
  EXPECT_THAT(others.problems, IsEmpty());
}

TEST(EventSourceManifests, RepeatsAreNoProblem) {
  std::vector<Chunk> chunks;
  for (uint32_t pid = 0; pid < 20; ++pid) {
    for (const Chunk& chunk : Split(kBuy, 2, {.pid = pid})) chunks.push_back(chunk);
  }
  const Finished result = Collect(chunks);
  EXPECT_THAT(result.names, ElementsAre("Buy"));
  EXPECT_THAT(result.problems, IsEmpty());
}

TEST(EventSourceManifests, OfDifferentOnesTheLaterCounts) {
  const std::string old = Manifest(R"(<event value="1" symbol="Old"/><event value="2" symbol="OnlyOld"/>)");
  const std::string young = Manifest(R"(<event value="1" symbol="New"/><event value="1" version="1" symbol="New1"/>)");
  const Finished result = Collect({{.text = young, .timestamp = 9, .pid = 1}, {.text = old, .timestamp = 3, .pid = 2}});
  EXPECT_THAT(result.names, ElementsAre("New", "New1", "OnlyOld"));
  EXPECT_THAT(result.problems, ElementsAre(HasSubstr("there are 2 different ones; of an event that several describe, "
                                                     "the one written last counts")));
  // A repeat makes the old one the later one.
  const Finished repeated = Collect({{.text = young, .timestamp = 9, .pid = 1},
                                     {.text = old, .timestamp = 3, .pid = 2},
                                     {.text = old, .timestamp = 10, .pid = 3}});
  EXPECT_THAT(repeated.names, ElementsAre("Old", "New1", "OnlyOld"));
}

TEST(EventSourceManifests, BrokenAndForeignManifestsAreProblems) {
  EXPECT_THAT(Collect({{.text = "<instrum"}}).problems, ElementsAre(HasSubstr("no XML")));
  const Finished foreign = Collect({{.text = Manifest(R"(<event value="1"/>)", kOther)}});
  EXPECT_THAT(foreign.names, IsEmpty());
  EXPECT_THAT(foreign.problems, ElementsAre(HasSubstr("it describes no event of its provider")));
  const Finished defect = Collect({{.text = Manifest(R"(<event value="1"/><event value="2" template="T"/>)")}});
  EXPECT_THAT(defect.names, ElementsAre("EventID(1)"));
  EXPECT_THAT(defect.problems, ElementsAre(HasSubstr("event 2 v0: there is no template 'T'")));
}

TEST(EventSourceManifests, LimitOfBytesAndOfManifests) {
  EventSourceManifests manifests;
  // Records of at most 64 KiB, all different.
  const std::string filler(60000, ' ');
  for (int64_t i = 0; i < 1200; ++i) {
    const Chunk chunk{.text = fmt::format("{}<!--{}-->", filler, i), .timestamp = i};
    AddBytes(manifests, chunk, chunk.Payload());
  }
  const Finished result = Finish(manifests);
  ASSERT_FALSE(result.problems.empty());
  EXPECT_THAT(result.problems[0], testing::ContainsRegex("[0-9]+ chunks of manifests were ignored: .* 64 MiB"));

  EventSourceManifests many;
  for (int64_t i = 0; i < 4100; ++i) {
    const Chunk chunk{.text = Manifest(fmt::format(R"(<event value="{}"/>)", i)), .timestamp = i};
    AddBytes(many, chunk, chunk.Payload());
  }
  const Finished counted = Finish(many);
  EXPECT_EQ(counted.names.size(), 4096u);
  EXPECT_THAT(counted.problems, ElementsAre(HasSubstr("there are 4096 different ones"),
                                            "4 manifests of EventSources were ignored: too many"));
}

TEST(EventSourceManifests, SharedChunksCannotMultiplyTheWork) {
  // 200 threads repeat one 60 KB chunk 100 times with a last chunk of their own: 1.2 GB of text from 60 KB.
  EventSourceManifests manifests;
  const std::string filler(60000, ' ');
  for (uint32_t tid = 0; tid < 200; ++tid) {
    for (uint16_t i = 0; i < 100; ++i) {
      const Chunk chunk{
          .text = i < 99 ? filler : std::to_string(tid), .number = i, .total = 100, .timestamp = i, .tid = tid};
      AddBytes(manifests, chunk, chunk.Payload());
    }
  }
  const Finished result = Finish(manifests);
  EXPECT_EQ(result.problems.back(), "189 manifests of EventSources were ignored: too many");
}

// The schemas and the events of a recording.
struct Recording {
  std::map<std::tuple<Guid, uint16_t, uint16_t>, std::shared_ptr<const EventSchema>> schemas;
  std::vector<std::string> problems;
  std::vector<test::CollectedEvent> events;

  explicit Recording(const std::string& file) { Read(file); }

  void Read(const std::string& file) {
    auto input = InputFile::Open(test::SamplePath(file).string());
    ASSERT_TRUE(input.ok()) << input.status().message();
    Diagnostics diagnostics;
    auto source = etl::EtlSource::Open(*input, {false, &diagnostics});
    ASSERT_TRUE(source.ok()) << source.status().message();
    test::CollectSink sink(Order::kPerCpu);
    const auto summary = Execute(**source, sink, 2, &diagnostics);
    ASSERT_TRUE(summary.ok()) << summary.status().message();
    events = std::move(sink.events);
    EventSourceManifests manifests;
    for (auto& event : events) {
      event.header.record = event.bytes.data();
      manifests.Add(event.header, event.provider);
    }
    for (const auto& schema : manifests.Finish(problems)) {
      schemas[{schema->provider->guid, schema->key.number, schema->key.first_version}] = schema;
    }
  }

  const EventSchema* Find(const Guid& provider, uint16_t id, uint16_t version) const {
    const auto found = schemas.find({provider, id, id == kEventSourceManifestId ? uint16_t{0} : version});
    return found == schemas.end() ? nullptr : found->second.get();
  }
  static bool HasId(const EventHeader& row) {
    return row.kind == HeaderKind::kEvent32 || row.kind == HeaderKind::kEvent64;
  }
};

class EventSourceRecordings : public ::testing::TestWithParam<std::pair<const char*, size_t>> {};

TEST_P(EventSourceRecordings, EveryEventDecodes) {
  const auto& [file, providers] = GetParam();
  if (const auto missing = test::MissingData(test::SamplePath(file)); !missing.empty()) GTEST_SKIP() << missing;
  const Recording recording(file);
  EXPECT_THAT(recording.problems, IsEmpty());
  std::set<Guid> described;
  for (const auto& schema : recording.schemas) described.insert(std::get<0>(schema.first));
  EXPECT_EQ(described.size(), providers);
  const Guid perfview = GuidOf("a8a71ac1-040f-54a2-07ca-00a89b5ab761");
  size_t decoded = 0;
  DecodedFields fields;
  for (const auto& event : recording.events) {
    const EventHeader& row = event.header;
    if (!Recording::HasId(row) || !described.contains(event.provider)) continue;
    const std::string label = fmt::format("{} id {} v{}", ToString(event.provider), row.id, row.version);
    const EventSchema* schema = recording.Find(event.provider, row.id, row.version);
    ASSERT_NE(schema, nullptr) << label;
    // Known oddity: PerfView's event 13 has a number that its manifest lacks.
    const bool odd = event.provider == perfview && row.id == 13;
    ASSERT_EQ(Decode(*schema, row.payload(), row.pointer_size(), fields),
              odd ? DecodeOutcome::kExtra : DecodeOutcome::kComplete)
        << label;
    EXPECT_EQ(row.payload().size() - fields.consumed, odd ? 4u : 0u) << label;
    if (row.id != kEventSourceManifestId) {
      EXPECT_EQ(row.opcode, schema->opcode) << label;
      EXPECT_EQ(row.task, schema->task) << label;
      EXPECT_EQ(row.level, schema->level) << label;
    }
    ++decoded;
  }
  EXPECT_GT(decoded, 30u);
}

INSTANTIATE_TEST_SUITE_P(Files, EventSourceRecordings,
                         ::testing::Values(std::pair("net.4.5.2.x64.etl", 3), std::pair("DynamicEvents.etl", 1)));

TEST(EventSourceManifests, KindsAreNamedAsPerfViewDoes) {
  const auto path = test::TestDataDir() / "expected/perfview-kinds.json";
  for (const auto& needed : {path, test::SamplePath("net.4.5.2.x64.etl")}) {
    if (const auto missing = test::MissingData(needed); !missing.empty()) GTEST_SKIP() << missing;
  }
  const Recording recording("net.4.5.2.x64.etl");
  const auto document = test::ReadJson(path);
  size_t compared = 0;
  for (const auto& kind : document["net.4.5.2.x64"]["kinds"].GetArray()) {
    for (const auto& from : kind["from"].GetArray()) {
      const auto* schema =
          recording.Find(GuidOf(from["provider"].GetString()), static_cast<uint16_t>(from["id"].GetUint()),
                         static_cast<uint16_t>(from["version"].GetUint()));
      if (schema == nullptr) continue;
      EXPECT_EQ(schema->provider->name + "/" + schema->name, kind["perfview_name"].GetString());
      ++compared;
    }
  }
  EXPECT_EQ(compared, 21u);
}

// A value as expected/strings.json writes it: booleans as numbers.
std::string Shown(const Property& property, std::span<const std::byte> bytes) {
  Value value;
  ReadValue(property, bytes, value);
  if (value.kind == ValueKind::kBool) return std::to_string(value.bits);
  std::string text;
  AppendText(value, text);
  return text;
}

TEST(EventSourceManifests, ValuesEqualTheExpectedOnes) {
  const auto path = test::TestDataDir() / "expected/strings.json";
  for (const auto& needed : {path, test::SamplePath("DynamicEvents.etl")}) {
    if (const auto missing = test::MissingData(needed); !missing.empty()) GTEST_SKIP() << missing;
  }
  const Recording recording("DynamicEvents.etl");
  const auto document = test::ReadJson(path);
  size_t compared = 0;
  for (const auto& sample : document.GetObject()) {
    if (!sample.value.IsArray()) continue;
    for (const auto& expected : sample.value.GetArray()) {
      if (std::string_view(expected["basis"].GetString()) != "manifest") continue;
      ASSERT_STREQ(sample.name.GetString(), "DynamicEvents");
      const auto event =
          std::find_if(recording.events.begin(), recording.events.end(), [&](const test::CollectedEvent& candidate) {
            const EventHeader& row = candidate.header;
            return row.timestamp == expected["ts"].GetInt64() && row.cpu == expected["cpu"].GetUint() &&
                   row.tid == expected["tid"].GetUint() && row.id == expected["id"].GetUint();
          });
      ASSERT_NE(event, recording.events.end());
      const EventHeader& row = event->header;
      const EventSchema* schema = recording.Find(event->provider, row.id, row.version);
      ASSERT_NE(schema, nullptr);
      EXPECT_EQ(schema->provider->name, expected["provider_name"].GetString());
      EXPECT_EQ(schema->symbol, expected["event"].GetString());
      EXPECT_EQ(schema->task_name, expected.HasMember("task") ? expected["task"].GetString() : "");
      EXPECT_EQ(schema->opcode_name, expected.HasMember("opcode_name") ? expected["opcode_name"].GetString() : "");
      DecodedFields fields;
      ASSERT_EQ(Decode(*schema, row.payload(), row.pointer_size(), fields), DecodeOutcome::kComplete);
      const auto& wanted = expected["fields"];
      ASSERT_EQ(fields.tokens.size(), wanted.Size()) << schema->name;
      for (rapidjson::SizeType i = 0; i < wanted.Size(); ++i) {
        const Token& token = fields.tokens[i];
        const Property& property = schema->properties[token.property];
        EXPECT_EQ(property.name, wanted[i]["name"].GetString());
        EXPECT_EQ(ManifestNameOf(property.in), wanted[i]["type"].GetString()) << property.name;
        EXPECT_EQ(Shown(property, row.payload().subspan(token.offset, token.size)), wanted[i]["value"].GetString())
            << property.name;
        EXPECT_EQ(property.map == kNoMap ? "" : schema->maps[property.map]->name,
                  wanted[i].HasMember("map") ? wanted[i]["map"].GetString() : "");
      }
      ++compared;
    }
  }
  EXPECT_EQ(compared, 25u);
}

}  // namespace
}  // namespace etwpipe::schema
