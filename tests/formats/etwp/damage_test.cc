// Archives that were cut, flipped, or made to lie: a message or a diagnostic, never a crash and never a wrong event.
#include <gtest/gtest.h>

#include <map>

#include "formats/etwp/etwp_source.h"
#include "formats/etwp/frame.h"
#include "formats/etwp/record_template.h"
#include "formats/etwp/trace_header.h"
#include "formats/etwp/verify.h"
#include "pipeline/byte_reader.h"
#include "tests/formats/etwp/synthetic_trace.h"
#include "tests/support/collect.h"

namespace etwpipe::test {
namespace {

constexpr size_t kMostEventsOfABlock = 60;

class Damage : public testing::Test {
 protected:
  // Too short for a prefix, by what it says of its buffers.
  virtual SyntheticTrace Make() const {
    SyntheticTrace trace = MakeTrace(100, 31);
    trace.info.buffers = 0;
    return trace;
  }

  void SetUp() override {
    trace_ = Make();
    etwp::EtwpSinkOptions options;
    options.path = folder_.File("a.etwp");
    options.level = etwp::Level::kFast;
    options.block_bytes = 1'500;
    ASSERT_TRUE(WriteArchive(trace_, options).ok());
    bytes_ = ReadBytes(options.path);
    for (size_t i = 0; i < trace_.events.size(); ++i) index_[trace_.events[i].instance_id].push_back(i);
  }

  // Every event returned must be one of the trace, in its order.
  void ExpectOnlyTrueEvents(const ArchiveContent& content, size_t at) const {
    size_t last = 0;
    for (const auto& event : content.events) {
      const auto found = index_.find(event.instance_id);
      ASSERT_NE(found, index_.end()) << "invented event, byte " << at;
      bool same = false;
      for (const size_t i : found->second) {
        if (i + 1 > last && trace_.events[i] == event) {
          same = true;
          last = i + 1;
          break;
        }
      }
      ASSERT_TRUE(same) << "changed or displaced event, byte " << at;
    }
  }

  ArchiveContent Read(std::span<const std::byte> bytes, Diagnostics* diagnostics) const {
    const MemoryFile memory(bytes);
    const auto file = memory.Open();
    EXPECT_TRUE(file.ok());
    return ReadArchive(*file, diagnostics);
  }

  // Frames that cannot be used are told, what is returned is true. How many events that are.
  size_t ExpectDamageButTrueEvents(std::span<const std::byte> bytes) const {
    Diagnostics diagnostics;
    const auto content = Read(bytes, &diagnostics);
    EXPECT_TRUE(content.status.ok()) << content.status.message();
    EXPECT_GT(diagnostics.count(DiagnosticId::kArchiveFrameBad), 0u);
    ExpectOnlyTrueEvents(content, 0);
    return content.events.size();
  }

  void CutAnywhere() const;
  void FlipAnywhere() const;

  TemporaryFolder folder_;
  SyntheticTrace trace_;
  std::vector<std::byte> bytes_;
  std::map<uint64_t, std::vector<size_t>> index_;
};

// The same of an archive whose payloads stand as columns of fields.
class TypedDamage : public Damage {
 protected:
  SyntheticTrace Make() const override { return MakeTypedTrace(100); }
};

// The same of one whose blocks are compressed with the columns of the first.
class PrefixedDamage : public Damage {
 protected:
  SyntheticTrace Make() const override { return MakeTrace(100, 31); }

