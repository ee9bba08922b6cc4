// Events that a stage makes: beside records and at the end, into both formats, the same for any number of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>

#include "formats/etl/etl_sink.h"
#include "formats/etl/etl_verify.h"
#include "formats/etwp/etwp_sink.h"
#include "formats/open.h"
#include "pipeline/executor.h"
#include "stages/injected_event.h"
#include "tests/support/collect.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_data.h"

namespace etwpipe {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMadeBy = "59c006b1-41ca-5ea1-b5e8-be24e5caf8dc";

// Beside every record whose id is a multiple of 7, and three at the end: an event whose payload names what it belongs
// to.
class NotesStage final : public Stage {
 public:
  NotesStage() {
    info_.name = "test.notes";
    info_.injects = true;
  }
  const StageInfo& info() const override { return info_; }

  Status Process(const ProcessArgs& args) const override {
    EventBatch& batch = args.batch;
    std::vector<std::pair<uint16_t, EventHeader>> notes;
    for (const uint16_t index : batch.selection) {
      const EventHeader& row = batch.rows[index];
      if (row.instance_id % 7 == 0) notes.emplace_back(index, NoteOn(args, row));
    }
    batch.Inject(notes);
    return {};
  }

  Result<bool> AtEnd(const ProcessArgs& args) const override {
    EventHeader last;
    last.timestamp = int64_t{1} << 50;
    last.pid = 1;
    last.tid = 2;
    for (EventInstanceId id = 1; id <= 3; ++id) {
      last.instance_id = id;
      args.batch.rows.push_back(NoteOn(args, last));
    }
    args.batch.SelectAll();
    return false;
  }

 private:
  static EventHeader NoteOn(const ProcessArgs& args, const EventHeader& row) {
    etl::EventFields fields;
    fields.provider = GuidOf(kMadeBy);
    fields.id = 9;
    fields.timestamp = row.timestamp;
    fields.pid = row.pid;
    fields.tid = row.tid;
    return InjectEvent(args.batch, args.trace, fields, std::as_bytes(std::span(&row.instance_id, 1)), row.cpu);
  }

