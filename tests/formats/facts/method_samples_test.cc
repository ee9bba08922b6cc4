// Methods of a real recording: expected/clr-methods.json, and every event that carries a MethodID only.
#include <gtest/gtest.h>

#include <map>

#include "formats/facts/method_reference.h"
#include "formats/facts/method_table.h"
#include "formats/facts/surveyors.h"
#include "formats/open.h"
#include "formats/schema/utf16.h"
#include "pipeline/executor.h"
#include "tests/support/collect.h"
#include "tests/support/json.h"
#include "tests/support/test_data.h"

namespace etwpipe::facts {
namespace {

// Collects every event and asks for the facts.
class FactsSink final : public test::CollectSink {
 public:
  SinkInfo info() const override { return {.facts = kSchemas | kProcesses | kMethods}; }
};

struct Recording {
  std::unique_ptr<Source> source;
  FactsSink sink;
  Diagnostics diagnostics;
  Status status;
};

std::unique_ptr<Recording> Read(const std::filesystem::path& path) {
  auto recording = std::make_unique<Recording>();
  OpenOptions options;
  options.several_passes = true;
  options.diagnostics = &recording->diagnostics;
  auto source = OpenSource(path.string(), options);
  if (!source.ok()) {
    recording->status = source.status();
    return recording;
  }
  recording->source = std::move(*source);
  const auto surveyors = MakeSurveyors({});
  Plan plan;
  const CancelToken cancel;
  const auto summary = Execute({.source = *recording->source,
                                .plan = plan,
                                .sink = recording->sink,
                                .threads = 2,
                                .diagnostics = &recording->diagnostics,
                                .cancel = &cancel,
                                .surveyors = surveyors->factory});
  recording->status = summary.ok() ? Status() : summary.status();
  return recording;
}

constexpr std::string_view kRuntime = "e13c0d23-ccbc-4e12-931b-d9cc2eee27e4";
constexpr std::string_view kRundown = "a669021c-c450-4609-a035-5af59af4df18";

// What names an id, read from the payloads of the verbose records (semantics.md 6.2).
std::map<std::pair<uint32_t, uint64_t>, std::string> PlainNames(const std::vector<test::CollectedEvent>& events) {
  std::map<std::pair<uint32_t, uint64_t>, std::string> names;
  for (const auto& event : events) {
    const bool of_clr = event.provider == GuidOf(kRuntime) || event.provider == GuidOf(kRundown);
    if (!of_clr || (event.header.id != 143 && event.header.id != 144)) continue;
    auto payload = std::span(event.bytes).subspan(event.header.payload_begin);
    const auto id = LoadAt<uint64_t>(payload.data());
    payload = payload.subspan(36);
    std::string texts[3];
    for (auto& text : texts) {
      size_t used = 0;
      text = schema::Utf16ToUtf8(payload, &used);
      payload = payload.subspan(used);
    }
    names[{event.header.pid, id}] = texts[0] + "." + texts[1] + texts[2].substr(texts[2].find('('));
  }
  return names;
}

TEST(MethodSamples, NamesOfTheRecordings) {
  const auto path = test::TestDataDir() / "expected" / "clr-methods.json";
  if (const auto missing = test::MissingData(path); !missing.empty()) GTEST_SKIP() << missing;
  const auto expected = test::ReadJson(path);
  for (const auto& sample : expected.GetObject()) {
    const std::string name = sample.name.GetString();
    if (name.starts_with('_')) continue;
    const auto recording = Read(test::SamplePath(name + ".etl"));
    ASSERT_TRUE(recording->status.ok()) << recording->status.message();
    const TraceContext& trace = recording->source->context();
    const auto& methods = *trace.facts->Get<MethodTable>();

    std::map<std::pair<uint32_t, uint64_t>, std::vector<const MethodVersion*>> by_id;
    for (const auto& version : methods.versions()) {
      by_id[{version.pid, version.method_id}].push_back(&version);
      EXPECT_TRUE(version.named());
      EXPECT_FALSE(version.module().empty());
    }
    EXPECT_EQ(by_id.size(), sample.value["method_ids_total"].GetUint());
    for (const auto& entry : sample.value["names"].GetArray()) {
      const auto& versions = by_id[{entry["pid"].GetUint(), entry["method_id"].GetUint64()}];
      const auto is_it = [&](const MethodVersion* version) {
        return version->namespace_name() == entry["namespace"].GetString() &&
               version->name() == entry["name"].GetString() && version->signature() == entry["signature"].GetString() &&
               version->start_address == entry["start_address"].GetUint64() && version->size == entry["size"].GetUint();
      };
      EXPECT_EQ(std::count_if(versions.begin(), versions.end(), is_it), 1) << entry["name"].GetString();
    }

    const auto plain = PlainNames(recording->sink.events);
    MethodReferences references(*trace.facts->Get<schema::SchemaRegistry>(), trace);
    std::map<std::string, uint64_t> resolved;
    for (const auto& event : recording->sink.events) {
      EventHeader row = event.header;
      row.record = event.bytes.data();
      const auto reference = references.Of(row);
      if (!reference) continue;
      const auto hit = reference->FindIn(methods, row);
      ASSERT_TRUE(hit.outcome == LookupOutcome::kExact || hit.outcome == LookupOutcome::kBackfilled)
          << ToString(hit.outcome);
      EXPECT_EQ(hit.method->method_id, reference->method_id);
      EXPECT_EQ(hit.method->pid, row.pid);
      EXPECT_EQ(FullName(*hit.method), plain.at({row.pid, reference->method_id}));
      const bool rundown = event.provider == GuidOf(kRundown);
      ++resolved[(rundown ? "rundown " : "clr ") + std::to_string(row.id)];
    }
    const auto& only = sample.value["method_id_only_events"];
    EXPECT_EQ(resolved.size(), only.MemberCount());
    for (const auto& kind : only.GetObject()) {
      EXPECT_EQ(resolved[kind.name.GetString()], kind.value["resolvable_events"].GetUint64()) << kind.name.GetString();
    }
    EXPECT_EQ(recording->diagnostics.count(DiagnosticId::kRundownIncomplete), 0u);
    EXPECT_EQ(recording->diagnostics.count(DiagnosticId::kMethodBad), 0u);
  }
}

}  // namespace
}  // namespace etwpipe::facts
