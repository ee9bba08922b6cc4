// Images (executables, libraries, drivers) of a trace by address and time.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/facts/area_index.h"
#include "formats/facts/name_pool.h"
#include "formats/facts/process_table.h"
#include "formats/facts/volume_map.h"
#include "pipeline/event.h"
#include "pipeline/guid.h"

namespace etwpipe::facts {

/// What one record says of an image. Names live as long as the NamePool they came from.
struct ImageRecord {
  enum class Kind : uint8_t {
    kLoad,
    kUnload,
    kRundown,  ///< was loaded when the session began or ended
  };
  Kind kind = Kind::kLoad;
  int64_t timestamp = 0;  ///< raw ticks
  EventInstanceId id = 0;
  uint32_t pid = 0;
  uint32_t time_date_stamp = 0;  ///< of the PE header; 0 if the record has none
  uint64_t base = 0;
  uint64_t size = 0;  ///< bytes
  std::string_view file_name;
};

/// Where the symbols of an image are.
struct PdbIdentity {
  Guid guid;
  uint32_t age = 0;
  std::string_view name;  ///< path as the linker wrote it; empty: not known
  bool il = false;        ///< the symbols are those of the IL the image was compiled from

  bool known() const { return !name.empty(); }
};

/// An ImageID record: tells the symbols of the image whose record has the same time.
struct PdbRecord {
  int64_t timestamp = 0;
  uint32_t pid = 0;
  uint64_t base = 0;
  PdbIdentity pdb;
};

/// One image from its load to its unload. Names live as long as the table.
struct ImageInstance {
  uint32_t pid = 0;
  uint32_t time_date_stamp = 0;
  uint64_t base = 0;
  uint64_t size = 0;
  int64_t load = ProcessInstance::kBeforeTrace;  ///< raw ticks
  int64_t unload = ProcessInstance::kAfterTrace;
  std::string_view file_name;  ///< NT path as recorded
  std::string_view dos_path;   ///< the NT path where nothing maps it
  std::string_view name;       ///< ntdll.dll
  PdbIdentity pdb;
  bool kernel = false;  ///< lies in the kernel's half and is found for every pid
  bool native = false;  ///< made by NGEN: its name ends in .ni.dll or .ni.exe

  uint64_t last() const { return base + (size - 1); }
};

/// Built once, then read from any thread.
class ImageTable {
 public:
  ImageTable() = default;
  ImageTable(ImageTable&&) = default;
  ImageTable& operator=(ImageTable&&) = default;

  struct BuildArgs {
    std::vector<ImageRecord> records;  ///< in any order
    std::vector<PdbRecord> pdbs;       ///< in any order
    NamePool names;                    ///< holds the names of both
    VolumeMap volumes;
    const ProcessTable* processes = nullptr;  ///< null: a pid is one process
    uint32_t pointer_size = 8;                ///< of the recording machine
    int64_t tolerance = 0;                    ///< ticks between two unloads that two providers wrote of one image
  };
  /// Rules as for code (semantics.md 7.2): a load ends what overlaps it; an unload or a rundown without a load opens an
  /// image backwards, to the start of the process or the end of what lay there before; the start of a process ends the
  /// images of the one that had its pid before. So at no time do two images of a process overlap. Images of no bytes
  /// are left out, ranges that wrap end at the last address.
  static ImageTable Build(BuildArgs args);

  /// The image of `pid` that lies at `address` at `timestamp`, or null. Addresses of a 32-bit process may be
  /// sign-extended.
  const ImageInstance* FindAddress(uint32_t pid, uint64_t address, int64_t timestamp) const;

  /// By pid (images of the kernel first, as pid 0), then in the order in which they were loaded or told of.
  const std::vector<ImageInstance>& all() const { return images_; }
  const VolumeMap& volumes() const { return volumes_; }

 private:
  NamePool names_;
  VolumeMap volumes_;
  std::vector<ImageInstance> images_;
  AreaIndex kernel_;
  std::unordered_map<uint32_t, AreaIndex> processes_;
  uint64_t kernel_begin_ = 0;
};

/// The processes with the paths of their images: the first image of each that bears its name.
ProcessTable WithImagePaths(const ProcessTable& processes, const ImageTable& images);

}  // namespace etwpipe::facts
