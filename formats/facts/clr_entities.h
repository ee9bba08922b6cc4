// Runtimes, application domains, assemblies and modules of the CLR: what the loader events tell.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "pipeline/event.h"
#include "pipeline/guid.h"

namespace etwpipe::facts {

/// What all four have. Ids are addresses in the process (ClrInstanceID for runtimes); a life is raw ticks, both ends
/// inclusive, the extremes of int64 where it began or ended outside the trace.
struct ClrEntity {
  uint32_t pid = 0;
  std::optional<uint16_t> clr_instance;  ///< V0 records have none
  uint64_t id = 0;
  int64_t from = std::numeric_limits<int64_t>::min();
  int64_t to = std::numeric_limits<int64_t>::max();
  uint32_t flags = 0;  ///< AppDomainFlags, AssemblyFlags, ModuleFlags; StartupFlags of a runtime
};

struct ClrRuntime : ClrEntity {
  std::string version;  ///< of the runtime: 4.8.4180.0
  std::string command_line;
  std::string dll_path;
};

struct ClrAppDomain : ClrEntity {
  std::string name;
};

struct ClrAssembly : ClrEntity {
  uint64_t app_domain_id = 0;
  std::string name;  ///< fully qualified
};

/// Names a PDB.
struct ClrPdb {
  Guid guid{};
  uint32_t age = 0;
  std::string path;

  friend bool operator==(const ClrPdb&, const ClrPdb&) = default;
};

struct ClrModule : ClrEntity {
  static constexpr uint32_t kReadyToRun = 0x20;  ///< in flags

  uint64_t assembly_id = 0;
  uint64_t app_domain_id = 0;  ///< 0 unless a DomainModule record bound it to one
  std::string il_path;
  std::string native_path;  ///< of the NGEN image; empty if there is none
  ClrPdb managed_pdb;       ///< all zero before V2
  ClrPdb native_pdb;

  /// File name of the IL image (else the native one) without path and .dll, .exe, .winmd or .netmodule.
  std::string name() const;
};

/// Takes from `told` what `known` lacks.
void Learn(ClrRuntime& known, const ClrRuntime& told);
void Learn(ClrAppDomain& known, const ClrAppDomain& told);
void Learn(ClrAssembly& known, const ClrAssembly& told);
void Learn(ClrModule& known, const ClrModule& told);

}  // namespace etwpipe::facts
