#include "tools/config_file.h"

#include <fmt/format.h>

#include <span>

#include "pipeline/plan.h"
#include "pipeline/platform.h"

namespace etwpipe {
namespace {

constexpr uint64_t kMaxConfigBytes = 16u << 20;

}  // namespace

Result<v1::PipelineConfig> ReadConfig(const std::string& path) {
  const auto file = InputFile::Open(path);
  if (!file.ok()) return Status::InvalidArgument(std::string(file.status().message()));
  if ((*file)->size() > kMaxConfigBytes) {
    return Status::InvalidArgument(fmt::format("{}: {} bytes are too many for a config", path, (*file)->size()));
  }
  std::string text((*file)->size(), '\0');
  const auto count = (*file)->ReadAt(0, std::as_writable_bytes(std::span(text)));
  if (!count.ok()) return count.status();
  text.resize(*count);
  return ParseConfig(text, path);
}

}  // namespace etwpipe
