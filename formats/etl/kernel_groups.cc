#include "formats/etl/kernel_groups.h"

#include <array>

namespace etwpipe::etl {
namespace {

constexpr uint8_t kImageLoadType = 10;

std::array<Guid, kKernelGroups> MakeGuids() {
  static constexpr std::array<const char*, kKernelGroups> kText = {
      "68fdd900-4a3e-11d1-84f4-0000f80464e3",  // EventTrace (header)
      "3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7c",  // DiskIo
      "3d6fa8d3-fe05-11d0-9dda-00c04fd7ba7c",  // PageFault
      "3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c",  // Process
      "90cbdc39-4a3e-11d1-84f4-0000f80464e3",  // FileIo
      "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c",  // Thread
      "9a280ac0-c8e0-11d1-84e2-00c04fb998a2",  // TcpIp
      "3282fc76-feed-498e-8aa7-e70f459d430e",  // Job
      "bf3a50c5-a9c9-4988-a005-2df0b7c80f80",  // UdpIp
      "ae53722e-c863-11d2-8659-00c04fa321a1",  // Registry
      "13976d09-a327-438c-950b-7f03192815c7",  // DbgPrint
      "01853a65-418f-4f36-aefc-dc0f1d2fd235",  // SystemConfig
      "99134383-5248-43fc-834b-529454e75df3",  // spare
      "42695762-ea50-497a-9068-5cbbb35e0b95",  // WNF
      "0268a8b6-74fd-4302-9dd0-6e8f1795c0cf",  // Pool
      "ce1dbfb4-137e-4da6-87b0-3f59aa102cbc",  // PerfInfo
      "222962ab-6180-4b88-a825-346b75f2a24a",  // Heap
      "89497f50-effe-4440-8cf2-ce6b1cdcaca7",  // Object
      "e43445e0-0903-48c3-b878-ff0fccebdd04",  // Power
      "a9152f00-3f58-4bee-92a1-70c7d079d5dd",  // ModBound
      "2cb15d1d-5fc1-11d2-abe1-00a0c911f518",  // Image
      "b2d14872-7c5b-463d-8419-ee9bf7d23e04",  // DPC
      "7687a439-f752-45b8-b741-321aec0f8df9",  // cache manager
      "3ac66736-cc59-4cff-8115-8df50e39816b",  // CritSec
      "def2fe46-7bd6-4b80-bd94-f57fe20d0ce3",  // StackWalk
      "9aec974b-5b8e-4118-9b92-3186d8002ce5",  // UMS
      "45d8cccd-539f-4b72-a8b7-5c683142609a",  // ALPC
      "d837ca92-12b9-44a5-ad6a-3a65b3578aa8",  // SplitIo
      "c861d0e2-a2c1-4d36-9f9c-970bab943a12",  // ThreadPool
      "7f2a405c-69b5-4bf9-a1f5-30e8f1afab5e",  // Hypervisor
      "2ce9a149-effe-42f0-a635-a1d39e26c8f2",  // HypervisorX
  };
  std::array<Guid, kKernelGroups> guids;
  for (size_t i = 0; i < guids.size(); ++i) guids[i] = GuidOf(kText[i]);
  return guids;
}

}  // namespace

const Guid& KernelGroupGuid(uint8_t group, uint8_t type) {
  static const std::array<Guid, kKernelGroups> kGuids = MakeGuids();
  static const Guid kNull;
  if (group == kGroupProcess && type == kImageLoadType) return kGuids[kGroupImage];
  return group < kKernelGroups ? kGuids[group] : kNull;
}

}  // namespace etwpipe::etl
