// Which sink an output gets.
#pragma once

#include <boost/program_options/options_description.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "pipeline/platform.h"
#include "pipeline/sink.h"
#include "pipeline/status.h"

namespace etwpipe {

/// --output, --to and what only some formats take.
struct OutputOptions {
  std::string path;
  std::string to;
  std::string compress = "auto";
  std::string level = "default";
  std::string layout = "columns";
  int64_t block_kib = 0;  ///< KiB of records per block of an .etwp; 0: what suits the level
  bool normalize = false;
  bool no_ids = false;
  bool keep_paths = false;
  bool embed_schemas = false;
  bool force = false;

  void Add(boost::program_options::options_description& options);
  /// Checks all of them; sets `to` from the extension where it was not given.
  Status Check();
  /// Whether the sink will decode events. After Check().
  bool NeedsFacts() const { return to == "ndjson" || to == "csv"; }
  /// After Check(). `original` is the .etl that is read, for an exact archive; null otherwise.
  /// `schemas` gives the text of schemas to embed once all events are written; may be null. `check` looks at a finished
  /// .etl or .etwp; may be null.
  std::unique_ptr<Sink> MakeSink(const std::string& spool_dir, std::shared_ptr<InputFile> original,
                                 std::function<std::string()> schemas, OutputCheck check = {}) const;
};

}  // namespace etwpipe
