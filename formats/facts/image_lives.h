// The lives of images in one address space, from its records in order of time.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "formats/facts/image_table.h"

namespace etwpipe::facts {

/// Part of ImageTable::Build(); n records take n log n steps, however they overlap.
class ImageLives {
 public:
  /// Appends to `out`. `begin`: no image is older.
  ImageLives(std::vector<ImageInstance>& out, int64_t begin, int64_t tolerance);

  /// `record.size` is not 0; `pdb` is null where no ImageID record goes with it.
  void Add(const ImageRecord& record, const PdbIdentity* pdb);
  /// The address space ends, and with it what is loaded.
  void End(int64_t time);

 private:
  using Open = std::map<uint64_t, size_t>;  // base: index of the image; ranges do not overlap

  /// Ends every open image that overlaps [first, last].
  void CloseOverlapping(uint64_t first, uint64_t last, int64_t time);
  Open::iterator Close(Open::iterator image, int64_t time);
  void Begin(const ImageRecord& record, int64_t from);
  static void Learn(ImageInstance& image, const ImageRecord& record, const PdbIdentity* pdb);
  bool AlreadyUnloaded(const ImageRecord& record) const;

  int64_t LastEnd(uint64_t first, uint64_t last) const;
  void SetEnd(uint64_t first, uint64_t last, int64_t time);
  void SplitAt(uint64_t address);

  std::vector<ImageInstance>& out_;
  int64_t tolerance_;
  Open open_;
  // When the last image at an address ended, from each key up to the next one.
  std::map<uint64_t, int64_t> ended_;
  std::map<uint64_t, size_t> unloaded_;  // base: the last image that an unload ended there
};

}  // namespace etwpipe::facts
