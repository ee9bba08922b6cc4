// Pipeline configurations in files.
#pragma once

#include <string>

#include "pipeline/status.h"
#include "proto/pipeline_config.pb.h"

namespace etwpipe {

/// Reads a config (text format or JSON). Every error is an InvalidArgument that names the file.
Result<v1::PipelineConfig> ReadConfig(const std::string& path);

}  // namespace etwpipe
