// The two ways to walk an .etl: buffer after buffer, or merged by time.
#pragma once

#include <memory>

#include "formats/etl/buffer_loader.h"
#include "formats/etl/logfile_header.h"
#include "pipeline/source.h"

namespace etwpipe::etl {

struct EtlPassArgs {
  const TraceContext& trace;
  const LogFileHeader& header;
  const BufferIndex& index;
  const LoadContext& load;
  int threads = 1;
  Diagnostics* diagnostics = nullptr;
};

/// Order::kPerCpu: buffers in the order of the file, those of one processor by sequence number; batches of one buffer.
std::unique_ptr<SourcePass> MakeBufferPass(const EtlPassArgs& args);
/// Order::kTime: the k-way merge of design.md section 7.
std::unique_ptr<SourcePass> MakeMergePass(const EtlPassArgs& args);

}  // namespace etwpipe::etl
