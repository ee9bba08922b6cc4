// Events as tables: a folder with one csv file per kind of event.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/object_pool.h"
#include "pipeline/platform.h"
#include "pipeline/sink.h"
#include "tools/decoded_event.h"

namespace etwpipe {

/// Writes `<provider>.<event>.v<version>.csv` for every kind that has a schema: header columns, one column per
/// top-level field (arrays and structs as JSON), then `_extra` and annotations. Kinds without a schema share
/// `unknown.csv`, with their payload in hex. RFC 4180 with LF line ends; null is an empty cell.
class CsvTablesSink final : public Sink {
 public:
  /// `path` is the folder; an existing one is an error unless `force`, which replaces folders of csv files only.
  CsvTablesSink(std::string path, bool force) : path_(std::move(path)), force_(force) {}
  ~CsvTablesSink() override;

  SinkInfo info() const override {
    return {.order = Order::kTime, .stores_annotations = true, .facts = kSchemas | kTypes, .facts_at_end = false};
  }
  Status Begin(const BeginArgs& args) override;
  Result<std::unique_ptr<SinkChunk>> Prepare(EventBatch& batch) const override;
  Status Cut(std::unique_ptr<SinkChunk> chunk, std::vector<std::unique_ptr<SinkBlock>>& blocks) override;
  Status CutEnd(std::vector<std::unique_ptr<SinkBlock>>&) override { return {}; }
  Status Encode(SinkBlock&) const override { return {}; }
  Status Write(SinkBlock&) override { return {}; }
  Status Finish() override;
  uint64_t bytes_written() const override { return folder_ ? folder_->size() : 0; }

 private:
  struct Chunk;
  /// A file that is being collected; text goes to the disk when there is enough of it.
  struct Table {
    std::string file;
    std::string text;
  };

  Status Flush(Table& table);
  std::string FileName(const std::string& kind);

  std::string path_;
  bool force_;
  const TraceContext* trace_ = nullptr;
  Diagnostics* diagnostics_ = nullptr;
  std::vector<std::string> annotation_names_;
  std::vector<std::string> annotation_keys_;
  mutable ObjectPool<DecodedEvent> events_;
  std::unique_ptr<OutputFolder> folder_;
  std::map<std::string, Table> tables_;     // by title line, which names the kind
  std::map<std::string, int> names_taken_;  // file names
};

}  // namespace etwpipe
