// The original back from its archive, bit for bit.
#include "formats/etwp/restore.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <functional>
#include <random>

#include "formats/etl/layout.h"
#include "formats/etwp/frame.h"
#include "formats/etwp/sha256.h"
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
  Result<etwp::RestoreResult> Restore(const std::string& path, const std::string& to, int threads = 1) {
    auto file = InputFile::Open(path);
    EXPECT_TRUE(file.ok());
    const auto archive = etwp::Archive::Open(*file, nullptr);
    if (!archive.ok()) return archive.status();
    auto out = OutputFile::Create(to, true, OutputFile::Stdout::kSpool);
    EXPECT_TRUE(out.ok());
    etwp::RestoreOptions options;
    options.threads = threads;
    auto result = etwp::RestoreEtl(*archive, **out, options);
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
  for (const int threads : {1, 2, 5}) {
    const auto result = Restore(path, folder_.File("back"), threads);
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_TRUE(result->identical);
    EXPECT_TRUE(result->checked);
    EXPECT_EQ(result->events, original.trace.events.size());
    EXPECT_TRUE(ReadBytes(folder_.File("back")) == original.bytes);
  }
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

// The same with every second buffer compressed in the file. How is of no matter here: only images and sizes are asked.
Original MakeCompressedOriginal() {
  Original made = MakeOriginal();
  for (auto& [row, buffer] : made.trace.opened) {
    if (buffer->raw || buffer->ordinal % 2 != 0) continue;
    auto compressed = std::make_shared<SourceBuffer>(*buffer);
    compressed->compressed = true;
    compressed->image[etl::buffer::kFlag] |= std::byte{etl::buffer::kFlagCompressed};
    buffer = compressed;
    ++made.trace.info.compressed_buffers;
  }
  return made;
}

// Writes the trailer of an archive anew, changed by `change`, and what stands after it.
void ChangeTrailer(const std::string& path, const std::function<void(v1::Trailer&)>& change) {
  auto bytes = ReadBytes(path);
  const auto tail = etwp::ParseTail(std::span(bytes).last(etwp::kTailSize));
  ASSERT_TRUE(tail);
  const auto file = *InputFile::Open(path);
  etwp::ReadFrame index;
  etwp::ReadFrame trailer;
  ASSERT_EQ(*etwp::ReadFrameAt(*file, tail->index_offset, tail->index_length, index), "");
  auto& entry = *index.body.mutable_index()->mutable_trailer();
  ASSERT_EQ(*etwp::ReadFrameAt(*file, entry.offset(), entry.length(), trailer), "");
  change(*trailer.body.mutable_trailer());
  bytes.resize(entry.offset());
  const auto append = [&](const std::vector<std::byte>& more) { bytes.insert(bytes.end(), more.begin(), more.end()); };
  const auto trailer_frame = *etwp::MakePackedFrame(trailer.body);
  entry.set_length(static_cast<uint32_t>(trailer_frame.size()));
  append(trailer_frame);
  const auto index_frame = *etwp::MakePackedFrame(index.body);
  const etwp::Tail new_tail{bytes.size(), static_cast<uint32_t>(index_frame.size()),
                            etwp::LoadFrameChecksum(index_frame)};
  append(index_frame);
  append(etwp::MakeTail(new_tail));
  WriteBytes(path, bytes);
}

TEST_F(RestoreTest, CompressedBuffersComeBackAsTheyWereInflated) {
  const Original original = MakeCompressedOriginal();
  const auto path = Archive(original);
  const auto result = Restore(path, folder_.File("back"));
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_FALSE(result->identical);
  EXPECT_TRUE(result->checked);
}

TEST_F(RestoreTest, OtherCompressedBuffersThanTheOriginalsAreAnError) {
  const auto path = Archive(MakeCompressedOriginal());
  ChangeTrailer(path, [](v1::Trailer& trailer) {
    ASSERT_EQ(trailer.images_sha256().size(), 32u);
    trailer.mutable_images_sha256()->front() ^= 1;
  });
  const auto result = Restore(path, folder_.File("back"));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), StatusCode::kInput);
  EXPECT_NE(result.status().message().find("buffers of the result differ"), std::string_view::npos);
  EXPECT_FALSE(std::filesystem::exists(folder_.File("back")));
}

TEST_F(RestoreTest, AnArchiveWithoutTheHashOfItsBuffersIsRestoredUnchecked) {
  const auto path = Archive(MakeCompressedOriginal());
  ChangeTrailer(path, [](v1::Trailer& trailer) { trailer.clear_images_sha256(); });
  const auto result = Restore(path, folder_.File("back"));
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_FALSE(result->checked);
}

// FORMAT.md, "Restore section": xxh3-128 per image, by file offset, under one SHA-256.
TEST_F(RestoreTest, TheHashOfTheBuffersIsThatOfTheFormat) {
  const Original original = MakeCompressedOriginal();
  auto buffers = original.trace.opened;
  std::sort(buffers.begin(), buffers.end(),
            [](const auto& a, const auto& b) { return a.second->file_offset < b.second->file_offset; });
  etwp::Sha256 expected;
  for (const auto& [row, buffer] : buffers) {
    auto image = buffer->image;
    if (buffer->compressed) {
      std::fill_n(image.begin(), 4, std::byte{0});
      image[52] &= ~std::byte{0x40};
    }
    const XXH128_hash_t hash = XXH3_128bits(image.data(), image.size());
    std::array<std::byte, 16> bytes;
    StoreAt(bytes.data(), 0, uint64_t{hash.low64});
    StoreAt(bytes.data(), 8, uint64_t{hash.high64});
    expected.Update(bytes);
  }
  const auto archive = etwp::Archive::Open(*InputFile::Open(Archive(original)), nullptr);
  ASSERT_TRUE(archive.ok());
  EXPECT_EQ((*archive)->trailer()->images_sha256(), expected.Finish());
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
