// What a recording with compressed buffers is compared by (FORMAT.md, "Restore section"): its buffers as a reader sees
// them, since they come back compressed anew.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace etwpipe::etwp {

/// xxh3-128, low half first, each little-endian.
using ImageHash = std::array<std::byte, 16>;

/// Hash of one buffer. `data` is what follows the 72 bytes of `header`, inflated; a raw range shorter than that has no
/// data. Of a `compressed` buffer the size in the file and the flag that says compressed do not count.
ImageHash HashImage(std::span<const std::byte> header, std::span<const std::byte> data, bool compressed);

/// The hashes of all buffers as one value, in whatever order they come.
class ImagesHash {
 public:
  void Add(uint64_t file_offset, const ImageHash& hash) { hashes_.emplace_back(file_offset, hash); }
  /// SHA-256, 32 bytes; empty if the library failed.
  std::string Finish();

 private:
  std::vector<std::pair<uint64_t, ImageHash>> hashes_;
};

}  // namespace etwpipe::etwp
