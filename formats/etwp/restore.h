// An .etl back from its archive (design.md section 11, "Exact by default").
#pragma once

#include <memory>
#include <string>

#include "formats/etwp/archive.h"
#include "pipeline/diagnostics.h"
#include "pipeline/platform.h"
#include "pipeline/progress.h"
#include "pipeline/status.h"

namespace etwpipe::etwp {

struct RestoreOptions {
  std::string spool_dir;                 ///< for a file whose buffers change their sizes
  Diagnostics* diagnostics = nullptr;    ///< damage of the archive; may be null
  ProgressListener* progress = nullptr;  ///< may be null
  const CancelToken* cancel = nullptr;   ///< may be null
  int threads = 1;                       ///< most that may decode at once
};

struct RestoreResult {
  uint64_t events = 0;
  uint64_t buffers = 0;
  /// The output is the original bit for bit: its SHA-256 was compared. False for a file with compressed buffers, which
  /// comes back with the same headers, inflated bytes and order, compressed anew.
  bool identical = false;
  /// The archive held a hash and the result has the same one: of the whole file where `identical`, else of its buffers.
  /// False only where buffers are compressed and the archive is of a version that kept no hash of them.
  bool checked = false;
};

/// True if the archive says that it gives its original back; otherwise `reason` says why not.
bool CanRestore(const Archive& archive, std::string& reason);

/// True if the archive was written to give its original back, or lacks the end that would tell; false if it never could
/// (filtered, normalized, not made from an .etl).
bool MeantToRestore(const Archive& archive);

/// Writes the original .etl to `out`, which must be empty and allow WriteAt(); the caller commits it. Needs a file with
/// an index, not a stream. kInput when the archive is not exact or damaged, or when the result is not what the archive
/// promises; nothing of `out` is of use then.
Result<RestoreResult> RestoreEtl(const std::shared_ptr<Archive>& archive, OutputFile& out,
                                 const RestoreOptions& options);

/// Compares what RestoreEtl() would put together with `original`, byte for byte (compressed buffers inflated), and
/// writes nothing. kAnswerNo with the first difference; kInput when the archive is not exact or damaged.
Status CompareWithOriginal(const std::shared_ptr<Archive>& archive, const InputFile& original,
                           const RestoreOptions& options);

}  // namespace etwpipe::etwp