  std::shared_ptr<etwp::Archive> OpenArchive() const {
    const MemoryFile memory(bytes_);
    auto archive = etwp::Archive::Open(*memory.Open(), nullptr);
    EXPECT_TRUE(archive.ok());
    return *archive;
  }
  // What `verify` says of one of its checks if it complains.
  static std::string ErrorOf(std::span<const std::byte> bytes, std::string_view check) {
    const MemoryFile memory(bytes);
    const auto findings = *etwp::VerifyArchive(*memory.Open(), 1, nullptr);
    for (const auto& finding : findings) {
      if (finding.check == check && finding.level == VerifyFinding::Level::kError) return finding.text;
    }
    return {};
  }
  // Both ends of the frame's body are changed.
  static void Spoil(const v1::FrameEntry& frame, std::vector<std::byte>& bytes) {
    bytes[frame.offset() + etwp::kFramePrefix] ^= std::byte{1};
    bytes[frame.offset() + frame.length() - 1] ^= std::byte{1};
  }
};

void Damage::CutAnywhere() const {
  size_t most = 0;
  size_t opened = 0;
  for (size_t size = 0; size < bytes_.size(); ++size) {
    Diagnostics diagnostics;
    const auto content = Read(std::span(bytes_).first(size), &diagnostics);
    ExpectOnlyTrueEvents(content, size);
    if (!content.status.ok()) {
      EXPECT_EQ(content.status.code(), StatusCode::kInput);
      EXPECT_EQ(most, 0u) << "opened when shorter, not at " << size;
      continue;
    }
    ++opened;
    // Events never become fewer with more bytes, and the first ones are always there.
    EXPECT_GE(content.events.size(), most);
    most = content.events.size();
    EXPECT_GT(diagnostics.count(DiagnosticId::kArchiveTruncated), 0u) << size;
  }
  EXPECT_EQ(most, trace_.events.size());
  EXPECT_GT(opened, bytes_.size() / 2);
}

void Damage::FlipAnywhere() const {
  size_t whole = 0;
  for (size_t at = 0; at < bytes_.size(); ++at) {
    auto damaged = bytes_;
    damaged[at] ^= static_cast<std::byte>(1u << at % 8);
    Diagnostics diagnostics;
    const auto content = Read(damaged, &diagnostics);
    ExpectOnlyTrueEvents(content, at);
    if (!content.status.ok()) {
      EXPECT_EQ(content.status.code(), StatusCode::kInput) << at;
      continue;
    }
    whole += content.events.size() == trace_.events.size() ? 1 : 0;
    // What only serves when something else is lost may be damaged unseen; `verify` looks at it.
    if (diagnostics.entries().empty()) {
      EXPECT_TRUE(content.events == trace_.events) << at;
    }
    // One frame is lost at most.
    EXPECT_GE(content.events.size() + kMostEventsOfABlock, trace_.events.size()) << at;
  }
  // Flips outside of blocks cost no event.
  EXPECT_GT(whole, bytes_.size() / 10);
}

TEST_F(Damage, CutAnywhereOpensUpToTheLastWholeBlock) { CutAnywhere(); }
TEST_F(TypedDamage, CutAnywhereOpensUpToTheLastWholeBlock) { CutAnywhere(); }
TEST_F(PrefixedDamage, CutAnywhereOpensUpToTheLastWholeBlock) { CutAnywhere(); }
TEST_F(Damage, AFlippedBitNeverMakesAWrongEvent) { FlipAnywhere(); }
TEST_F(TypedDamage, AFlippedBitNeverMakesAWrongEvent) { FlipAnywhere(); }
TEST_F(PrefixedDamage, AFlippedBitNeverMakesAWrongEvent) { FlipAnywhere(); }

TEST_F(TypedDamage, EveryKindHasFields) {
  const MemoryFile memory(bytes_);
  const auto archive = etwp::Archive::Open(*memory.Open(), nullptr);
  ASSERT_TRUE(archive.ok());
  const auto numbers = (*archive)->dictionary().kind_numbers();
  ASSERT_EQ(numbers.size(), 4u);
  for (const uint32_t number : numbers) {
    const etwp::RecordTemplate& kind = *(*archive)->dictionary().kind(number);
    EXPECT_EQ(kind.layout() == nullptr, number == etwp::kRawKind) << number;
  }
}

TEST_F(Damage, VerifyFindsAFlippedBitAnywhere) {
  for (size_t at = 0; at < bytes_.size(); at += 7) {
    auto damaged = bytes_;
    damaged[at] ^= std::byte{0x40};
    const MemoryFile memory(damaged);
    const auto findings = etwp::VerifyArchive(*memory.Open(), 1, nullptr);
    if (!findings.ok()) continue;
    const bool error = std::any_of(findings->begin(), findings->end(), [](const VerifyFinding& finding) {
      return finding.level == VerifyFinding::Level::kError;
    });
    EXPECT_TRUE(error) << at;
  }
}

// Also in frames that the events do not need, and in blocks that a skip passes over.
TEST_F(Damage, CheckingAllTellsOfAFlippedBitAnywhere) {
  const auto damage_of = [](std::span<const std::byte> bytes, bool check_all) {
    const MemoryFile memory(bytes);
    Diagnostics diagnostics;
    const auto source = etwp::EtwpSource::Open(*memory.Open(), {&diagnostics, {}, check_all});
    if (!source.ok()) return true;
    (*source)->SetSkip([](const etwp::BlockSummary&) { return true; });
    CollectSink sink;
    EXPECT_TRUE(Execute(**source, sink, 1, &diagnostics).ok());
    return !diagnostics.entries().empty();
  };
  EXPECT_FALSE(damage_of(bytes_, true));
  size_t passed_over = 0;
  for (size_t at = 0; at < bytes_.size(); at += 7) {
    auto damaged = bytes_;
    damaged[at] ^= std::byte{0x40};
    EXPECT_TRUE(damage_of(damaged, true)) << at;
    passed_over += damage_of(damaged, false) ? 0 : 1;
  }
  EXPECT_GT(passed_over, bytes_.size() / 70);
}

// Rewrites frames of the file with right checksums; `change` is told the number of each. Frames that come later move,
// so the index is dropped.
std::vector<std::byte> WithFrames(std::span<const std::byte> bytes,
                                  const std::function<void(size_t number, v1::Frame&)>& change) {
  std::vector<std::byte> out;
  const MemoryFile memory(bytes);
  const auto file = memory.Open();
  etwp::FrameWalker walker(**file);
  etwp::ReadFrame frame;
  for (size_t i = 0; *walker.Next(frame, nullptr); ++i) {
    if (frame.body.has_index()) break;
    change(i, frame.body);
    const auto made = etwp::MakeFrame(frame.body);
    out.insert(out.end(), made->begin(), made->end());
  }
  return out;
}

std::vector<std::byte> WithFrame(std::span<const std::byte> bytes, size_t wanted,
                                 const std::function<void(v1::Frame&)>& change) {
  return WithFrames(bytes, [&](size_t number, v1::Frame& frame) {
    if (number == wanted) change(frame);
  });
}

// Reads the index, changes it, and puts file and tail together again with right checksums.
std::vector<std::byte> WithIndex(std::span<const std::byte> bytes, const std::function<void(v1::Index&)>& change) {
  const auto tail = *etwp::ParseTail(bytes.last(etwp::kTailSize));
  const MemoryFile memory(bytes);
  etwp::ReadFrame read;
  EXPECT_EQ(*etwp::ReadFrameAt(**memory.Open(), tail.index_offset, tail.index_length, read), "");
  change(*read.body.mutable_index());
  const auto made = *etwp::MakeFrame(read.body);
  std::vector<std::byte> out(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(tail.index_offset));
  out.insert(out.end(), made.begin(), made.end());
  const auto end =
      etwp::MakeTail({tail.index_offset, static_cast<uint32_t>(made.size()), etwp::LoadFrameChecksum(made)});
  out.insert(out.end(), end.begin(), end.end());
  return out;
}

TEST_F(PrefixedDamage, EveryBlockButTheFirstNeedsIt) {
  const auto archive = OpenArchive();
  ASSERT_TRUE(archive->index().has_prefix());
  etwp::BlockWalker walker(*archive, nullptr);
  size_t blocks = 0;
  for (auto block = walker.Next({}); block.ok() && *block != nullptr; block = walker.Next({})) {
    EXPECT_EQ(etwp::NeedsPrefix((*block)->block().columns()), blocks > 0);
    ++blocks;
  }
  EXPECT_GT(blocks, 3u);
}

// By the index, and where the index is lost too by a walk over the frames.
TEST_F(PrefixedDamage, TheCopyStandsForALostFirstBlock) {
  const auto archive = OpenArchive();
  auto damaged = bytes_;
  Spoil(archive->index().blocks(0).frame(), damaged);
  for (const size_t cut : {size_t{0}, size_t{1}}) {
    Diagnostics diagnostics;
    const auto content = Read(std::span(damaged).first(damaged.size() - cut), &diagnostics);
    ASSERT_TRUE(content.status.ok());
    EXPECT_EQ(content.events.size(), trace_.events.size() - archive->index().blocks(0).events());
    ExpectOnlyTrueEvents(content, cut);
    EXPECT_EQ(diagnostics.count(DiagnosticId::kArchiveFrameBad), 1u);
    const std::string error = ErrorOf(std::span(damaged).first(damaged.size() - cut), "blocks");
    EXPECT_TRUE(error.starts_with("the block at ") && error.ends_with(", not 0")) << error;
  }
}

TEST_F(PrefixedDamage, ALostCopyCostsNothing) {
  auto damaged = bytes_;
  Spoil(OpenArchive()->index().prefix(), damaged);
  Diagnostics diagnostics;
  EXPECT_TRUE(Read(damaged, &diagnostics).events == trace_.events);
  EXPECT_TRUE(diagnostics.entries().empty());
  EXPECT_EQ(ErrorOf(damaged, "blocks"), "0 good copies of the first one's columns instead of 1");
}

TEST_F(PrefixedDamage, VerifyMissesTheCopy) {
  const auto changed = WithFrames(bytes_, [](size_t, v1::Frame& frame) {
    if (frame.has_prefix()) frame.mutable_trailer();
  });
  EXPECT_TRUE(Read(changed, nullptr).events == trace_.events);
  EXPECT_EQ(ErrorOf(changed, "blocks"), "0 good copies of the first one's columns instead of 1");
}

TEST_F(PrefixedDamage, TheFirstBlockNeedsNoOther) {
  // Frame 0 is the header, 1 a dictionary, 2 the first block.
  const auto changed = WithFrame(bytes_, 2, [](v1::Frame& frame) {
    frame.mutable_block()->mutable_columns()->add_encodings(v1::ENCODING_PREFIXED);
  });
  Diagnostics diagnostics;
  const auto content = Read(changed, &diagnostics);
  EXPECT_LT(content.events.size(), trace_.events.size());
  EXPECT_EQ(diagnostics.count(DiagnosticId::kArchiveFrameBad), 1u);
  EXPECT_NE(ErrorOf(changed, "blocks").find("the first block needs the columns of another"), std::string::npos);
}

TEST_F(PrefixedDamage, AnIndexThatNamesAnotherCopyCostsNothing) {
  for (const auto& change : std::vector<std::function<void(v1::Index&)>>{
           [](v1::Index& i) { i.clear_prefix(); }, [](v1::Index& i) { *i.mutable_prefix() = i.header(); },
           [](v1::Index& i) { i.mutable_prefix()->set_length(0xFFFFFFFF); }}) {
    const auto lying = WithIndex(bytes_, change);
    EXPECT_TRUE(Read(lying, nullptr).events == trace_.events);
    EXPECT_NE(ErrorOf(lying, "index"), "");
  }
}

TEST_F(PrefixedDamage, WithoutBothEveryBlockSaysWhatItLacks) {
  const auto archive = OpenArchive();
  auto damaged = bytes_;
  Spoil(archive->index().blocks(0).frame(), damaged);
  Spoil(archive->index().prefix(), damaged);
  for (const size_t cut : {size_t{0}, size_t{1}}) {
    Diagnostics diagnostics;
    const auto content = Read(std::span(damaged).first(damaged.size() - cut), &diagnostics);
    ASSERT_TRUE(content.status.ok());
    EXPECT_TRUE(content.events.empty());
    EXPECT_GE(diagnostics.count(DiagnosticId::kArchiveFrameBad), static_cast<uint64_t>(archive->index().blocks_size()));
    const auto& ranges = diagnostics.ranges();
    EXPECT_TRUE(std::any_of(ranges.begin(), ranges.end(), [](const auto& range) {
      return range.reason ==
             "it needs the columns of the first block, and neither they nor their copy can be read so far";
    }));
  }
}

TEST_F(PrefixedDamage, AnotherPrefixMakesNoWrongEvent) {
  v1::Columns other;
  (void)WithFrame(bytes_, 3, [&](v1::Frame& frame) { other = frame.block().columns(); });
  // A prefix that needs one itself, and one of other bytes: compressed columns are as good as any.
  auto bytes = other;
  bytes.clear_encodings();
  bytes.set_compression(v1::Columns::COMPRESSION_NONE);
  bytes.set_content_length(static_cast<uint32_t>(bytes.content().size()));
  bytes.set_directory_length(0);
  for (const v1::Columns& columns : {other, bytes}) {
    const auto changed =
        WithFrame(bytes_, 2, [&](v1::Frame& frame) { *frame.mutable_block()->mutable_columns() = columns; });
    ExpectDamageButTrueEvents(changed);
  }
}

TEST_F(Damage, LostEndStillGivesEveryEvent) {
  Diagnostics diagnostics;
  const auto content = Read(std::span(bytes_).first(bytes_.size() - 1), &diagnostics);
  ASSERT_TRUE(content.status.ok());
  EXPECT_TRUE(content.events == trace_.events);
  EXPECT_GT(diagnostics.count(DiagnosticId::kArchiveTruncated), 0u);
}

TEST_F(Damage, LostFirstFrameIsReplacedByItsCopy) {
  auto damaged = bytes_;
  for (size_t at = 20; at < 60; ++at) damaged[at] ^= std::byte{0xFF};
  // Also where the index is lost.
  for (const size_t cut : {size_t{0}, size_t{1}}) {
    Diagnostics diagnostics;
    const auto content = Read(std::span(damaged).first(damaged.size() - cut), &diagnostics);
    ASSERT_TRUE(content.status.ok()) << content.status.message();
    EXPECT_TRUE(content.events == trace_.events);
    EXPECT_EQ(content.info.log_file_name, trace_.info.log_file_name);
    EXPECT_EQ(diagnostics.count(DiagnosticId::kArchiveFrameBad), 1u);
  }
}

TEST_F(Damage, NewerFormatIsRefusedWithAClearMessage) {
  const auto newer = WithFrame(bytes_, 0, [](v1::Frame& frame) {
    frame.set_format_version(7);
    frame.set_min_reader_version(etwp::kFormatVersion + 1);
  });
  const auto content = Read(newer, nullptr);
  EXPECT_EQ(content.status.code(), StatusCode::kInput);
  EXPECT_NE(content.status.message().find("newer"), std::string_view::npos) << content.status.message();
  EXPECT_TRUE(content.events.empty());
}

TEST_F(Damage, NewerFormatThatOldReadersMayReadIsRead) {
  const auto newer = WithFrame(bytes_, 0, [](v1::Frame& frame) { frame.set_format_version(7); });
  const auto content = Read(newer, nullptr);
  EXPECT_TRUE(content.events == trace_.events);
}

TEST_F(Damage, UnknownEncodingMakesOneBlockUnreadable) {
  // Frame 0 is the header, 1 a dictionary, 2 the first block.
  const auto changed =
      WithFrame(bytes_, 2, [](v1::Frame& frame) { frame.mutable_block()->mutable_columns()->add_encodings(1000); });
  Diagnostics diagnostics;
  const auto content = Read(changed, &diagnostics);
  ASSERT_TRUE(content.status.ok());
  EXPECT_EQ(diagnostics.count(DiagnosticId::kArchiveEncodingUnknown), 1u);
  EXPECT_LT(content.events.size(), trace_.events.size());
  EXPECT_GT(content.events.size(), trace_.events.size() / 2);
  ExpectOnlyTrueEvents(content, 0);
}

TEST_F(Damage, ALostDictionaryIsReplacedByTheCompleteOne) {
  const auto changed = WithFrame(bytes_, 1, [](v1::Frame& frame) { frame.mutable_dictionary()->Clear(); });
  EXPECT_TRUE(Read(changed, nullptr).events == trace_.events);
}

TEST_F(Damage, LostDictionariesCostTheBlocksThatNeedThem) {
  const auto changed = WithFrames(bytes_, [](size_t number, v1::Frame& frame) {
    if (frame.has_dictionary() && (number == 1 || frame.dictionary().complete())) frame.mutable_dictionary()->Clear();
  });
  EXPECT_LT(ExpectDamageButTrueEvents(changed), trace_.events.size());
}

TEST_F(Damage, SwappedBlocksDoNotSwapEvents) {
  v1::Frame first;
  (void)WithFrame(bytes_, 2, [&](v1::Frame& frame) { first = frame; });
  ASSERT_TRUE(first.has_block());
  // The first block once more, later.
  ExpectDamageButTrueEvents(WithFrame(bytes_, 6, [&](v1::Frame& frame) { frame = first; }));
}

TEST_F(Damage, OtherFilesAreNotArchives) {
  for (const std::string text : {"", "hello, world", "\x89PNG\r\n\x1a\n-----------------"}) {
    const auto content = Read(std::as_bytes(std::span(text)), nullptr);
    EXPECT_EQ(content.status.code(), StatusCode::kInput);
  }
}

// The archive with other statistics, and everything that tells of them right.
std::vector<std::byte> WithStatistics(std::span<const std::byte> archive,
                                      const std::function<void(v1::Statistics&)>& change) {
  const MemoryFile memory(archive);
  const auto file = *memory.Open();
  const auto opened = etwp::Archive::Open(file, nullptr);
  EXPECT_TRUE(opened.ok());
  v1::Frame frame;
  *frame.mutable_statistics() = *(*opened)->statistics();
  change(*frame.mutable_statistics());
  const auto made = *etwp::MakePackedFrame(frame);
  const auto tail = *etwp::ParseTail(archive.last(etwp::kTailSize));
  std::vector<std::byte> out(archive.begin(), archive.begin() + static_cast<ptrdiff_t>(tail.index_offset));
  const uint64_t offset = out.size();
  out.insert(out.end(), made.begin(), made.end());
  const auto rest = archive.subspan(tail.index_offset);
  out.insert(out.end(), rest.begin(), rest.end());
  auto moved = etwp::MakeTail({offset + made.size(), tail.index_length, tail.index_checksum});
  std::copy(moved.begin(), moved.end(), out.end() - static_cast<ptrdiff_t>(etwp::kTailSize));
  return WithIndex(out, [&](v1::Index& index) {
    index.mutable_statistics()->set_offset(offset);
    index.mutable_statistics()->set_length(static_cast<uint32_t>(made.size()));
  });
}

std::optional<etwp::ArchiveSummary> SummaryOf(std::span<const std::byte> archive, Diagnostics* diagnostics) {
  const MemoryFile memory(archive);
  const auto source = etwp::EtwpSource::Open(*memory.Open(), {diagnostics, {}});
  EXPECT_TRUE(source.ok());
  return (*source)->Summary();
}

VerifyFinding StatisticsFinding(std::span<const std::byte> archive) {
  const MemoryFile memory(archive);
  const auto findings = *etwp::VerifyArchive(*memory.Open(), 1, nullptr);
  return *std::find_if(findings.begin(), findings.end(), [](const auto& one) { return one.check == "statistics"; });
}

TEST_F(Damage, StatisticsThatMakeNoSenseAreNotUsed) {
  ASSERT_TRUE(SummaryOf(bytes_, nullptr).has_value());
  EXPECT_EQ(StatisticsFinding(bytes_).level, VerifyFinding::Level::kOk);
  ASSERT_TRUE(SummaryOf(WithStatistics(bytes_, [](v1::Statistics&) {}), nullptr).has_value());
  const std::vector<std::function<void(v1::Statistics&)>> lies = {
      [](v1::Statistics& s) { s.mutable_kinds(0)->set_count(s.kinds(0).count() + 1); },
      [](v1::Statistics& s) { s.mutable_kinds(0)->set_count(~uint64_t{0}); },
      [](v1::Statistics& s) { s.mutable_kinds()->RemoveLast(); },
      [](v1::Statistics& s) { *s.add_kinds() = s.kinds(0); },
      [](v1::Statistics& s) { s.mutable_kinds(0)->set_provider("123"); },
      [](v1::Statistics& s) { s.mutable_kinds(0)->set_id(65'536); },
      [](v1::Statistics& s) { s.mutable_kinds(0)->set_version(65'536); },
      [](v1::Statistics& s) { s.mutable_kinds(0)->set_opcode(256); },
      [](v1::Statistics& s) { s.mutable_kinds(0)->set_origin("hearsay"); },
      [](v1::Statistics& s) { s.clear_first_timestamp(); },
  };
  for (size_t lie = 0; lie < lies.size(); ++lie) {
    const auto lying = WithStatistics(bytes_, lies[lie]);
    EXPECT_FALSE(SummaryOf(lying, nullptr).has_value()) << lie;
    EXPECT_EQ(StatisticsFinding(lying).level, VerifyFinding::Level::kError) << lie;
  }
  // Lies that add up are found by whoever reads the events.
  const std::vector<std::function<void(v1::Statistics&)>> quiet = {
      [](v1::Statistics& s) { s.mutable_kinds(0)->set_bytes(s.kinds(0).bytes() + 1); },
      [](v1::Statistics& s) { s.mutable_kinds(0)->set_opcode(s.kinds(0).opcode() + 1); },
      [](v1::Statistics& s) { s.set_first_timestamp(s.first_timestamp() + 1); },
      [](v1::Statistics& s) { s.set_last_timestamp(s.last_timestamp() + 1); },
  };
  for (size_t lie = 0; lie < quiet.size(); ++lie) {
    EXPECT_EQ(StatisticsFinding(WithStatistics(bytes_, quiet[lie])).level, VerifyFinding::Level::kError) << lie;
  }
}

TEST_F(Damage, StatisticsThatAreNotThereAreNotUsed) {
  Diagnostics none;
  EXPECT_FALSE(SummaryOf(WithIndex(bytes_, [](v1::Index& i) { i.clear_statistics(); }), &none).has_value());
  EXPECT_TRUE(none.entries().empty()) << "as in the archives of older writers";
  for (const auto& change :
       {std::function<void(v1::Index&)>([](v1::Index& i) { *i.mutable_statistics() = i.header(); }),
        std::function<void(v1::Index&)>([](v1::Index& i) { i.mutable_statistics()->set_offset(~uint64_t{0}); })}) {
    Diagnostics diagnostics;
    EXPECT_FALSE(SummaryOf(WithIndex(bytes_, change), &diagnostics).has_value());
    EXPECT_EQ(diagnostics.count(DiagnosticId::kArchiveFrameBad), 1u);
    EXPECT_EQ(StatisticsFinding(WithIndex(bytes_, change)).level, VerifyFinding::Level::kError);
  }
}

TEST_F(Damage, ALyingIndexNeverMakesAWrongEvent) {
  const std::vector<std::function<void(v1::Index&)>> lies = {
      [](v1::Index& i) { i.mutable_blocks(1)->mutable_frame()->set_offset(~uint64_t{0}); },
      [](v1::Index& i) { i.mutable_blocks(1)->mutable_frame()->set_offset(i.blocks(0).frame().offset()); },
      [](v1::Index& i) { *i.mutable_blocks(1)->mutable_frame() = i.blocks(0).frame(); },
      [](v1::Index& i) { *i.mutable_blocks(1)->mutable_frame() = i.header(); },
      [](v1::Index& i) { i.mutable_blocks(1)->mutable_frame()->set_length(0xFFFFFFFF); },
      [](v1::Index& i) { i.mutable_blocks(1)->mutable_frame()->set_length(0); },
      [](v1::Index& i) { i.mutable_blocks(1)->set_events(5); },
      [](v1::Index& i) { i.mutable_blocks()->SwapElements(0, 1); },
      [](v1::Index& i) { *i.add_blocks() = i.blocks(0); },
      [](v1::Index& i) { i.set_events(7); },
      [](v1::Index& i) { i.mutable_blocks()->Clear(); },
      [](v1::Index& i) { *i.add_parts() = i.header(); },
      [](v1::Index& i) { *i.mutable_dictionary() = i.header(); },
      [](v1::Index& i) { i.clear_dictionary(); },
      [](v1::Index& i) { i.clear_trailer(); },
      [](v1::Index& i) { i.clear_header(); },
      [](v1::Index& i) { i.set_final(false); },
  };
  // Summaries that only filters go by: nothing but `verify` reads them together with their blocks.
  const std::vector<std::function<void(v1::Index&)>> summaries = {
      [](v1::Index& i) { i.mutable_blocks(1)->set_min_timestamp(i.blocks(1).min_timestamp() + 1); },
      [](v1::Index& i) { i.mutable_blocks(1)->set_max_timestamp(i.blocks(1).max_timestamp() - 1); },
      [](v1::Index& i) { i.mutable_blocks(1)->mutable_kinds()->RemoveLast(); },
      [](v1::Index& i) { i.mutable_blocks(1)->set_kind_events(0, i.blocks(1).kind_events(0) + 1); },
      [](v1::Index& i) { i.mutable_blocks(1)->set_kind_bytes(0, 0); },
  };
  for (size_t lie = 0; lie < summaries.size(); ++lie) {
    const MemoryFile memory(WithIndex(bytes_, summaries[lie]));
    const auto findings = etwp::VerifyArchive(*memory.Open(), 1, nullptr);
    ASSERT_TRUE(findings.ok());
    EXPECT_TRUE(std::any_of(findings->begin(), findings->end(), [](const VerifyFinding& finding) {
      return finding.level == VerifyFinding::Level::kError && finding.check == "index";
    })) << lie;
  }
  for (size_t lie = 0; lie < lies.size(); ++lie) {
    const auto lying = WithIndex(bytes_, lies[lie]);
    Diagnostics diagnostics;
    const auto content = Read(lying, &diagnostics);
    ASSERT_TRUE(content.status.ok()) << lie;
    ExpectOnlyTrueEvents(content, lie);
    EXPECT_FALSE(diagnostics.entries().empty()) << lie;
    const MemoryFile memory(lying);
    const auto findings = etwp::VerifyArchive(*memory.Open(), 1, nullptr);
    ASSERT_TRUE(findings.ok());
    EXPECT_TRUE(std::any_of(findings->begin(), findings->end(), [](const VerifyFinding& finding) {
      return finding.level == VerifyFinding::Level::kError;
    })) << lie;
  }
}

}  // namespace
}  // namespace etwpipe::test
