// The built-in schemas against recordings: every event of the providers they know decodes to its last byte, under the
// name and with the values that PerfView shows.
#include <gtest/gtest.h>

#include <charconv>
#include <map>
#include <set>

#include "formats/etl/etl_source.h"
#include "formats/schema/builtin_schemas.h"
#include "tests/formats/schema/flat_fields.h"
#include "tests/support/collect.h"
#include "tests/support/json.h"
#include "tests/support/test_data.h"

namespace etwpipe::schema {
namespace {

// The kernel's own groups and the ETW session's are tested with their schemas.
bool IsManifestProvider(const Guid& provider) {
  static const std::set<Guid> kProviders = {
      GuidOf("e13c0d23-ccbc-4e12-931b-d9cc2eee27e4"),  // DotNETRuntime
      GuidOf("a669021c-c450-4609-a035-5af59af4df18"),  // DotNETRuntimeRundown
      GuidOf("763fd754-7086-4dfe-95eb-c01a46faf4ca"),  // DotNETRuntimePrivate
      GuidOf("cc2bcbba-16b6-4cf3-8990-d74c2e8af500"),  // DotNETRuntimeStress
      GuidOf("f78a07b0-796a-5da4-5c20-61aa526e77af"),  // BuildInsights
      GuidOf("22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716"),  // Kernel-Process
      GuidOf("edd08927-9cc4-4e65-b970-c2560fb5c289"),  // Kernel-File
      GuidOf("7dd42a49-5329-4832-8dfd-43d979153a88"),  // Kernel-Network
      GuidOf("70eb4f03-c1de-4f73-a051-33d13d5413bd"),  // Kernel-Registry
      GuidOf("c7bde69a-e1e0-4177-b6ef-283ad1525271"),  // Kernel-Disk
      GuidOf("b675ec37-bdb6-4648-bc92-f3fdc74d3ca2"),  // Kernel-EventTracing
      GuidOf("a0c1853b-5c40-4b15-8766-3cf1c58f985a"),  // PowerShell
      GuidOf("2e5dba47-a3d2-4d16-8ee0-6671ffdcd7b5"),  // TplEventSource
      GuidOf("8e9f5090-2d75-4d03-8a81-e5afbf85daf1"),  // FrameworkEventSource
  };
  return kProviders.contains(provider);
}

std::shared_ptr<const EventSchema> FindBuiltIn(const EventHeader& row, const Guid& provider) {
  return BuiltInSupplier().Find({row, provider, {}, {}});
}

// Events of these providers, with their bytes.
std::vector<test::CollectedEvent> Collect(const std::string& file_name) {
  auto file = InputFile::Open(test::SamplePath(file_name).string());
  EXPECT_TRUE(file.ok()) << file.status().message();
  Diagnostics diagnostics;
  auto source = etl::EtlSource::Open(*file, {false, &diagnostics});
  EXPECT_TRUE(source.ok()) << source.status().message();
  test::CollectSink sink(Order::kPerCpu);
  const auto summary = Execute(**source, sink, 2, &diagnostics);
  EXPECT_TRUE(summary.ok()) << summary.status().message();
  std::vector<test::CollectedEvent> events;
  for (auto& event : sink.events) {
    if (!SchemaRegistry::IsClassic(event.header.kind) && IsManifestProvider(event.provider)) {
      events.push_back(std::move(event));
    }
  }
  return events;
}

std::span<const std::byte> PayloadOf(const test::CollectedEvent& event) {
  return std::span(event.bytes).subspan(event.header.payload_begin);
}

std::string Kind(const test::CollectedEvent& event) {
  return ToString(event.provider) + " id " + std::to_string(event.header.id) + " v" +
         std::to_string(event.header.version);
}

class ClrSamples : public testing::TestWithParam<const char*> {};

TEST_P(ClrSamples, EveryEventDecodesToItsLastByte) {
  const auto path = test::TestDataDir() / "expected/counts.json";
  if (const auto missing = test::MissingData(path); !missing.empty()) GTEST_SKIP() << missing;
  const auto document = test::ReadJson(path);
  const auto& sample = document[GetParam()];
  size_t wanted = 0;
  for (const auto& kind : sample["kinds"].GetArray()) {
    const bool has_id = std::string_view(kind["header"].GetString()).starts_with("EVENT_HEADER");
    if (has_id && IsManifestProvider(GuidOf(kind["provider"].GetString()))) wanted += kind["count"].GetUint64();
  }
  const auto events = Collect(sample["file"].GetString());
  EXPECT_EQ(events.size(), wanted);
  std::map<std::string, std::map<std::string, size_t>> failures;
  DecodedFields fields;
  for (const auto& event : events) {
    const auto schema = FindBuiltIn(event.header, event.provider);
    if (schema == nullptr) {
      ++failures[Kind(event)]["no schema"];
      continue;
    }
    const auto outcome = Decode(*schema, PayloadOf(event), event.header.pointer_size(), fields);
    if (outcome != DecodeOutcome::kComplete) {
      ++failures[Kind(event)]["outcome " + std::to_string(static_cast<int>(outcome)) + ", " +
                              std::to_string(fields.consumed) + " of " + std::to_string(PayloadOf(event).size())];
    }
    EXPECT_LE(schema->key.first_version, event.header.version) << Kind(event);
    EXPECT_GE(schema->key.last_version, event.header.version) << Kind(event);
  }
  for (const auto& [kind, outcomes] : failures) {
    for (const auto& [outcome, count] : outcomes) ADD_FAILURE() << kind << ": " << outcome << ", " << count << " times";
  }
}

// The samples that have events of these providers.
INSTANTIATE_TEST_SUITE_P(All, ClrSamples,
                         testing::Values("net.4.5.2.x64", "gcevents", "DynamicEvents", "powershell", "KernelNetwork"));

TEST(ClrSamplesPerfView, NamesAreThoseOfPerfView) {
  const auto path = test::TestDataDir() / "expected/perfview-kinds.json";
  if (const auto missing = test::MissingData(path); !missing.empty()) GTEST_SKIP() << missing;
  const auto document = test::ReadJson(path);
  size_t compared = 0;
  for (const auto& sample : document.GetObject()) {
    for (const auto& kind : sample.value["kinds"].GetArray()) {
      for (const auto& from : kind["from"].GetArray()) {
        const Guid provider = GuidOf(from["provider"].GetString());
        if (!IsManifestProvider(provider)) continue;
        EventHeader row;
        row.kind = HeaderKind::kEvent64;
        row.id = static_cast<uint16_t>(from["id"].GetUint());
        row.opcode = static_cast<uint8_t>(from["opcode"].GetUint());
        row.version = static_cast<uint16_t>(from["version"].GetUint());
        const auto schema = FindBuiltIn(row, provider);
        ASSERT_NE(schema, nullptr) << kind["perfview_name"].GetString();
        EXPECT_EQ(schema->provider->name + "/" + schema->name, kind["perfview_name"].GetString());
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, 100u);
}

// PerfView's counts by name, counted here by the names of the built-in schemas.
TEST(ClrSamplesPerfView, CountsByNameAreThoseOfPerfView) {
  const auto path = test::TestDataDir() / "expected/perfview-kinds.json";
  if (const auto missing = test::MissingData(path); !missing.empty()) GTEST_SKIP() << missing;
  const auto document = test::ReadJson(path);
  for (const auto& sample : document.GetObject()) {
    std::map<std::string, uint64_t> wanted;
    for (const auto& kind : sample.value["kinds"].GetArray()) {
      if (IsManifestProvider(GuidOf(kind["from"].GetArray()[0]["provider"].GetString()))) {
        wanted[kind["perfview_name"].GetString()] = kind["count"].GetUint64();
      }
    }
    if (wanted.empty()) continue;
    const std::string file = std::string(sample.name.GetString()) + ".etl";
    std::map<std::string, uint64_t> counted;
    for (const auto& event : Collect(file)) {
      const auto schema = FindBuiltIn(event.header, event.provider);
      ASSERT_NE(schema, nullptr) << Kind(event);
      ++counted[schema->provider->name + "/" + schema->name];
    }
    for (const auto& [name, count] : wanted) EXPECT_EQ(counted[name], count) << file << " " << name;
    // What PerfView takes as bookkeeping and does not list.
    std::set<std::string> others;
    for (const auto& [name, count] : counted) {
      if (!wanted.contains(name)) others.insert(name.substr(name.find('/') + 1));
    }
    const std::set<std::string> bookkeeping = {"ClrStack/Walk", "Method/ILToNativeMap", "Method/DCStopVerbose",
                                               "Method/ILToNativeMapDCStop"};
    for (const auto& name : others) EXPECT_TRUE(bookkeeping.contains(name)) << name;
  }
}

std::string FromHex(std::string_view hex) {
  std::string bytes;
  for (size_t at = 0; at + 2 <= hex.size(); at += 2) {
    unsigned value = 0;
    std::from_chars(hex.data() + at, hex.data() + at + 2, value, 16);
    bytes += static_cast<char>(value);
  }
  return bytes;
}

// Equal as PerfView prints it: numbers may be decimal or hex, signed or not.
bool EqualsPerfView(const test::FlatField& field, const std::string& wanted) {
  if (field.value.kind == ValueKind::kText || field.value.kind == ValueKind::kForm) return field.text == wanted;
  std::string_view digits = wanted;
  const bool negative = digits.starts_with('-');
  if (negative) digits.remove_prefix(1);
  const bool hex = digits.starts_with("0x");
  if (hex) digits.remove_prefix(2);
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number, hex ? 16 : 10);
  if (error != std::errc() || end != digits.data() + digits.size()) return false;
  if (negative) number = -number;
  const uint64_t mask = field.size >= 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * field.size)) - 1;
  return ((number ^ field.value.bits) & mask) == 0;
}

TEST(ClrSamplesPerfView, FieldsAreThoseOfPerfView) {
  const auto path = test::TestDataDir() / "expected/perfview-fields.json";
  if (const auto missing = test::MissingData(path); !missing.empty()) GTEST_SKIP() << missing;
  const auto document = test::ReadJson(path);
  size_t compared = 0;
  for (const auto& entry : document["entries"].GetArray()) {
    const Guid provider = GuidOf(entry["provider"].GetString());
    const std::string header = entry["header"].GetString();
    if (!IsManifestProvider(provider) || !header.starts_with("EVENT_HEADER")) continue;
    const std::string name = entry["perfview_name"].GetString();
    SCOPED_TRACE(name + " at " + entry["perfview_ms"].GetString());
    EventHeader row;
    row.kind = header == "EVENT_HEADER64" ? HeaderKind::kEvent64 : HeaderKind::kEvent32;
    row.id = static_cast<uint16_t>(entry["id"].GetUint());
    row.version = static_cast<uint16_t>(entry["version"].GetUint());
    const auto schema = FindBuiltIn(row, provider);
    ASSERT_NE(schema, nullptr);
    EXPECT_EQ(schema->provider->name + "/" + schema->name, name);
    const std::string payload = FromHex(entry["payload_hex"].GetString());
    DecodeOutcome outcome{};
    const auto fields = test::Flatten(*schema, {reinterpret_cast<const std::byte*>(payload.data()), payload.size()},
                                      row.kind == HeaderKind::kEvent64 ? 8 : 4, &outcome);
    EXPECT_EQ(outcome, DecodeOutcome::kComplete);
    for (const auto& wanted : entry["fields"].GetObject()) {
      std::string field_name = wanted.name.GetString();
      // PerfView's own name; the manifest's is Bytes.
      if (field_name == "Promoted") field_name = "Bytes";
      const auto field =
          std::find_if(fields.begin(), fields.end(), [&](const auto& f) { return f.path == field_name; });
      ASSERT_NE(field, fields.end()) << field_name;
      EXPECT_TRUE(EqualsPerfView(*field, wanted.value.GetString()))
          << field_name << ": " << field->text << ", PerfView " << wanted.value.GetString();
      ++compared;
    }
  }
  EXPECT_GE(compared, 200u);
}

// Entries of strings.json whose layout is in no file: names, order and texts of all fields.
TEST(ClrSamplesStrings, FieldsAreThoseExpected) {
  const auto path = test::TestDataDir() / "expected/strings.json";
  if (const auto missing = test::MissingData(path); !missing.empty()) GTEST_SKIP() << missing;
  const auto document = test::ReadJson(path);
  size_t compared = 0;
  for (const auto& sample : document.GetObject()) {
    if (!sample.value.IsArray()) continue;
    std::vector<test::CollectedEvent> events;
    for (const auto& entry : sample.value.GetArray()) {
      if (std::string_view(entry["basis"].GetString()) != "layout") continue;
      const Guid provider = GuidOf(entry["provider"].GetString());
      if (!IsManifestProvider(provider)) continue;
      if (events.empty()) events = Collect(std::string(sample.name.GetString()) + ".etl");
      SCOPED_TRACE(std::string(sample.name.GetString()) + " " + std::to_string(entry["ts"].GetInt64()));
      const auto event = std::find_if(events.begin(), events.end(), [&](const test::CollectedEvent& e) {
        return e.header.timestamp == entry["ts"].GetInt64() && e.header.cpu == entry["cpu"].GetUint() &&
               e.header.id == entry["id"].GetUint() && e.provider == provider;
      });
      ASSERT_NE(event, events.end());
      const auto schema = FindBuiltIn(event->header, provider);
      ASSERT_NE(schema, nullptr);
      const auto fields = test::Flatten(*schema, PayloadOf(*event), event->header.pointer_size());
      const auto wanted = entry["fields"].GetArray();
      ASSERT_EQ(fields.size(), wanted.Size());
      for (rapidjson::SizeType i = 0; i < wanted.Size(); ++i) {
        EXPECT_EQ(fields[i].path, wanted[i]["name"].GetString());
        EXPECT_EQ(fields[i].text, wanted[i]["value"].GetString()) << fields[i].path;
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, 100u);
}

}  // namespace
}  // namespace etwpipe::schema
