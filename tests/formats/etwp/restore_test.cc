// The original back from its archive, bit for bit.
#include "formats/etwp/restore.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "formats/etl/layout.h"
#include "formats/etwp/frame.h"
#include "pipeline/byte_reader.h"
#include "tests/formats/etwp/synthetic_trace.h"

namespace etwpipe::test {
namespace {

constexpr uint32_t kBufferBytes = 4096;

// A file of buffers whose records are those of a trace, with odd bytes everywhere else.
struct Original {
  std::vector<std::byte> bytes;
  SyntheticTrace trace;
};

std::shared_ptr<SourceBuffer> NewBuffer(std::mt19937_64& random, uint64_t ordinal, uint16_t cpu, size_t size) {
  auto buffer = std::make_shared<SourceBuffer>();
  buffer->ordinal = ordinal;
  buffer->file_offset = ordinal * kBufferBytes;
  buffer->file_size = static_cast<uint32_t>(size);
  buffer->cpu = cpu;
  buffer->image.resize(size);
  for (auto& byte : buffer->image) byte = static_cast<std::byte>(random());
  return buffer;
}

Original MakeOriginal() {
  Original made;
  std::mt19937_64 random(5);
  made.trace = MakeTrace(2'000, 41);
  std::vector<std::shared_ptr<SourceBuffer>> buffers;
  std::vector<std::pair<size_t, std::shared_ptr<const SourceBuffer>>>& opened = made.trace.opened;
  // The header buffer: its one record is metadata, so it has no events.
  buffers.push_back(NewBuffer(random, 0, 0, kBufferBytes));
  opened.emplace_back(0, buffers.back());
  struct Open {
    std::shared_ptr<SourceBuffer> buffer;
    size_t end = 0;
  };
  std::vector<Open> open(3);
  for (size_t i = 0; i < made.trace.events.size(); ++i) {
    const auto& record = made.trace.events[i].record;
    Open& cpu = open[made.trace.events[i].cpu];
    if (cpu.buffer == nullptr || etl::Align8(cpu.end) + record.size() > kBufferBytes) {
      cpu.buffer = NewBuffer(random, buffers.size(), made.trace.events[i].cpu, kBufferBytes);
      cpu.end = etl::buffer::kHeaderSize;
      // Some buffers do not begin with their first event.
      if (random() % 4 == 0) cpu.end += 24;
      buffers.push_back(cpu.buffer);
      opened.emplace_back(i, cpu.buffer);
      if (random() % 2 == 0) std::fill(cpu.buffer->image.begin() + 72, cpu.buffer->image.end(), std::byte{0xFF});
    }
    size_t at = etl::Align8(cpu.end);
    // And some have a hole.
    if (random() % 200 == 0 && at + 16 + record.size() <= kBufferBytes) at += 16;
    std::copy(record.begin(), record.end(), cpu.buffer->image.begin() + static_cast<ptrdiff_t>(at));
    cpu.buffer->records.push_back({static_cast<uint32_t>(at), static_cast<uint16_t>(record.size())});
    cpu.end = at + record.size();
  }
  // Trailing bytes that are no buffer, in two pieces, the last one shorter than a header.
  for (const size_t size : {size_t{kBufferBytes}, size_t{11}}) {
    auto raw = NewBuffer(random, buffers.size(), 0, size);
    raw->raw = true;
    buffers.push_back(raw);
    opened.emplace_back(made.trace.events.size(), raw);
  }
  for (const auto& buffer : buffers) {
    made.bytes.insert(made.bytes.end(), buffer->image.begin(), buffer->image.end());
  }
  made.trace.info.file_size = made.bytes.size();
  made.trace.info.compressed_buffers = 0;
  return made;
}

class RestoreTest : public testing::Test {
 protected:
  // Writes the archive of an original.
  std::string Archive(const Original& original, Diagnostics* diagnostics = nullptr) {
    WriteBytes(folder_.File("original"), original.bytes);
    auto file = InputFile::Open(folder_.File("original"));
    EXPECT_TRUE(file.ok());
    etwp::EtwpSinkOptions options;
    options.path = folder_.File("a.etwp");
    options.force = true;
    options.level = etwp::Level::kFast;
    options.block_bytes = 20'000;
    options.original = *file;
    EXPECT_TRUE(WriteArchive(original.trace, options, 300, 1, diagnostics).ok());
    return options.path;
  }
  Result<etwp::RestoreResult> Restore(const std::string& path, const std::string& to) {
    auto file = InputFile::Open(path);
    EXPECT_TRUE(file.ok());
    const auto archive = etwp::Archive::Open(*file, nullptr);
    if (!archive.ok()) return archive.status();
    auto out = OutputFile::Create(to, true, OutputFile::Stdout::kSpool);
    EXPECT_TRUE(out.ok());
    auto result = etwp::RestoreEtl(*archive, **out, {});
    if (result.ok()) {
      EXPECT_TRUE((*out)->Commit().ok());
    }
    return result;
  }
  TemporaryFolder folder_;
};

TEST_F(RestoreTest, OriginalComesBackBitForBit) {
  const Original original = MakeOriginal();
  Diagnostics diagnostics;
  const auto path = Archive(original, &diagnostics);
  EXPECT_EQ(diagnostics.count(DiagnosticId::kNotExact), 0u);
  const auto result = Restore(path, folder_.File("back"));
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_TRUE(result->identical);
  EXPECT_EQ(result->events, original.trace.events.size());
  EXPECT_TRUE(ReadBytes(folder_.File("back")) == original.bytes);
}

TEST_F(RestoreTest, ALostBufferIsNotExact) {
  Original original = MakeOriginal();
  original.trace.opened.pop_back();
  Diagnostics diagnostics;
  const auto path = Archive(original, &diagnostics);
  EXPECT_EQ(diagnostics.count(DiagnosticId::kNotExact), 1u);
  const auto result = Restore(path, folder_.File("back"));
  EXPECT_EQ(result.status().code(), StatusCode::kInput);
  EXPECT_FALSE(std::filesystem::exists(folder_.File("back")));
  EXPECT_TRUE(etwp::MeantToRestore(**etwp::Archive::Open(*InputFile::Open(path), nullptr)));
}

TEST_F(RestoreTest, AnotherResultThanTheOriginalIsAnError) {
  Original original = MakeOriginal();
  // The archive is made from buffers that are not those of the file.
  original.bytes[kBufferBytes * 3 + 2000] ^= std::byte{1};
  const auto result = Restore(Archive(original), folder_.File("back"));
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.status().message().find("SHA-256"), std::string_view::npos) << result.status().message();
  EXPECT_FALSE(std::filesystem::exists(folder_.File("back")));
}

TEST_F(RestoreTest, NormalizedArchiveSaysSo) {
  const Original original = MakeOriginal();
  WriteBytes(folder_.File("original"), original.bytes);
  etwp::EtwpSinkOptions options;
  options.path = folder_.File("n.etwp");
  options.original = *InputFile::Open(folder_.File("original"));
  options.normalize = true;
  Diagnostics diagnostics;
  ASSERT_TRUE(WriteArchive(original.trace, options, 300, 1, &diagnostics).ok());
  EXPECT_EQ(diagnostics.count(DiagnosticId::kNotExact), 0u);
  const auto archive = etwp::Archive::Open(*InputFile::Open(options.path), nullptr);
  ASSERT_TRUE(archive.ok());
  EXPECT_TRUE((*archive)->trailer()->normalized());
  EXPECT_FALSE((*archive)->trailer()->exact());
  EXPECT_FALSE(etwp::MeantToRestore(**archive));
  EXPECT_EQ((*archive)->index().restores_size(), 0);
  EXPECT_LT(ReadBytes(options.path).size(), ReadBytes(Archive(original)).size());
}

TEST_F(RestoreTest, DamagedArchiveIsAnErrorOrTheOriginal) {
  const Original original = MakeOriginal();
  const auto bytes = ReadBytes(Archive(original));
  const std::string path = folder_.File("damaged.etwp");
  std::mt19937_64 random(7);
  for (int round = 0; round < 150; ++round) {
    auto damaged = bytes;
    damaged[random() % damaged.size()] ^= std::byte{4};
    WriteBytes(path, damaged);
    std::filesystem::remove(folder_.File("back"));
    const auto result = Restore(path, folder_.File("back"));
    if (result.ok()) {
      EXPECT_TRUE(ReadBytes(folder_.File("back")) == original.bytes);
    } else {
      EXPECT_EQ(result.status().code(), StatusCode::kInput) << result.status().message();
    }
  }
}

}  // namespace
}  // namespace etwpipe::test
