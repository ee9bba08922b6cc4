// Reads .etl recordings (source.etl).
#pragma once

#include <memory>
#include <string>

#include "formats/etl/buffer_index.h"
#include "formats/etl/buffer_loader.h"
#include "formats/etl/id_map.h"
#include "formats/etl/logfile_header.h"
#include "pipeline/platform.h"
#include "pipeline/source.h"

namespace etwpipe::etl {

struct EtlSourceOptions {
  bool show_carriers = false;          ///< offer our own carrier events as events
  Diagnostics* diagnostics = nullptr;  ///< told of damage found by the index; may be null
};

/// Reads an .etl file of any origin. Opening reads the headers of all buffers, not the events.
class EtlSource : public Source {
 public:
  /// kInput if the file does not begin with a log-file header; the message says what it looks like instead.
  static Result<std::unique_ptr<EtlSource>> Open(std::shared_ptr<InputFile> file, const EtlSourceOptions& options);
  /// What Open() says of a file whose first kStartBytes show already that it is no .etl; ok if they do not, or if there
  /// are fewer.
  static Status CheckStart(const std::string& path, std::span<const std::byte> start);
  static constexpr size_t kStartBytes = 512;  ///< hold all of a log-file header but its names

  const TraceContext& context() const override { return context_; }
  Result<std::unique_ptr<SourcePass>> StartPass(const PassArgs& args) override;

  const std::shared_ptr<InputFile>& file() const { return file_; }
  const LogFileHeader& log_file_header() const { return header_; }
  const BufferIndex& index() const { return index_; }
  /// True if this file carries instance ids: we wrote it.
  bool has_carriers() const { return has_carriers_; }

 private:
  EtlSource() = default;
  Status ReadFileHeader();
  Status ReadCarriers(Diagnostics* diagnostics);
  void FillInfo(Diagnostics* diagnostics);

  std::shared_ptr<InputFile> file_;
  TraceContext context_;
  LogFileHeader header_;
  BufferIndex index_;
  IdMap id_map_;
  LoadContext load_;
  bool has_carriers_ = false;
};

}  // namespace etwpipe::etl
