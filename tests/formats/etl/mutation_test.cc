// Real recordings, damaged on purpose: damage costs only itself and is counted.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>

#include "formats/etl/etl_source.h"
#include "formats/etl/layout.h"
#include "pipeline/byte_reader.h"
#include "tests/support/collect.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_data.h"

namespace etwpipe {
namespace {

namespace fs = std::filesystem;
using etl::BufferEntry;

std::vector<std::byte> ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

struct ReadBack {
  Status status;
  std::map<EventInstanceId, std::vector<std::byte>> events;
  std::vector<DamagedRange> damage;
  TraceInfo info;
  std::vector<BufferEntry> entries;
};

class Mutation : public testing::Test {
 protected:
  ReadBack Read(std::span<const std::byte> bytes, Order order = Order::kTime) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    ReadBack result;
    Diagnostics diagnostics;
    auto file = InputFile::Open(path_.string());
    EXPECT_TRUE(file.ok());
    auto source = etl::EtlSource::Open(*file, {false, &diagnostics});
    result.status = source.status();
    if (!source.ok()) return result;
    result.info = (*source)->context().info;
    result.entries = (*source)->index().entries;
    test::CollectSink sink(order);
    const auto summary = Execute(**source, sink, 1, &diagnostics);
    result.status = summary.status();
    for (auto& event : sink.events) result.events[event.header.instance_id] = std::move(event.bytes);
    result.damage = diagnostics.ranges();
    return result;
  }

