// NT names of files as DOS names.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace etwpipe::facts {

/// What the VolumeMapping and SystemPaths records of a trace say (etl-format.md 4.4).
class VolumeMap {
 public:
  /// Machines have some dozens; there is no room for more.
  static constexpr size_t kMaxMappings = 512;

  /// `nt` is a prefix of NT names (\Device\HarddiskVolume2\), `dos` what stands for it (C:\).
  /// False if there is no more room.
  bool Add(std::string_view nt, std::string_view dos);
  /// The folder of Windows (C:\Windows\): stands for \SystemRoot\, and gives its drive to names without one.
  void SetWindowsFolder(std::string_view folder);

  /// The longest prefix that ends at a part of the name is replaced, letters without regard to case. \??\ is dropped,
  /// \Device\Mup\ becomes \\ without the redirector's own parts. A name that nothing maps comes back as it is.
  std::string ToDos(std::string_view nt) const;

 private:
  std::vector<std::pair<std::string, std::string>> mappings_;  // longest first
  std::string windows_;
};

/// Whether both are equal but for the case of ASCII letters, as file names are compared.
bool EqualNames(std::string_view a, std::string_view b);
/// What stands behind the last separator.
std::string_view LastPart(std::string_view path);

}  // namespace etwpipe::facts
