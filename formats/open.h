// Inputs by content, outputs by name.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "pipeline/platform.h"
#include "pipeline/progress.h"
#include "pipeline/source.h"

namespace etwpipe {

struct OpenOptions {
  std::string spool_dir;
  bool several_passes = false;          ///< an .etwp on standard input is then spooled instead of streamed
  bool show_carriers = false;           ///< offer our own carrier events as events (`--carriers`)
  bool check_all = false;               ///< see etwp::EtwpSourceOptions
  Diagnostics* diagnostics = nullptr;   ///< told of damage found while opening; may be null
  const CancelToken* cancel = nullptr;  ///< ends a wait for standard input; may be null, else lives as long
};

/// Opens an .etl or .etwp, recognised by its first bytes. "-" is standard input. Anything else is an error that says
/// what the file looks like.
Result<std::unique_ptr<Source>> OpenSource(const std::string& path, const OpenOptions& options);

/// The file that OpenSource() reads, for those who read it in other ways. Standard input is spooled.
Result<std::shared_ptr<InputFile>> OpenInput(const std::string& path, const OpenOptions& options);

/// A source of a file that is open already.
Result<std::unique_ptr<Source>> OpenSource(const std::shared_ptr<InputFile>& file, const OpenOptions& options);

}  // namespace etwpipe
