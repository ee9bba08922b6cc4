// Archives of rows: the same events, and no trust in what a block says of itself.
#include <gtest/gtest.h>
#include <zstd.h>

#include <functional>

#include "formats/etwp/block_decoder.h"
#include "formats/etwp/frame.h"
#include "formats/etwp/verify.h"
#include "proto/event.pb.h"
#include "tests/formats/etwp/synthetic_trace.h"

namespace etwpipe::test {
namespace {

std::string Compressed(const std::string& content) {
  std::string out(ZSTD_compressBound(content.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), content.data(), content.size(), 1));
  return out;
}

class Rows : public testing::Test {
 protected:
  std::string Write(const SyntheticTrace& trace, int threads = 1) {
    etwp::EtwpSinkOptions options;
    options.path = folder_.File("rows.etwp");
    options.force = true;
    options.layout = etwp::Layout::kRows;
    options.block_bytes = 20'000;
    EXPECT_TRUE(WriteArchive(trace, options, 300, threads).ok());
    return options.path;
  }

  // The first block of rows in the file.
  v1::Block FirstBlock(const std::string& path) {
    const auto file = *InputFile::Open(path);
    etwp::FrameWalker walker(*file);
    etwp::ReadFrame frame;
    while (*walker.Next(frame, nullptr)) {
      if (frame.body.has_block()) return frame.body.block();
    }
    ADD_FAILURE() << "no block";
    return {};
  }

  // The block with its events changed, and everything else right.
  v1::Block WithEvents(const v1::Block& block, const std::function<void(v1::EventList&)>& change) {
    std::string content(block.rows().length(), '\0');
    EXPECT_EQ(
        ZSTD_decompress(content.data(), content.size(), block.rows().content().data(), block.rows().content().size()),
        content.size());
    v1::EventList list;
    EXPECT_TRUE(list.ParseFromString(content));
    change(list);
    return WithContent(block, list.SerializeAsString());
  }
  v1::Block WithContent(v1::Block block, const std::string& content) {
    block.mutable_rows()->set_length(static_cast<uint32_t>(content.size()));
    block.mutable_rows()->set_content(Compressed(content));
    return block;
  }

  bool Decodes(const v1::Block& block) {
    etwp::DecodedBlock decoded;
    return !etwp::DecodeBlock(block, {}, decoded);
  }

