// Images (executables, libraries, drivers) of a trace by address and time.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "pipeline/guid.h"

namespace etwpipe::facts {

/// Where the symbols of an image are.
struct PdbIdentity {
  Guid guid;
  uint32_t age = 0;
  std::string_view name;  ///< path as the linker wrote it; empty: not known
  bool il = false;        ///< the symbols are those of the IL the image was compiled from

  bool known() const { return !name.empty(); }
};

/// One image from its load to its unload.
struct ImageInstance {
  uint32_t pid = 0;
  uint64_t base = 0;
  uint64_t size = 0;                                   ///< bytes
  int64_t load = std::numeric_limits<int64_t>::min();  ///< raw ticks
  int64_t unload = std::numeric_limits<int64_t>::max();
  std::string_view name;  ///< ntdll.dll
  PdbIdentity pdb;
};

/// Built once, then read from any thread.
class ImageTable {
 public:
  /// The image of `pid` that lies at `address` at `timestamp`, or null.
  const ImageInstance* FindAddress(uint32_t pid, uint64_t address, int64_t timestamp) const {
    for (const ImageInstance& image : images_) {
      if (image.pid == pid && address >= image.base && address - image.base < image.size && timestamp >= image.load &&
          timestamp < image.unload) {
        return &image;
      }
    }
    return nullptr;
  }
  const std::vector<ImageInstance>& all() const { return images_; }

 private:
  std::vector<ImageInstance> images_;
};

}  // namespace etwpipe::facts
