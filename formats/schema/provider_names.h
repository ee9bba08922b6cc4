// Names of well-known providers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pipeline/guid.h"

namespace etwpipe::schema {

/// The provider_name of every kernel event group (etl-format.md 2.9).
inline constexpr std::string_view kWindowsKernel = "Windows Kernel";

/// One known GUID. The views live for ever.
struct ProviderName {
  Guid guid;
  std::string_view name;         ///< provider_name of its events
  std::string_view event_class;  ///< what a classic GUID stands for: Process, Thread, DiskIo, ImageID ...; else empty
};

/// The whole table, in a fixed order.
const std::vector<ProviderName>& KnownProviders();

/// The entry of `guid`, or null. Not for the per-event path.
const ProviderName* FindProvider(const Guid& guid);

/// The provider name of the entry of `guid`, or the GUID's text where there is none. Not for the per-event path.
std::string NameOrGuid(const Guid& guid);

/// GUIDs that bear `name` as provider name or as class, without regard to case: all kernel groups for
/// "Windows Kernel". Empty when the name is unknown.
std::vector<Guid> ProvidersNamed(std::string_view name);

/// Known names near an unknown one, nearest first, at most three.
std::vector<std::string> NearProviderNames(std::string_view name);

}  // namespace etwpipe::schema
