#include "formats/etwp/frame.h"

#include <gtest/gtest.h>

#include "formats/etwp/archive.h"
#include "pipeline/byte_reader.h"
#include "tests/formats/etwp/synthetic_trace.h"

namespace etwpipe::test {
namespace {

using etwp::FrameWalker;
using etwp::ReadFrame;

v1::Frame NumberedFrame(uint64_t number) {
  v1::Frame frame;
  frame.mutable_block()->set_first_event(number);
  return frame;
}

void Append(std::vector<std::byte>& file, const std::vector<std::byte>& more) {
  file.insert(file.end(), more.begin(), more.end());
}

std::vector<std::byte> ThreeFrames() {
  std::vector<std::byte> file;
  for (uint64_t number = 1; number <= 3; ++number) Append(file, *etwp::MakeFrame(NumberedFrame(number)));
  return file;
}

std::vector<uint64_t> Walk(std::span<const std::byte> bytes, Diagnostics& diagnostics, bool* saw_tail = nullptr) {
  const MemoryFile memory(bytes);
  const auto file = memory.Open();
  EXPECT_TRUE(file.ok());
  FrameWalker walker(**file);
  std::vector<uint64_t> numbers;
  ReadFrame frame;
  while (*walker.Next(frame, &diagnostics)) numbers.push_back(frame.body.block().first_event());
  if (saw_tail != nullptr) *saw_tail = walker.saw_tail();
  return numbers;
}

TEST(Frame, PrefixIsSyncLengthAndChecksum) {
  const auto frame = *etwp::MakeFrame(NumberedFrame(300));
  EXPECT_EQ(LoadAt<uint32_t>(frame.data(), 0), 0x50574589u);
  EXPECT_EQ(LoadAt<uint32_t>(frame.data(), 4), frame.size() - 16);
  // Field 12, length 3, then field 1 as the varint 300.
  const std::byte body[] = {std::byte{0x62}, std::byte{3}, std::byte{0x08}, std::byte{0xAC}, std::byte{0x02}};
  EXPECT_TRUE(std::equal(frame.begin() + 16, frame.end(), std::begin(body), std::end(body)));
}

TEST(Frame, MagicStandsAtByte17OfAFile) {
  TemporaryFolder folder;
  etwp::EtwpSinkOptions options;
  options.path = folder.File("a.etwp");
  ASSERT_TRUE(WriteArchive(MakeTrace(3, 1), options).ok());
  const auto bytes = ReadBytes(options.path);
  EXPECT_EQ(bytes[16], std::byte{0x09});
  EXPECT_EQ(LoadAt<uint64_t>(bytes.data(), 17), 0x0A1A50545745AB89u);
  EXPECT_EQ(LoadAt<uint64_t>(bytes.data(), bytes.size() - 8), etwp::kTailMagic);
}

TEST(Frame, WalkGivesFramesInOrder) {
  Diagnostics diagnostics;
  EXPECT_EQ(Walk(ThreeFrames(), diagnostics), (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_TRUE(diagnostics.entries().empty());
}

TEST(Frame, TailEndsTheWalk) {
  auto file = ThreeFrames();
  Append(file, etwp::MakeTail({5, 6, 7}));
  Diagnostics diagnostics;
  bool saw_tail = false;
  EXPECT_EQ(Walk(file, diagnostics, &saw_tail).size(), 3u);
  EXPECT_TRUE(saw_tail);
  EXPECT_TRUE(diagnostics.entries().empty());
}

TEST(Frame, DamagedFrameCostsOnlyItself) {
  auto file = ThreeFrames();
  Append(file, etwp::MakeTail({5, 6, 7}));
  const size_t frame_size = etwp::MakeFrame(NumberedFrame(1))->size();
  for (size_t at = frame_size; at < 2 * frame_size; ++at) {
    auto damaged = file;
    damaged[at] ^= std::byte{0x10};
    Diagnostics diagnostics;
    EXPECT_EQ(Walk(damaged, diagnostics), (std::vector<uint64_t>{1, 3})) << at;
    const auto ranges = diagnostics.ranges();
    ASSERT_EQ(ranges.size(), 1u) << at;
    EXPECT_EQ(ranges[0].id, DiagnosticId::kArchiveFrameBad);
    EXPECT_EQ(ranges[0].place.offset, frame_size);
    EXPECT_EQ(ranges[0].place.length, frame_size);
  }
}

TEST(Frame, GarbageBetweenFramesIsPassedOver) {
  const auto one = *etwp::MakeFrame(NumberedFrame(1));
  const auto two = *etwp::MakeFrame(NumberedFrame(2));
  std::vector<std::byte> file = one;
  // False sync words with lengths that fit and that do not.
  for (int i = 0; i < 1000; ++i) {
    file.insert(file.end(), one.begin(), one.begin() + 4);
    file.resize(file.size() + 4, std::byte{static_cast<unsigned char>(i)});
  }
  Append(file, two);
  Diagnostics diagnostics;
  EXPECT_EQ(Walk(file, diagnostics), (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(diagnostics.count(DiagnosticId::kArchiveFrameBad), 1u);
}

TEST(Frame, CutFrameIsTruncation) {
  const auto file = ThreeFrames();
  for (size_t size = file.size() - 10; size < file.size(); ++size) {
    Diagnostics diagnostics;
    EXPECT_EQ(Walk(std::span(file).first(size), diagnostics), (std::vector<uint64_t>{1, 2}));
    EXPECT_EQ(diagnostics.count(DiagnosticId::kArchiveTruncated), 1u);
  }
}

TEST(Frame, ImpossibleLengthIsNotBelieved) {
  auto file = ThreeFrames();
  StoreAt<uint32_t>(file.data(), 4, 0xFFFFFFFF);
  Diagnostics diagnostics;
  EXPECT_EQ(Walk(file, diagnostics), (std::vector<uint64_t>{2, 3}));
}

TEST(Frame, ReadByIndexChecksEverything) {
  const auto bytes = ThreeFrames();
  const auto size = static_cast<uint32_t>(etwp::MakeFrame(NumberedFrame(1))->size());
  const MemoryFile memory(bytes);
  const auto file = memory.Open();
  ReadFrame frame;
  EXPECT_EQ(*etwp::ReadFrameAt(**file, size, size, frame), "");
  EXPECT_EQ(frame.body.block().first_event(), 2u);
  EXPECT_NE(*etwp::ReadFrameAt(**file, size + 1, size, frame), "");
  EXPECT_NE(*etwp::ReadFrameAt(**file, size, size - 1, frame), "");
  EXPECT_NE(*etwp::ReadFrameAt(**file, 2 * size, size + 1, frame), "");
  EXPECT_NE(*etwp::ReadFrameAt(**file, uint64_t{1} << 63, size, frame), "");
  EXPECT_NE(*etwp::ReadFrameAt(**file, 0, 0xFFFFFFFF, frame), "");
  EXPECT_NE(*etwp::ReadFrameAt(**file, 0, 3, frame), "");
}

// Each part of a message takes a hundred bytes of memory and two of the file, which compress to nothing.
TEST(Frame, MessagesOfTooManyPartsAreNotBelieved) {
  const auto read = [](uint32_t blocks, bool packed) {
    v1::Frame body;
    for (uint32_t i = 0; i < blocks; ++i) body.mutable_index()->add_blocks();
    const auto made = packed ? etwp::MakePackedFrame(body) : etwp::MakeFrame(body);
    EXPECT_TRUE(made.ok());
    const MemoryFile memory(*made);
    ReadFrame frame;
    return *etwp::ReadFrameAt(**memory.Open(), 0, static_cast<uint32_t>(made->size()), frame);
  };
  for (const bool packed : {false, true}) {
    EXPECT_EQ(read(etwp::kMaxFrameParts - 1, packed), "");  // the index is one, too
    EXPECT_EQ(read(etwp::kMaxFrameParts, packed), "its message has too many parts");
  }
}

}  // namespace
}  // namespace etwpipe::test