  StageInfo info_;
};

enum class Target { kEtl, kEtwp };

std::vector<char> ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<test::CollectedEvent> Events(const fs::path& path) {
  auto source = OpenSource(path.string(), {});
  EXPECT_TRUE(source.ok()) << source.status().message();
  test::CollectSink sink;
  const auto summary = Execute(**source, sink, 1, nullptr);
  EXPECT_TRUE(summary.ok()) << summary.status().message();
  return std::move(sink.events);
}

RunSummary RunNotes(const fs::path& input, const fs::path& output, Target target, int threads) {
  auto source = OpenSource(input.string(), {});
  EXPECT_TRUE(source.ok()) << source.status().message();
  Plan plan;
  plan.Append(std::make_unique<NotesStage>());
  std::unique_ptr<Sink> sink;
  if (target == Target::kEtl) {
    etl::EtlSinkOptions options;
    options.path = output.string();
    sink = std::make_unique<etl::EtlSink>(options);
  } else {
    etwp::EtwpSinkOptions options;
    options.path = output.string();
    sink = std::make_unique<etwp::EtwpSink>(options);
  }
  Diagnostics diagnostics;
  const auto summary = Execute({**source, plan, *sink, threads, &diagnostics, nullptr, nullptr});
  EXPECT_TRUE(summary.ok()) << summary.status().message();
  return summary.ok() ? *summary : RunSummary();
}

bool IsNote(const test::CollectedEvent& event) { return event.provider == GuidOf(kMadeBy); }

class Injection : public testing::TestWithParam<Target> {};

TEST_P(Injection, OriginalsStayAndNotesFollowTheirRecords) {
  for (const char* sample : {"DynamicEvents.etl", "ShutdownPerfDiagLogger.etl"}) {
    SCOPED_TRACE(sample);
    const auto input = test::SamplePath(sample);
    if (const auto missing = test::MissingData(input); !missing.empty()) GTEST_SKIP() << missing;
    const test::TempFolder folder;
    const fs::path output = folder.path() / (GetParam() == Target::kEtl ? "a.etl" : "a.etwp");
    const RunSummary summary = RunNotes(input, output, GetParam(), 1);
    const auto before = Events(input);
    const auto after = Events(output);

    std::map<EventInstanceId, const test::CollectedEvent*> originals;
    std::map<uint16_t, int64_t> cpu_time;
    uint64_t notes = 0;
    EventInstanceId last_note = 0;
    for (const auto& event : after) {
      if (!IsNote(event)) {
        EXPECT_TRUE(originals.emplace(event.header.instance_id, &event).second);
        continue;
      }
      ++notes;
      EXPECT_EQ(InstanceIdSource(event.header.instance_id), kInjectedSource);
      EXPECT_NE(event.header.instance_id, last_note);
      last_note = event.header.instance_id;
      EventInstanceId about = 0;
      ASSERT_EQ(event.bytes.size(), 80u + 8u);
      std::memcpy(&about, event.bytes.data() + 80, 8);
      if (about <= 3) continue;
      const auto original = originals.find(about);
      ASSERT_NE(original, originals.end()) << "the note stands before its record";
      EXPECT_EQ(original->second->header.timestamp, event.header.timestamp);
      EXPECT_EQ(original->second->header.cpu, event.header.cpu);
    }
    // Nothing of that timestamp and processor follows a note, also where a batch or buffer ended between them.
    std::map<uint16_t, std::map<int64_t, bool>> noted;
    for (const auto& event : after) {
      bool& note_seen = noted[event.header.cpu][event.header.timestamp];
      if (IsNote(event)) {
        note_seen = true;
      } else {
        EXPECT_FALSE(note_seen) << event.header.instance_id;
      }
    }
    ASSERT_EQ(originals.size(), before.size());
    uint64_t expected = 3;
    for (const auto& event : before) {
      const auto found = originals.find(event.header.instance_id);
      ASSERT_NE(found, originals.end());
      EXPECT_EQ(found->second->bytes, event.bytes);
      expected += event.header.instance_id % 7 == 0 ? 1 : 0;
    }
    EXPECT_EQ(notes, expected);
    EXPECT_EQ(summary.events_injected, expected);
    EXPECT_EQ(summary.events_out, before.size() + expected);
    EXPECT_EQ(InstanceIdSource(after.back().header.instance_id), kInjectedSource) << "the last three stand at the end";

    if (GetParam() != Target::kEtl) continue;
    const auto written = InputFile::Open(output.string());
    ASSERT_TRUE(written.ok());
    const auto findings = etl::VerifyEtl(*written, 1, nullptr);
    ASSERT_TRUE(findings.ok());
    for (const VerifyFinding& finding : *findings) {
      EXPECT_EQ(finding.level, VerifyFinding::Level::kOk) << finding.check << ": " << finding.text;
    }
  }
}

TEST_P(Injection, ThreadsDoNotShow) {
  const auto input = test::SamplePath("DynamicEvents.etl");
  if (const auto missing = test::MissingData(input); !missing.empty()) GTEST_SKIP() << missing;
  const test::TempFolder folder;
  std::vector<char> first;
  for (const int threads : {1, 2, 4}) {
    const fs::path output = folder.path() / ("out" + std::to_string(threads));
    RunNotes(input, output, GetParam(), threads);
    const auto bytes = ReadFile(output);
    ASSERT_FALSE(bytes.empty());
    if (first.empty()) first = bytes;
    EXPECT_TRUE(bytes == first) << threads << " threads";
  }
}

TEST_P(Injection, NumbersGoOnInTheNextRun) {
  const auto input = test::SamplePath("gcevents.etl");
  if (const auto missing = test::MissingData(input); !missing.empty()) GTEST_SKIP() << missing;
  const test::TempFolder folder;
  const std::string suffix = GetParam() == Target::kEtl ? ".etl" : ".etwp";
  RunNotes(input, folder.path() / ("a" + suffix), GetParam(), 1);
  RunNotes(folder.path() / ("a" + suffix), folder.path() / ("b" + suffix), GetParam(), 1);
  std::map<EventInstanceId, int> ids;
  for (const auto& event : Events(folder.path() / ("b" + suffix))) ++ids[event.header.instance_id];
  for (const auto& [id, count] : ids) EXPECT_EQ(count, 1) << id;
}

INSTANTIATE_TEST_SUITE_P(Formats, Injection, testing::Values(Target::kEtl, Target::kEtwp),
                         [](const auto& tested) { return tested.param == Target::kEtl ? "Etl" : "Etwp"; });

}  // namespace
}  // namespace etwpipe
