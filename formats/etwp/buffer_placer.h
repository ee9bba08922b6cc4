// Puts restored buffers where they belong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "formats/etwp/images_hash.h"
#include "formats/etwp/restore_section.h"
#include "formats/etwp/written_hash.h"
#include "formats/xca/xca.h"
#include "pipeline/platform.h"
#include "pipeline/status.h"

namespace etwpipe::etwp {

/// Takes finished buffers in any order.
class BufferPlacer {
 public:
  virtual ~BufferPlacer() = default;
  /// kInput if the buffer has no place.
  virtual Status Place(const RestoreBuffers::Buffer& buffer, std::span<const std::byte> image) = 0;
  /// After the last one.
  virtual Status Finish() = 0;
};

/// For files without compressed buffers: every buffer goes to its old offset and is added to `hash`. `out` and `hash`
/// outlive the placer; `out` is the original's `size` bytes long in the end.
std::unique_ptr<BufferPlacer> MakeDirectPlacer(OutputFile& out, uint64_t size, WrittenHash& hash);

/// For files with compressed buffers, whose sizes change: buffers are compressed into the spool file as they come, then
/// copied in the order of the original. What is copied is inflated again and added to `images`. `out` and `images`
/// outlive the placer. Without `xpress` all buffers become plain ones.
std::unique_ptr<BufferPlacer> MakeSpoolPlacer(OutputFile& out, std::unique_ptr<OutputFile> spool, bool xpress,
                                              ImagesHash& images);

/// Places nothing but compares: each buffer with what stands at its place in `original`, inflated by `format` where it
/// is compressed there. The first difference is kAnswerNo and says where it is; so is, from Finish(), a byte of
/// `original` that no buffer covers.
std::unique_ptr<BufferPlacer> MakeComparingPlacer(const InputFile& original, xca::Format format);

}  // namespace etwpipe::etwp
