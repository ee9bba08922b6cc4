// Commands that take several files: each is handled, whatever becomes of the others.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pipeline/status.h"
#include "tools/json_writer.h"

namespace etwpipe {

/// Calls `handle` for each file. Errors of all but the last failing file are printed at once. Returns the first error
/// of a kind that ends the program differently (an unreadable input before an answer no); a cancelled run stops.
Status ForEachFile(const std::vector<std::string>& files, const std::function<Status(const std::string&)>& handle);

/// One JSON value for one file, an array for several: BeginObject() ... EndObject() once per file in between.
class JsonFiles {
 public:
  explicit JsonFiles(size_t files) : array_(files > 1) {
    if (array_) writer.BeginArray();
  }
  /// Prints what was written and returns `status`, that of the files; nothing where the run was cancelled or the only
  /// file failed.
  Status PrintUnlessCancelled(const Status& status);

  JsonWriter writer;

 private:
  bool array_;
};

}  // namespace etwpipe
