// Which CLR events speak of methods, modules, assemblies, domains and runtimes.
#pragma once

#include <cstdint>
#include <optional>

#include "formats/schema/clr_aliases.h"
#include "pipeline/trace_context.h"

namespace etwpipe::facts {

enum class ClrSubject : uint8_t {
  kNone,
  kMethod,        ///< load, unload, rundown; short or verbose
  kJitting,       ///< MethodJittingStarted
  kEntryPoint,    ///< R2RGetEntryPoint
  kStub,          ///< ILStubGenerated
  kStubCacheHit,  ///< ILStubCacheHit
  kInit,          ///< DCStartInit, DCEndInit
  kComplete,      ///< DCStartComplete, DCEndComplete
  kModule,
  kDomainModule,
  kAssembly,
  kAppDomain,
  kRuntime,
};

enum class ClrAction : uint8_t { kLoad, kUnload, kRundownStart, kRundownEnd };

/// What an event is about.
struct ClrEventKind {
  ClrSubject subject = ClrSubject::kNone;
  ClrAction action = ClrAction::kLoad;
  bool verbose = false;  ///< kMethod: the names follow
};

/// Tells events apart by provider, id and version (semantics.md 6.2), classic ones by class and opcode (6.1); ids of
/// the documentation as far as they are believed (6.3). A few comparisons for events of other providers. One thread at
/// a time.
class ClrEventKinds {
 public:
  explicit ClrEventKinds(schema::ClrIds ids) : ids_(ids) {}

  ClrEventKind KindOf(const EventHeader& row, const TraceContext& trace);

 private:
  void Learn(const TraceContext& trace);

  schema::ClrIds ids_;
  bool learnt_ = false;
  std::optional<ProviderIndex> runtime_;
  std::optional<ProviderIndex> rundown_;
  std::optional<ProviderIndex> method_class_;
  std::optional<ProviderIndex> loader_class_;
  std::optional<ProviderIndex> runtime_class_;
};

}  // namespace etwpipe::facts
