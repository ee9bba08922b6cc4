// Events through an archive and back: nothing may change, whatever the batches, blocks and threads.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "formats/etwp/frame.h"
#include "pipeline/executor.h"
#include "tests/formats/etwp/synthetic_trace.h"
#include "tests/support/collect.h"

namespace etwpipe::test {
namespace {

class RoundTrip : public testing::Test {
 protected:
  etwp::EtwpSinkOptions Options(const std::string& name) const {
    etwp::EtwpSinkOptions options;
    options.path = folder_.File(name);
    options.level = etwp::Level::kFast;
    options.block_bytes = 20'000;
    return options;
  }
  TemporaryFolder folder_;
};

void ExpectSameEvents(const std::vector<OwnedEvent>& expected, const std::vector<OwnedEvent>& actual) {
  ASSERT_EQ(expected.size(), actual.size());
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_TRUE(expected[i] == actual[i]) << "event " << i;
}

TEST_F(RoundTrip, EveryHeaderKindComesBackByteForByte) {
  const auto trace = MakeTrace(20'000, 1);
  const auto options = Options("a.etwp");
  ASSERT_TRUE(WriteArchive(trace, options).ok());
  Diagnostics diagnostics;
  const auto content = ReadArchive(options.path, &diagnostics);
  ASSERT_TRUE(content.status.ok()) << content.status.message();
  ExpectSameEvents(trace.events, content.events);
  EXPECT_TRUE(diagnostics.entries().empty());
}

TEST_F(RoundTrip, LargestRecordsComeBack) {
  const auto trace = MakeTrace(400, 2, true);
  const auto options = Options("a.etwp");
  ASSERT_TRUE(WriteArchive(trace, options).ok());
  const auto content = ReadArchive(options.path, nullptr);
  ASSERT_TRUE(content.status.ok()) << content.status.message();
  ExpectSameEvents(trace.events, content.events);
  const auto largest = std::max_element(content.events.begin(), content.events.end(),
                                        [](const auto& a, const auto& b) { return a.record.size() < b.record.size(); });
  EXPECT_EQ(largest->record.size(), 65535u);
}

TEST_F(RoundTrip, AnnotationsOfEveryTypeComeBackWithTheirNulls) {
  auto trace = MakeTrace(3'000, 3);
  AddAnnotations(trace);
  const auto options = Options("a.etwp");
  ASSERT_TRUE(WriteArchive(trace, options).ok());
  const auto content = ReadArchive(options.path, nullptr);
  ASSERT_TRUE(content.status.ok()) << content.status.message();
  EXPECT_EQ(content.annotations, trace.annotations);
  ExpectSameEvents(trace.events, content.events);
}

TEST_F(RoundTrip, EmptyTraceIsAnArchive) {
  const auto options = Options("a.etwp");
  ASSERT_TRUE(WriteArchive(MakeTrace(0, 1), options).ok());
  Diagnostics diagnostics;
  const auto content = ReadArchive(options.path, &diagnostics);
  ASSERT_TRUE(content.status.ok()) << content.status.message();
  EXPECT_TRUE(content.events.empty());
  EXPECT_TRUE(diagnostics.entries().empty());
}

TEST_F(RoundTrip, MetadataComesBackAndPathsStayOut) {
  const auto trace = MakeTrace(10, 4);
  const auto options = Options("a.etwp");
  ASSERT_TRUE(WriteArchive(trace, options).ok());
  const auto info = ReadArchive(options.path, nullptr).info;
  EXPECT_EQ(info.format, "etwp");
  EXPECT_EQ(info.clock.type, trace.info.clock.type);
  EXPECT_EQ(info.clock.base_ticks, trace.info.clock.base_ticks);
  EXPECT_EQ(info.clock.start_time, trace.info.clock.start_time);
  EXPECT_EQ(info.end_time, trace.info.end_time);
  EXPECT_EQ(info.boot_time, trace.info.boot_time);
  EXPECT_EQ(info.logger_name, trace.info.logger_name);
  EXPECT_EQ(info.log_file_name, trace.info.log_file_name);
  EXPECT_EQ(info.log_file_mode, trace.info.log_file_mode);
  EXPECT_EQ(info.os_build, trace.info.os_build);
  EXPECT_EQ(info.events_lost, trace.info.events_lost);
  EXPECT_EQ(info.utc_bias_minutes, trace.info.utc_bias_minutes);
  EXPECT_EQ(info.next_injected, trace.info.next_injected);
  EXPECT_EQ(info.header_record, trace.info.header_record);
  EXPECT_EQ(info.header_buffer_header, trace.info.header_buffer_header);
  ASSERT_EQ(info.sources.size(), 1u);
  EXPECT_EQ(info.sources[0].fingerprint, trace.info.sources[0].fingerprint);
  EXPECT_EQ(info.sources[0].path, "");

  auto keeping = Options("b.etwp");
  keeping.keep_paths = true;
  ASSERT_TRUE(WriteArchive(trace, keeping).ok());
  EXPECT_EQ(ReadArchive(keeping.path, nullptr).info.sources.at(0).path, trace.info.sources[0].path);
}

TEST_F(RoundTrip, BatchesDoNotShowInTheFile) {
  auto trace = MakeTrace(9'000, 5);
  AddAnnotations(trace);
  ASSERT_TRUE(WriteArchive(trace, Options("a.etwp"), 4096).ok());
  ASSERT_TRUE(WriteArchive(trace, Options("b.etwp"), 1).ok());
  ASSERT_TRUE(WriteArchive(trace, Options("c.etwp"), 777).ok());
  const auto first = ReadBytes(folder_.File("a.etwp"));
  EXPECT_TRUE(first == ReadBytes(folder_.File("b.etwp")));
  EXPECT_TRUE(first == ReadBytes(folder_.File("c.etwp")));
}

TEST_F(RoundTrip, ThreadsDoNotShowInTheFile) {
  auto trace = MakeTrace(20'000, 6);
  // With blocks for themselves, and with a prefix.
  for (const uint64_t buffers : {uint64_t{0}, uint64_t{100}}) {
    trace.info.buffers = buffers;
    const auto write = [&](int threads) {
      auto options = Options(std::to_string(threads));
      options.force = true;
      EXPECT_TRUE(WriteArchive(trace, options, 500, threads).ok());
      return ReadBytes(options.path);
    };
    const auto first = write(1);
    EXPECT_TRUE(first == write(2));
    EXPECT_TRUE(first == write(4));
  }
}

TEST_F(RoundTrip, ThreadsReadTheSameEvents) {
  const auto trace = MakeTrace(20'000, 7);
  const auto options = Options("a.etwp");
  ASSERT_TRUE(WriteArchive(trace, options).ok());
  ExpectSameEvents(trace.events, ReadArchive(options.path, nullptr, 2).events);
  ExpectSameEvents(trace.events, ReadArchive(options.path, nullptr, 4).events);
}

TEST_F(RoundTrip, ReadBatchesStayWithinTheirBounds) {
  const auto trace = MakeTrace(1'000, 8, true);
  auto options = Options("a.etwp");
  options.block_bytes = 4u << 20;
  ASSERT_TRUE(WriteArchive(trace, options).ok());
  auto file = InputFile::Open(options.path);
  ASSERT_TRUE(file.ok());
  const auto source = etwp::EtwpSource::Open(*file);
  ASSERT_TRUE(source.ok());
  const auto pass = (*source)->StartPass({});
  ASSERT_TRUE(pass.ok());
  size_t events = 0;
  EventBatch batch;
  while (*(*pass)->Next(batch)) {
    ASSERT_TRUE((*pass)->Fill(batch).ok());
    size_t bytes = 0;
    for (const auto& row : batch.rows) bytes += row.record_size;
    EXPECT_LE(batch.rows.size(), kMaxBatchRows);
    EXPECT_LE(bytes, kMaxBatchBytes);
    EXPECT_EQ(batch.selection.size(), batch.rows.size());
    events += batch.rows.size();
    batch.Clear();
  }
  EXPECT_EQ(events, trace.events.size());
}

TEST_F(RoundTrip, BlocksThatNobodyNeedsAreSkipped) {
  const auto trace = MakeTrace(20'000, 9);
  const auto options = Options("a.etwp");
  ASSERT_TRUE(WriteArchive(trace, options).ok());
  const int64_t until = trace.events[5'000].timestamp;
  size_t asked = 0;
  size_t skipped = 0;
  const auto content = ReadArchive(options.path, nullptr, 1, [&](const etwp::BlockSummary& block) {
    ++asked;
    const bool skip = block.min_timestamp > until;
    skipped += skip ? 1 : 0;
    return skip;
  });
  EXPECT_GT(asked, 10u);
  EXPECT_GT(skipped, asked / 2);
  // All wanted events are there, and no other event was invented.
  size_t next = 0;
  for (const auto& event : trace.events) {
    if (next < content.events.size() && content.events[next] == event) {
      ++next;
    } else {
      ASSERT_GT(event.timestamp, until);
    }
  }
  EXPECT_EQ(next, content.events.size());
}

TEST_F(RoundTrip, KindsOfASummaryAreKnown) {
  const auto trace = MakeTrace(500, 10);
  const auto options = Options("a.etwp");
  ASSERT_TRUE(WriteArchive(trace, options).ok());
  auto file = InputFile::Open(options.path);
  ASSERT_TRUE(file.ok());
  const auto source = etwp::EtwpSource::Open(*file);
  ASSERT_TRUE(source.ok());
  size_t known = 0;
  for (const uint32_t kind : (*source)->archive().dictionary().kind_numbers()) {
    EventHeader row;
    if (!(*source)->KindHeader(kind, row)) continue;
    ++known;
    EXPECT_NE(row.kind, HeaderKind::kUnknown);
    if (row.kind == HeaderKind::kEvent64) {
      EXPECT_EQ(row.level, 4);
    }
  }
  EXPECT_GT(known, 20u);
  EventHeader row;
  EXPECT_FALSE((*source)->KindHeader(etwp::kRawKind, row));
}

// Standard input for as long as it lives is a file.
class StandardInput {
 public:
  explicit StandardInput(const std::string& path) : saved_(::dup(0)) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    ::dup2(file, 0);
    ::close(file);
  }
  ~StandardInput() {
    ::dup2(saved_, 0);
    ::close(saved_);
  }
  StandardInput(const StandardInput&) = delete;
  StandardInput& operator=(const StandardInput&) = delete;

 private:
  int saved_;
};

// How many events come out of an archive that is read as a stream.
size_t EventsOfStream(std::span<const std::byte> bytes, Diagnostics& diagnostics) {
  const TemporaryFolder folder;
  WriteBytes(folder.File("stream"), bytes);
  const StandardInput input(folder.File("stream"));
  auto source = etwp::EtwpSource::Open(*InputFile::OpenStream(), {&diagnostics, {}});
  EXPECT_TRUE(source.ok()) << source.status().message();
  CollectSink sink;
  EXPECT_TRUE(Execute(**source, sink, 1, &diagnostics).ok());
  return sink.events.size();
}

TEST_F(RoundTrip, AStreamGivesTheSameEventsOnce) {
  auto trace = MakeTrace(20'000, 15);
  trace.info.buffers = 100;  // the blocks have a prefix
  const auto options = Options("a.etwp");
  ASSERT_TRUE(WriteArchive(trace, options).ok());
  const StandardInput input(options.path);
  const auto file = InputFile::OpenStream();
  ASSERT_TRUE(file.ok());
  // The caller looks at the first bytes to recognise the format.
  std::vector<std::byte> start(16);
  ASSERT_EQ(*(*file)->ReadAt(0, start), start.size());
  ASSERT_TRUE(etwp::LooksLikeArchive(start));
  Diagnostics diagnostics;
  auto source = etwp::EtwpSource::Open(*file, {&diagnostics, start});
  ASSERT_TRUE(source.ok()) << source.status().message();
  CollectSink sink;
  ASSERT_TRUE(Execute(**source, sink, 2, &diagnostics).ok());
  ASSERT_EQ(sink.events.size(), trace.events.size());
  for (size_t i = 0; i < trace.events.size(); ++i) {
    ASSERT_TRUE(sink.events[i].bytes == trace.events[i].record) << i;
    ASSERT_EQ(sink.events[i].header.instance_id, trace.events[i].instance_id) << i;
  }
  EXPECT_TRUE(diagnostics.entries().empty());
  EXPECT_FALSE((*source)->StartPass({}).ok());
}

TEST_F(RoundTrip, AStreamThatEndsEarlySaysSo) {
  const auto trace = MakeTrace(5'000, 16);
  const auto options = Options("a.etwp");
  ASSERT_TRUE(WriteArchive(trace, options).ok());
  auto bytes = ReadBytes(options.path);
  bytes.resize(bytes.size() / 2);
  Diagnostics diagnostics;
  const size_t events = EventsOfStream(bytes, diagnostics);
  EXPECT_GT(events, 100u);
  EXPECT_LT(events, trace.events.size());
  EXPECT_GT(diagnostics.count(DiagnosticId::kArchiveTruncated), 0u);
}

// The copy of what the others are compressed with comes some blocks later.
TEST_F(RoundTrip, AStreamWithoutItsFirstBlockLosesAFew) {
  auto trace = MakeTrace(20'000, 17);
  trace.info.buffers = 100;
  const auto options = Options("a.etwp");
  ASSERT_TRUE(WriteArchive(trace, options).ok());
  auto bytes = ReadBytes(options.path);
  uint64_t lost = 0;
  {
    const auto archive = etwp::Archive::Open(*InputFile::Open(options.path), nullptr);
    ASSERT_TRUE(archive.ok());
    const v1::Index& index = (*archive)->index();
    ASSERT_TRUE(index.has_prefix());
    bytes[index.blocks(0).frame().offset() + etwp::kFramePrefix] ^= std::byte{1};
    for (const auto& block : index.blocks()) {
      if (block.frame().offset() < index.prefix().offset()) lost += block.events();
    }
    ASSERT_LT(lost, trace.events.size() / 3);
  }
  Diagnostics diagnostics;
  EXPECT_EQ(EventsOfStream(bytes, diagnostics), trace.events.size() - lost);
  EXPECT_GT(diagnostics.count(DiagnosticId::kArchiveFrameBad), 0u);
}

TEST_F(RoundTrip, AnnotationsAreKnownWithoutTheEnd) {
  auto trace = MakeTrace(3'000, 18);
  AddAnnotations(trace);
  const auto options = Options("a.etwp");
  ASSERT_TRUE(WriteArchive(trace, options).ok());
  auto bytes = ReadBytes(options.path);
  bytes.resize(bytes.size() - etwp::kTailSize);
  WriteBytes(folder_.File("cut"), bytes);
  const auto content = ReadArchive(folder_.File("cut"), nullptr);
  EXPECT_EQ(content.info.annotations.size(), trace.annotations.size());
  ExpectSameEvents(trace.events, content.events);
}

TEST_F(RoundTrip, ARunThatDropsIsNotExact) {
  const auto options = Options("a.etwp");
  Diagnostics diagnostics;
  ASSERT_TRUE(WriteArchive(MakeTrace(10, 11), options, 10, 1, &diagnostics).ok());
  EXPECT_EQ(diagnostics.count(DiagnosticId::kNotExact), 1u);
  auto file = InputFile::Open(options.path);
  ASSERT_TRUE(file.ok());
  const auto archive = etwp::Archive::Open(*file, nullptr);
  ASSERT_TRUE(archive.ok());
  ASSERT_NE((*archive)->trailer(), nullptr);
  EXPECT_FALSE((*archive)->trailer()->exact());
  EXPECT_NE((*archive)->trailer()->not_exact_reason(), "");
}

TEST_F(RoundTrip, DamageOfTheOriginalIsKeptAndReportedAgain) {
  const auto options = Options("a.etwp");
  Diagnostics writing;
  writing.Add(DiagnosticId::kRecordBad, {4711, 12}, "it makes no sense");
  ASSERT_TRUE(WriteArchive(MakeTrace(10, 12), options, 10, 1, &writing).ok());
  Diagnostics reading;
  ASSERT_TRUE(ReadArchive(options.path, &reading).status.ok());
  const auto ranges = reading.ranges();
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ(ranges[0].id, DiagnosticId::kRecordBad);
  EXPECT_EQ(ranges[0].place.offset, 4711u);
  EXPECT_EQ(ranges[0].reason, "it makes no sense");
}

TEST_F(RoundTrip, ExistingFileIsKeptWithoutForce) {
  auto options = Options("a.etwp");
  ASSERT_TRUE(WriteArchive(MakeTrace(5, 13), options).ok());
  const auto before = ReadBytes(options.path);
  EXPECT_EQ(WriteArchive(MakeTrace(50, 14), options).code(), StatusCode::kOutput);
  EXPECT_TRUE(before == ReadBytes(options.path));
  options.force = true;
  EXPECT_TRUE(WriteArchive(MakeTrace(50, 14), options).ok());
  EXPECT_FALSE(before == ReadBytes(options.path));
}

}  // namespace
}  // namespace etwpipe::test
