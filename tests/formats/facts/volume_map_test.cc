// NT names as DOS names.
#include "formats/facts/volume_map.h"

#include <gtest/gtest.h>

namespace etwpipe::facts {
namespace {

VolumeMap Volumes() {
  VolumeMap volumes;
  volumes.Add(R"(\Device\HarddiskVolume1\)", R"(D:\)");
  volumes.Add(R"(\Device\HarddiskVolume10\)", R"(E:\)");
  volumes.Add(R"(\Device\HarddiskVolume1\Mounted\)", R"(F:\)");
  volumes.Add(R"(\Device\HarddiskVolume3)", R"(G:)");
  volumes.SetWindowsFolder(R"(C:\Windows\)");
  return volumes;
}

TEST(VolumeMap, NamesBecomeDosNames) {
  const struct {
    const char* nt;
    const char* dos;
  } cases[] = {
      {R"(\Device\HarddiskVolume1\a.dll)", R"(D:\a.dll)"},
      {R"(\Device\HarddiskVolume10\a.dll)", R"(E:\a.dll)"},
      {R"(\DEVICE\harddiskvolume1\a.dll)", R"(D:\a.dll)"},
      {R"(\Device\HarddiskVolume1\Mounted\a.dll)", R"(F:\a.dll)"},
      {R"(\Device\HarddiskVolume1\Mounted2\a.dll)", R"(D:\Mounted2\a.dll)"},
      {R"(\Device\HarddiskVolume3\a.dll)", R"(G:\a.dll)"},
      {R"(\Device\HarddiskVolume3)", "G:"},
      {R"(\Device\HarddiskVolume33\a.dll)", R"(\Device\HarddiskVolume33\a.dll)"},
      {R"(\SystemRoot\System32\ntoskrnl.exe)", R"(C:\Windows\System32\ntoskrnl.exe)"},
      {R"(\windows\System32\kernel32.dll)", R"(C:\windows\System32\kernel32.dll)"},
      {R"(\WindowsApps\x.dll)", R"(\WindowsApps\x.dll)"},
      {R"(\??\C:\a.sys)", R"(C:\a.sys)"},
      {R"(\Device\Mup\server\share\a.exe)", R"(\\server\share\a.exe)"},
      {R"(\Device\Mup\DfsClient\;Z:0000000000020d40\server\share\a.exe)", R"(\\server\share\a.exe)"},
      {R"(\Device\Mup\;LanmanRedirector\;Z:0000000000020d40\server\share\a.exe)", R"(\\server\share\a.exe)"},
      {R"(\Device\Mup\;LanmanRedirector\server\share\a.exe)", R"(\\server\share\a.exe)"},
      {R"(\Device\Mup\)", R"(\\)"},
      {R"(C:\a.dll)", R"(C:\a.dll)"},
      {"", ""},
  };
  for (const auto& name : cases) EXPECT_EQ(Volumes().ToDos(name.nt), name.dos) << name.nt;
}

TEST(VolumeMap, WithoutRecordsNamesStayAsTheyAre) {
  const VolumeMap none;
  for (const char* name : {R"(\Device\HarddiskVolume1\a.dll)", R"(\SystemRoot\a.sys)", R"(\Windows\a.dll)"}) {
    EXPECT_EQ(none.ToDos(name), name);
  }
}

TEST(VolumeMap, MappingsBeyondTheBoundAreIgnored) {
  VolumeMap volumes;
  for (size_t i = 0; i <= VolumeMap::kMaxMappings; ++i) volumes.Add("\\" + std::to_string(i) + "\\", "X:\\");
  EXPECT_EQ(volumes.ToDos(R"(\511\a)"), R"(X:\a)");
  EXPECT_EQ(volumes.ToDos(R"(\512\a)"), R"(\512\a)");
}

}  // namespace
}  // namespace etwpipe::facts
