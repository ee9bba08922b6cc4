// Writes relogged .etl files (sink.etl) that Windows consumers should accept (etl-format.md section 9).
// Instance ids travel in carrier records at the end of the file.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "formats/etl/buffer_packer.h"
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
  /// Asked at the end for schemas to embed, as text; empty if there are none. Those the input carries go on anyway.
  std::function<std::string()> schemas;
  OutputCheck check;  ///< of the finished file; not asked where it is streamed
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
  Status WriteCarriers();
  Status WriteTrailerBuffer(BufferBuilder& builder);
  Status AppendPacked(BufferFields fields, std::span<const std::byte> data, uint32_t data_end);
  Status AppendPlain(const BufferFields& fields, std::span<const std::byte> image, uint32_t buffer_size);
  Status PatchHeader();

  EtlSinkOptions options_;
  std::unique_ptr<OutputFile> out_;
  TraceInfo info_;
  Diagnostics* diagnostics_ = nullptr;
  bool compress_ = false;
  bool reuse_stored_ = false;             // compressed buffers of the input may be copied as they are
  std::unique_ptr<BufferPacker> packer_;  // from Begin() on

  IdMapWriter id_map_;
  size_t max_entry_records_ = 0;
  uint64_t buffers_ = 0;
  uint64_t last_buffer_offset_ = 0;
  std::vector<std::byte> header_record_;
};

}  // namespace etwpipe::etl
