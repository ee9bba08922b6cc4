// Buffers of many processors at once.
#include "formats/etl/buffer_packer.h"

#include <gtest/gtest.h>

#include <cstring>

#include "formats/etl/layout.h"
#include "tests/support/peak_memory.h"

namespace etwpipe::etl {
namespace {

constexpr uint16_t kProcessors = 2048;
constexpr uint32_t kBufferSize = 1 << 20;

// One record of 8 bytes on every processor; its bytes tell the processor.
std::unique_ptr<RelogChunk> RecordOnEachProcessor() {
  auto chunk = std::make_unique<RelogChunk>();
  chunk->bytes = std::make_unique<std::byte[]>(kProcessors * 8);
  for (uint16_t cpu = 0; cpu < kProcessors; ++cpu) {
    std::memcpy(chunk->bytes.get() + cpu * 8, &cpu, sizeof(cpu));
    chunk->records.push_back({cpu * 8u, 8, cpu, EventInstanceId{cpu}, cpu});
  }
  chunk->row_count = kProcessors;
  chunk->max_timestamp = kProcessors - 1;
  return chunk;
}

TEST(BufferPacker, OpenBuffersTakeTheMemoryOfWhatTheyHold) {
  BufferPacker::Options options;
  options.path = "out.etl";
  options.buffer_size = kBufferSize;
  options.header_record.resize(64);
  BufferPacker packer(options);
  const int64_t before = test::PeakMiB();
  std::vector<std::unique_ptr<SinkBlock>> blocks;
  for (int round = 0; round < 3; ++round) ASSERT_TRUE(packer.Add(RecordOnEachProcessor(), blocks).ok());
  ASSERT_TRUE(packer.End(blocks).ok());
  // Two buffers a processor would be 4 GiB.
  EXPECT_LT(test::PeakMiB() - before, 512);

  ASSERT_EQ(blocks.size(), kProcessors + 1u);  // and the header buffer
  for (uint16_t cpu = 0; cpu < kProcessors; ++cpu) {
    const auto& block = static_cast<const RelogBlock&>(*blocks[cpu + 1]);
    EXPECT_EQ(block.fields.cpu, cpu);
    ASSERT_EQ(block.ids, std::vector<EventInstanceId>(3, cpu));
    ASSERT_EQ(block.data_end(), buffer::kHeaderSize + 24);
    for (const RecordPlace& place : block.records()) {
      uint16_t told = 0;
      std::memcpy(&told, block.built->image().data() + place.offset, sizeof(told));
      EXPECT_EQ(told, cpu);
    }
  }
}

}  // namespace
}  // namespace etwpipe::etl
