// Reads compact archives (source.etwp).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "formats/etwp/archive.h"
#include "formats/etwp/record_rows.h"
#include "formats/etwp/statistics.h"
#include "pipeline/platform.h"
#include "pipeline/source.h"

namespace etwpipe::etwp {

struct EtwpSourceOptions {
  Diagnostics* diagnostics = nullptr;  ///< told of damage found while opening; may be null
  /// Bytes at the start of a stream that were read already to recognise it.
  std::vector<std::byte> start;
  /// Also looks at frames that reading does not need (what restoring needs, copies of what was read, blocks that a skip
  /// would pass over), so that `diagnostics` tells of damage in all of the file.
  bool check_all = false;
};

/// Reads an .etwp, by its index or as a stream (one pass only). Passes give the total order of the file whatever order
/// is asked for. The file may be InputFile::OpenStream(); it is then decoded while it comes.
class EtwpSource : public Source {
 public:
  /// Errors as Archive::Open().
  static Result<std::unique_ptr<EtwpSource>> Open(std::shared_ptr<InputFile> file, EtwpSourceOptions options = {});

  const TraceContext& context() const override { return context_; }
  /// A pass with diagnostics also adds the damage that the archive records of its original.
  Result<std::unique_ptr<SourcePass>> StartPass(const PassArgs& args) override;

  /// Blocks for which `skip` is true are passed over by passes started later; for filters on header fields. An event of
  /// a skipped block is never seen, so a skip must be sure.
  void SetSkip(SkipBlock skip) { skip_ = std::move(skip); }
  /// What the kinds of a BlockSummary are: an event row with the header fields that are the same for all events of the
  /// kind; times, ids and sizes mean nothing. False for kind 0, whose events can be anything, and for unknown ones.
  bool KindHeader(uint32_t kind, EventHeader& row) const;

  /// What the end of the archive says of its events; nullopt where it does not, or contradicts the index.
  std::optional<ArchiveSummary> Summary() const;
  /// The damage that the archive records of its original, as a pass reports it. `diagnostics` may be null.
  void AddRecordedDamage(Diagnostics* diagnostics) const;

  const Archive& archive() const { return *archive_; }
  const std::shared_ptr<Archive>& shared_archive() const { return archive_; }

 private:
  EtwpSource() = default;

  std::shared_ptr<Archive> archive_;
  TraceContext context_;
  SkipBlock skip_;
  bool check_all_ = false;
};

}  // namespace etwpipe::etwp
