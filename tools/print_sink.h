// Events as text: one line each, for people, as ndjson or as csv.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/object_pool.h"
#include "pipeline/platform.h"
#include "pipeline/sink.h"
#include "tools/decoded_event.h"

namespace etwpipe {

enum class PrintFormat : uint8_t { kText, kNdjson, kCsv };

struct PrintSinkOptions {
  std::string path = "-";
  bool force = false;  ///< overwrite a file
  PrintFormat format = PrintFormat::kText;
  bool fields = true;     ///< decode payloads
  bool messages = false;  ///< fill in message texts
  bool payload = false;   ///< payload bytes as hex
  bool local = false;     ///< times in the recording machine's zone
  /// Stop after so many events; the run then ends with a status that Settle() turns into success.
  std::optional<uint64_t> limit;
};

/// Formats in Prepare(), on all cores; writes in order.
class PrintSink final : public Sink {
 public:
  explicit PrintSink(PrintSinkOptions options) : options_(std::move(options)) {}
  ~PrintSink() override;

  SinkInfo info() const override {
    return {Order::kTime, true, options_.fields || options_.messages ? kSchemas | kTypes : FactSet{kNoFacts}};
  }
  Status Begin(const BeginArgs& args) override;
  Result<std::unique_ptr<SinkChunk>> Prepare(EventBatch& batch) const override;
  Status Cut(std::unique_ptr<SinkChunk> chunk, std::vector<std::unique_ptr<SinkBlock>>& blocks) override;
  Status CutEnd(std::vector<std::unique_ptr<SinkBlock>>&) override { return {}; }
  Status Encode(SinkBlock&) const override { return {}; }
  Status Write(SinkBlock& block) override;
  Status Finish() override;
  uint64_t bytes_written() const override { return file_ ? file_->size() : 0; }

  /// The status of a run into this sink: success where it ended early because the limit was reached or the reader of
  /// standard output went away.
  Status Settle(const Status& run) const;

 private:
  struct Chunk;
  struct Block;

  PrintSinkOptions options_;
  const TraceContext* trace_ = nullptr;
  Diagnostics* diagnostics_ = nullptr;
  mutable ObjectPool<DecodedEvent> events_;   // what threads learnt of schemas, for the next batch
  std::vector<std::string> annotation_keys_;  // one per column that stages produce
  std::vector<std::string> annotation_names_;
  std::unique_ptr<OutputFile> file_;
  uint64_t events_cut_ = 0;
  bool limit_reached_ = false;   // by Cut()
  bool finished_early_ = false;  // by Write(): the output is complete
};

}  // namespace etwpipe