  TemporaryFolder folder_;
};

TEST_F(Rows, EveryEventComesBack) {
  for (const bool large : {false, true}) {
    const auto trace = MakeTrace(large ? 60 : 3'000, 7, large);
    const auto path = Write(trace);
    Diagnostics diagnostics;
    const auto content = ReadArchive(path, &diagnostics);
    ASSERT_TRUE(content.status.ok()) << content.status.message();
    EXPECT_TRUE(content.events == trace.events);
    EXPECT_TRUE(diagnostics.entries().empty());
    const auto findings = etwp::VerifyArchive(*InputFile::Open(path), 2, nullptr);
    ASSERT_TRUE(findings.ok());
    for (const auto& finding : *findings) {
      // Ids of made-up traces repeat.
      if (finding.check == "ids") continue;
      EXPECT_NE(finding.level, VerifyFinding::Level::kError) << finding.check << finding.text;
    }
  }
}

TEST_F(Rows, ThreadsDoNotChangeTheFile) {
  const auto trace = MakeTrace(3'000, 8);
  const auto one = ReadBytes(Write(trace, 1));
  EXPECT_TRUE(one == ReadBytes(Write(trace, 3)));
}

TEST_F(Rows, CutAnywhereOpensUpToTheLastWholeBlock) {
  const auto trace = MakeTrace(600, 9);
  const auto bytes = ReadBytes(Write(trace));
  size_t most = 0;
  for (size_t size = 0; size < bytes.size(); size += 13) {
    const MemoryFile memory(std::span<const std::byte>(bytes).first(size));
    Diagnostics diagnostics;
    const auto content = ReadArchive(*memory.Open(), &diagnostics);
    if (!content.status.ok()) continue;
    ASSERT_GE(content.events.size(), most);
    most = content.events.size();
    ASSERT_TRUE(std::equal(content.events.begin(), content.events.end(), trace.events.begin()));
    ASSERT_GT(diagnostics.count(DiagnosticId::kArchiveTruncated), 0u);
  }
  EXPECT_GT(most, trace.events.size() / 2);
}

TEST_F(Rows, LiesAreErrors) {
  const v1::Block block = FirstBlock(Write(MakeTrace(300, 10)));
  ASSERT_TRUE(Decodes(block));
  const std::vector<std::function<void(v1::Block&)>> lies = {
      [](v1::Block& b) { b.set_events(b.events() + 1); },
      [](v1::Block& b) { b.set_events(b.events() - 1); },
      [](v1::Block& b) { b.set_events(0); },
      [](v1::Block& b) { b.set_events(0xFFFFFFFF); },
      [](v1::Block& b) { b.set_record_bytes(b.record_bytes() + 1); },
      [](v1::Block& b) { b.set_record_bytes(b.record_bytes() - 1); },
      [](v1::Block& b) { b.set_record_bytes(uint64_t{1} << 40); },
      [](v1::Block& b) { b.clear_batch_events(); },
      [](v1::Block& b) { b.add_batch_events(1); },
      [](v1::Block& b) { b.add_batch_events(0); },
      [](v1::Block& b) { b.add_kinds(1); },
      [](v1::Block& b) { b.mutable_rows()->set_length(b.rows().length() + 1); },
      [](v1::Block& b) { b.mutable_rows()->set_length(b.rows().length() - 1); },
      [](v1::Block& b) { b.mutable_rows()->set_length(0xFFFFFFFF); },
      [](v1::Block& b) { b.mutable_rows()->set_length(0); },
      [](v1::Block& b) { b.mutable_rows()->clear_content(); },
      [](v1::Block& b) { b.mutable_rows()->mutable_content()->pop_back(); },
  };
  for (size_t lie = 0; lie < lies.size(); ++lie) {
    v1::Block lying = block;
    lies[lie](lying);
    EXPECT_FALSE(Decodes(lying)) << lie;
  }
  EXPECT_FALSE(Decodes(WithEvents(block, [](v1::EventList& e) { e.mutable_events(0)->set_cpu(65'536); })));
  EXPECT_FALSE(
      Decodes(WithEvents(block, [](v1::EventList& e) { e.mutable_events(0)->mutable_payload()->append("x"); })));
  EXPECT_FALSE(Decodes(WithEvents(block, [](v1::EventList& e) { e.mutable_events()->RemoveLast(); })));
  EXPECT_FALSE(Decodes(WithEvents(block, [](v1::EventList& e) { e.add_events(); })));
  v1::Block large =
      WithEvents(block, [](v1::EventList& e) { e.mutable_events(0)->set_payload(std::string(65'536, 'x')); });
  large.set_record_bytes(large.record_bytes() + 65'536);
  EXPECT_FALSE(Decodes(large));
}

TEST_F(Rows, WhatIsNoListOfEventsIsAnError) {
  const v1::Block block = FirstBlock(Write(MakeTrace(300, 11)));
  for (const std::string& content : {std::string(), std::string("\x0a"), std::string("\x0a\x05x"), std::string("\x0c"),
                                     std::string("\x0a\xff\xff\xff\xff\x0f"), std::string(1'000, '\xff')}) {
    EXPECT_FALSE(Decodes(WithContent(block, content)));
  }
}

// Many events of a few bytes each, or one frame of nothing but zeros: refused by the numbers the block declares.
TEST_F(Rows, BombsAreRefused) {
  v1::Block block = FirstBlock(Write(MakeTrace(300, 12)));
  std::string many;
  for (int i = 0; i < 10'000'000; ++i) many += std::string("\x0a\x00", 2);
  EXPECT_FALSE(Decodes(WithContent(block, many)));
  v1::Block zeros = block;
  zeros.mutable_rows()->set_content(Compressed(std::string(200u << 20, '\0')));
  for (const uint32_t length : {200u << 20, 64u << 20, 1u}) {
    zeros.mutable_rows()->set_length(length);
    EXPECT_FALSE(Decodes(zeros)) << length;
  }
  // The same inside a packed frame.
  v1::Frame frame;
  frame.mutable_packed()->set_content(zeros.rows().content());
  for (const uint32_t length : {200u << 20, 64u << 20, 1u}) {
    frame.mutable_packed()->set_length(length);
    const auto made = etwp::MakeFrame(frame);
    const MemoryFile memory(*made);
    etwp::ReadFrame read;
    const auto fault = etwp::ReadFrameAt(**memory.Open(), 0, static_cast<uint32_t>(made->size()), read);
    ASSERT_TRUE(fault.ok());
    EXPECT_NE(*fault, "") << length;
  }
}

TEST_F(Rows, FlippedBitsOfTheContentAreSafe) {
  const v1::Block block = FirstBlock(Write(MakeTrace(200, 13)));
  for (size_t at = 0; at < block.rows().content().size(); at += 3) {
    v1::Block flipped = block;
    (*flipped.mutable_rows()->mutable_content())[at] ^= static_cast<char>(1 << at % 7);
    etwp::DecodedBlock decoded;
    if (etwp::DecodeBlock(flipped, {}, decoded)) continue;
    ASSERT_EQ(decoded.rows.size(), block.events());
  }
}

}  // namespace
}  // namespace etwpipe::test
