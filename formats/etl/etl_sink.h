// Writes relogged .etl files (sink.etl) that Windows consumers should accept (etl-format.md section 9).
//
// Writer policy (design.md section 8): kept records of one processor are packed and a buffer closes when the next
// record does not fit; a buffer kept whole is copied when that processor's open buffer is empty or more than 3/4 full.
// Instance ids travel in carrier records at the end of the file.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "formats/etl/buffer_builder.h"
#include "formats/etl/id_map.h"
#include "pipeline/platform.h"
#include "pipeline/sink.h"

namespace etwpipe::etl {

enum class Compress : uint8_t {
  kAuto,    ///< as the input
  kNone,    ///< plain buffers
  kXpress,  ///< every data buffer that becomes smaller
};

struct EtlSinkOptions {
  std::string path;  ///< "-" is standard output, by way of a spool file
  bool force = false;
  std::string spool_dir;
  Compress compress = Compress::kAuto;
  bool write_ids = true;
  bool keep_paths = false;  ///< store the names of the source files
};

class EtlSink : public Sink {
 public:
  explicit EtlSink(EtlSinkOptions options);
  ~EtlSink() override;

  SinkInfo info() const override { return {Order::kPerCpu, false}; }
  Status Begin(const BeginArgs& args) override;
  Result<std::unique_ptr<SinkChunk>> Prepare(EventBatch& batch) const override;
  Status Cut(std::unique_ptr<SinkChunk> chunk, std::vector<std::unique_ptr<SinkBlock>>& blocks) override;
  Status CutEnd(std::vector<std::unique_ptr<SinkBlock>>& blocks) override;
  Status Encode(SinkBlock& block) const override;
  Status Write(SinkBlock& block) override;
  Status Finish() override;
  uint64_t bytes_written() const override;

 private:
  struct Chunk;
  struct Block;
  struct OpenBuffer;

  Status CutHeaderBuffer(Chunk* first, std::vector<std::unique_ptr<SinkBlock>>& blocks);
  Status CutPending(std::vector<std::unique_ptr<SinkBlock>>& blocks);
  Status Pack(const Chunk& chunk, std::vector<std::unique_ptr<SinkBlock>>& blocks);
  size_t PackRun(OpenBuffer& open, const Chunk& chunk, size_t begin);
  void PackRecord(OpenBuffer& open, std::span<const std::byte> padded, uint16_t size, EventInstanceId id,
                  int64_t timestamp, std::vector<std::unique_ptr<SinkBlock>>& blocks);
  void CloseBuffer(OpenBuffer& open, std::vector<std::unique_ptr<SinkBlock>>& blocks);
  void CopyWhole(std::vector<std::unique_ptr<SinkBlock>>& blocks);
  OpenBuffer& OpenFor(uint16_t cpu);
  std::unique_ptr<BufferBuilder> TakeBuilder();
  Status WriteCarriers();
  Status WriteTrailerBuffer(BufferBuilder& builder);
  Status PatchHeader();

  EtlSinkOptions options_;
  std::unique_ptr<OutputFile> out_;
  TraceInfo info_;
  Diagnostics* diagnostics_ = nullptr;
  bool compress_ = false;
  bool reuse_stored_ = false;  // compressed buffers of the input may be copied as they are
  uint32_t buffer_size_ = 0;

  // Cut
  bool header_cut_ = false;
  int64_t next_sequence_ = 1;
  int64_t max_timestamp_ = 0;
  uint64_t next_injected_ = 1;
  std::map<uint16_t, std::unique_ptr<OpenBuffer>> open_;
  std::vector<std::unique_ptr<Chunk>> pending_;  // parts of one buffer, until its last part has come
  std::mutex builders_mutex_;
  std::vector<std::unique_ptr<BufferBuilder>> builders_;

  // Write
  IdMapWriter id_map_;
  size_t max_entry_records_ = 0;
  uint64_t buffers_ = 0;
  uint64_t last_buffer_offset_ = 0;
  std::vector<std::byte> header_record_;
  uint64_t header_record_offset_ = 0;
};

}  // namespace etwpipe::etl
