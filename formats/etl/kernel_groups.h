// Kernel hook groups and the provider GUIDs they stand for (etl-format.md 2.9).
#pragma once

#include <cstdint>

#include "pipeline/guid.h"

namespace etwpipe::etl {

constexpr uint8_t kGroupHeader = 0x00;
constexpr uint8_t kGroupProcess = 0x03;
constexpr uint8_t kGroupThread = 0x05;
constexpr uint8_t kGroupPerfInfo = 0x0F;
constexpr uint8_t kGroupImage = 0x14;
constexpr uint8_t kGroupStackWalk = 0x18;
constexpr uint8_t kKernelGroups = 0x1F;

/// The GUID of hook `group << 8 | type`; zero for groups from kKernelGroups on. Image loads are logged under the
/// process group (hook 0x030A) and belong to the image GUID.
const Guid& KernelGroupGuid(uint8_t group, uint8_t type);

}  // namespace etwpipe::etl
