#include "tools/per_file.h"

#include "tools/standard_output.h"

namespace etwpipe {

Status ForEachFile(const std::vector<std::string>& files, const std::function<Status(const std::string&)>& handle) {
  Status worst;
  for (const auto& file : files) {
    Status status = handle(file);
    if (status.ok()) continue;
    if (status.code() == StatusCode::kCancelled || status.code() == StatusCode::kOutput) return status;
    const bool worse = worst.ok() || (worst.code() == StatusCode::kAnswerNo && status.code() != StatusCode::kAnswerNo);
    if (worse) std::swap(worst, status);
    if (!status.ok() && !status.message().empty()) PrintError(status.message());
  }
  return worst;
}

Status JsonFiles::PrintUnlessCancelled(const Status& status) {
  if (status.code() == StatusCode::kCancelled || writer.text().empty()) return status;
  if (array_) writer.EndArray();
  writer.EndLine();
  ETWPIPE_RETURN_IF_ERROR(Print(writer.text()));
  return status;
}

}  // namespace etwpipe