  test::TempFolder folder_;
  const fs::path path_ = folder_ / "mutated.etl";
};

// Every event of `mutated` is one of `original`, except in the buffers named by ordinal; returns how many are missing.
size_t Missing(const ReadBack& original, const ReadBack& mutated, std::initializer_list<uint64_t> touched) {
  size_t missing = 0;
  for (const auto& [id, bytes] : original.events) {
    const uint64_t ordinal = id >> kInstanceIdBufferShift;
    const bool may_differ = std::find(touched.begin(), touched.end(), ordinal) != touched.end();
    const auto found = mutated.events.find(id);
    if (found == mutated.events.end()) {
      EXPECT_TRUE(may_differ) << "lost an event of an untouched buffer " << ordinal;
      ++missing;
    } else if (!may_differ) {
      EXPECT_EQ(found->second, bytes) << id;
    }
  }
  return missing;
}

TEST_F(Mutation, AnUncompressedBufferWithABadHeaderIsSkippedAlone) {
  const auto sample = test::SamplePath("diaghub.kernel.1.etl");
  if (const auto missing = test::MissingData(sample); !missing.empty()) GTEST_SKIP() << missing;
  const auto bytes = ReadFile(sample);
  const ReadBack original = Read(bytes);
  ASSERT_TRUE(original.status.ok());
  ASSERT_TRUE(original.damage.empty());
  for (const size_t victim : {size_t{1}, size_t{20}, original.entries.size() - 1}) {
    for (const uint32_t size : {0u, 71u, (16u << 20) + 8, 0xFFFFFFFFu, 0x20000u}) {
      auto mutated = bytes;
      StoreAt(mutated.data(), original.entries[victim].file_offset + etl::buffer::kBufferSize, size);
      const ReadBack read = Read(mutated);
      ASSERT_TRUE(read.status.ok()) << read.status.message();
      EXPECT_GT(Missing(original, read, {victim}), 0u);
      ASSERT_EQ(read.damage.size(), 1u) << "BufferSize " << size;
      EXPECT_EQ(read.damage[0].id, DiagnosticId::kBufferSkipped);
      EXPECT_EQ(read.damage[0].place.offset, original.entries[victim].file_offset);
      EXPECT_EQ(read.damage[0].place.length, 65536u);
      EXPECT_EQ(read.info.damaged_buffers, 1u);
    }
  }
}

TEST_F(Mutation, ADamagedRangeOverSeveralBuffersCountsAsOne) {
  const auto sample = test::SamplePath("diaghub.kernel.1.etl");
  if (const auto missing = test::MissingData(sample); !missing.empty()) GTEST_SKIP() << missing;
  auto bytes = ReadFile(sample);
  const ReadBack original = Read(bytes);
  std::memset(bytes.data() + 5 * 65536, 0xEE, 3 * 65536);
  const ReadBack read = Read(bytes);
  ASSERT_TRUE(read.status.ok());
  ASSERT_EQ(read.damage.size(), 1u);
  EXPECT_EQ(read.damage[0].place.offset, 5u * 65536);
  EXPECT_EQ(read.damage[0].place.length, 3u * 65536);
  EXPECT_EQ(read.info.buffers, original.info.buffers - 2) << "a skipped range is one ordinal";
}

TEST_F(Mutation, ABadRecordEndsItsBufferAtThatPlace) {
  const auto sample = test::SamplePath("ShutdownPerfDiagLogger.etl");
  if (const auto missing = test::MissingData(sample); !missing.empty()) GTEST_SKIP() << missing;
  const auto bytes = ReadFile(sample);
  const ReadBack original = Read(bytes);
  const BufferEntry& victim = original.entries[7];
  // Every record of one buffer in turn loses its marker.
  size_t tried = 0;
  for (const auto& [id, record] : original.events) {
    if (id >> kInstanceIdBufferShift != victim.ordinal || ++tried % 7 != 0) continue;
    const uint64_t offset = (id & ((uint64_t{1} << kInstanceIdBufferShift) - 1)) * 8;
    auto mutated = bytes;
    StoreAt(mutated.data(), victim.file_offset + offset, uint32_t{0x12345678});
    const ReadBack read = Read(mutated);
    ASSERT_TRUE(read.status.ok());
    ASSERT_EQ(read.damage.size(), 1u);
    EXPECT_EQ(read.damage[0].id, DiagnosticId::kRecordBad);
    EXPECT_EQ(read.damage[0].place.offset, victim.file_offset + offset);
    EXPECT_EQ(read.damage[0].place.length, victim.data_end - offset);
    // What stands before the bad record is still there.
    for (const auto& [other, kept] : original.events) {
      if (other >> kInstanceIdBufferShift != victim.ordinal) continue;
      EXPECT_EQ(read.events.contains(other), other < id);
    }
    (void)Missing(original, read, {victim.ordinal});
  }
  EXPECT_GT(tried, 7u);
}

TEST_F(Mutation, ACompressedBufferThatDoesNotDecodeIsLostAlone) {
  const auto sample = test::SamplePath("DynamicEvents.etl");
  if (const auto missing = test::MissingData(sample); !missing.empty()) GTEST_SKIP() << missing;
  const auto bytes = ReadFile(sample);
  const ReadBack original = Read(bytes);
  std::mt19937_64 random(5);
  size_t counted = 0;
  for (int round = 0; round < 40; ++round) {
    const size_t victim = 1 + random() % (original.entries.size() - 1);
    const BufferEntry& entry = original.entries[victim];
    auto mutated = bytes;
    // Matches everywhere, at offsets and of lengths that cannot be.
    const uint64_t at =
        entry.file_offset + etl::buffer::kHeaderSize + random() % (entry.file_size - etl::buffer::kHeaderSize);
    std::memset(mutated.data() + at, 0xFF, std::min<uint64_t>(512, entry.file_offset + entry.file_size - at));
    const ReadBack read = Read(mutated);
    ASSERT_TRUE(read.status.ok());
    (void)Missing(original, read, {entry.ordinal});
    counted += read.damage.empty() ? 0 : 1;
    for (const auto& range : read.damage) {
      EXPECT_GE(range.place.offset, entry.file_offset);
      EXPECT_LT(range.place.offset, entry.file_offset + entry.file_size);
    }
  }
  EXPECT_GT(counted, 30u);
}

TEST_F(Mutation, ACompressedFileIsFoundAgainAfterABadHeader) {
  const auto sample = test::SamplePath("DynamicEvents.etl");
  if (const auto missing = test::MissingData(sample); !missing.empty()) GTEST_SKIP() << missing;
  const auto bytes = ReadFile(sample);
  const ReadBack original = Read(bytes);
  for (const size_t victim : {size_t{1}, size_t{30}, original.entries.size() - 2}) {
    const BufferEntry& entry = original.entries[victim];
    // Sizes that are impossible, too small, and large enough to swallow the buffers that follow.
    for (const uint32_t size : {0u, 5u, 80u, 0xFFFFFFFFu, static_cast<uint32_t>(entry.file_size + 20'000),
                                static_cast<uint32_t>(entry.file_size - 100)}) {
      auto mutated = bytes;
      StoreAt(mutated.data(), entry.file_offset + etl::buffer::kBufferSize, size);
      const ReadBack read = Read(mutated);
      ASSERT_TRUE(read.status.ok()) << read.status.message();
      SCOPED_TRACE("BufferSize " + std::to_string(size) + " of buffer " + std::to_string(victim));
      // A size that is only too large hides nothing: the data says where the buffer ends.
      const bool found_by_data = size == entry.file_size + 20'000;
      EXPECT_EQ(Missing(original, read, {entry.ordinal}) == 0, found_by_data);
      ASSERT_FALSE(read.damage.empty());
      EXPECT_EQ(read.damage[0].place.offset, entry.file_offset);
      EXPECT_EQ(read.damage[0].id, found_by_data ? DiagnosticId::kBufferSizeBad : DiagnosticId::kBufferSkipped);
    }
  }
}

TEST_F(Mutation, ATruncatedFileGivesItsWholeRecords) {
  const auto sample = test::SamplePath("lxcore_kernel.etl");
  if (const auto missing = test::MissingData(sample); !missing.empty()) GTEST_SKIP() << missing;
  const auto bytes = ReadFile(sample);
  const ReadBack original = Read(bytes);
  for (size_t length = 0; length < bytes.size(); length += length < 9000 ? 1 : 97) {
    const ReadBack read = Read(std::span(bytes).first(length));
    if (!read.status.ok()) {
      EXPECT_EQ(read.status.code(), StatusCode::kInput);
      EXPECT_FALSE(read.status.message().empty());
      continue;
    }
    for (const auto& [id, record] : read.events) {
      const auto found = original.events.find(id);
      ASSERT_NE(found, original.events.end()) << "length " << length;
      ASSERT_EQ(found->second, record);
    }
    // Every record that lies wholly in the file is there.
    for (const auto& [id, record] : original.events) {
      const uint64_t ordinal = id >> kInstanceIdBufferShift;
      const uint64_t offset = (id & ((uint64_t{1} << kInstanceIdBufferShift) - 1)) * 8;
      const uint64_t end = original.entries[ordinal].file_offset + offset + record.size();
      ASSERT_EQ(read.events.contains(id), end <= length) << "length " << length << " id " << id;
    }
  }
}

TEST_F(Mutation, ARandomByteNeverBreaksTheReader) {
  for (const char* name :
       {"lxcore_kernel.etl", "waasmedic.etl", "primitive-types.etl", "SelfDescribingSingleEvent.etl", "gcevents.etl"}) {
    const auto sample = test::SamplePath(name);
    if (const auto missing = test::MissingData(sample); !missing.empty()) GTEST_SKIP() << missing;
    const auto bytes = ReadFile(sample);
    std::mt19937_64 random(11);
    for (int round = 0; round < 300; ++round) {
      auto mutated = bytes;
      const int flips = 1 + static_cast<int>(random() % 4);
      for (int i = 0; i < flips; ++i) mutated[random() % mutated.size()] = static_cast<std::byte>(random());
      const ReadBack read = Read(mutated, round % 2 == 0 ? Order::kTime : Order::kPerCpu);
      if (!read.status.ok()) {
        EXPECT_EQ(read.status.code(), StatusCode::kInput);
      }
    }
  }
}

TEST_F(Mutation, AFileThatShrinksWhileItIsReadIsCountedAndHarmless) {
  for (const char* name : {"diaghub.kernel.1.etl", "DynamicEvents.etl"}) {
    const auto sample = test::SamplePath(name);
    if (const auto missing = test::MissingData(sample); !missing.empty()) GTEST_SKIP() << missing;
    for (const Order order : {Order::kPerCpu, Order::kTime}) {
      for (const uint64_t length :
           {uint64_t{0}, uint64_t{600}, fs::file_size(sample) / 2, fs::file_size(sample) - 30}) {
        fs::copy_file(sample, path_, fs::copy_options::overwrite_existing);
        Diagnostics diagnostics;
        auto file = InputFile::Open(path_.string());
        ASSERT_TRUE(file.ok());
        auto source = etl::EtlSource::Open(*file, {false, &diagnostics});
        ASSERT_TRUE(source.ok());
        fs::resize_file(path_, length);
        test::CollectSink sink(order);
        const auto summary = Execute(**source, sink, 2, &diagnostics);
        ASSERT_TRUE(summary.ok()) << summary.status().message();
        EXPECT_GT(diagnostics.count(DiagnosticId::kFileShrank), 0u) << name << " cut to " << length;
      }
    }
  }
}

TEST_F(Mutation, WhatIsNoTraceIsToldByWhatItLooksLike) {
  const auto message = [&](std::string_view content) {
    const ReadBack read = Read(std::as_bytes(std::span(content)));
    EXPECT_FALSE(read.status.ok());
    EXPECT_EQ(read.status.code(), StatusCode::kInput);
    return std::string(read.status.message());
  };
  EXPECT_NE(message("").find("empty"), std::string::npos);
  EXPECT_NE(message(std::string(500, 'x')).find("text file"), std::string::npos);
  EXPECT_NE(message(std::string("PK\x03\x04") + std::string(200, '\0')).find("ZIP"), std::string::npos);
  EXPECT_NE(message(std::string(4096, '\0')).find("log-file header"), std::string::npos);
  EXPECT_NE(message(std::string(71, '\x01')).find("too few"), std::string::npos);
}

}  // namespace
}  // namespace etwpipe
