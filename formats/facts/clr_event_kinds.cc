#include "formats/facts/clr_event_kinds.h"

#include "pipeline/guid.h"

namespace etwpipe::facts {
namespace {

using enum ClrSubject;
using enum ClrAction;

constexpr std::string_view kRuntimeGuid = "e13c0d23-ccbc-4e12-931b-d9cc2eee27e4";
constexpr std::string_view kRundownGuid = "a669021c-c450-4609-a035-5af59af4df18";

ClrEventKind RuntimeKind(uint16_t id, uint16_t version) {
  switch (id) {
    // Rundown of CLR 2.0, which had no provider of its own for it.
    case 135: return {kComplete, kRundownStart};
    case 136: return {kComplete, kRundownEnd};
    case 137: return version == 0 ? ClrEventKind{kMethod, kRundownStart} : ClrEventKind{};
    case 138: return version == 0 ? ClrEventKind{kMethod, kRundownEnd} : ClrEventKind{};
    case 139: return {kMethod, kRundownStart, true};
    case 140: return {kMethod, kRundownEnd, true};
    case 149: return {kModule, kRundownStart};
    case 150: return {kModule, kRundownEnd};

    case 88: return {kStub};
    case 89: return {kStubCacheHit};
    case 141: return {kMethod, kLoad};
    case 142: return {kMethod, kUnload};
    case 143: return {kMethod, kLoad, true};
    case 144: return {kMethod, kUnload, true};
    case 145: return {kJitting};
    case 151: return {kDomainModule, kLoad};
    case 152: return {kModule, kLoad};
    case 153: return {kModule, kUnload};
    case 154: return {kAssembly, kLoad};
    case 155: return {kAssembly, kUnload};
    case 156: return {kAppDomain, kLoad};
    case 157: return {kAppDomain, kUnload};
    case 159: return {kEntryPoint};
    case 187: return {kRuntime, kLoad};
    default: return {};
  }
}

ClrEventKind RundownKind(uint16_t id) {
  switch (id) {
    case 141: return {kMethod, kRundownStart};
    case 142: return {kMethod, kRundownEnd};
    case 143: return {kMethod, kRundownStart, true};
    case 144: return {kMethod, kRundownEnd, true};
    case 145: return {kComplete, kRundownStart};
    case 146: return {kComplete, kRundownEnd};
    case 147: return {kInit, kRundownStart};
    case 148: return {kInit, kRundownEnd};
    case 151: return {kDomainModule, kRundownStart};
    case 152: return {kDomainModule, kRundownEnd};
    case 153: return {kModule, kRundownStart};
    case 154: return {kModule, kRundownEnd};
    case 155: return {kAssembly, kRundownStart};
    case 156: return {kAssembly, kRundownEnd};
    case 157: return {kAppDomain, kRundownStart};
    case 158: return {kAppDomain, kRundownEnd};
    case 187: return {kRuntime, kRundownStart};
    default: return {};
  }
}

ClrEventKind ClassicMethodKind(uint8_t opcode) {
  switch (opcode) {
    case 14: return {kComplete, kRundownStart};
    case 15: return {kComplete, kRundownEnd};
    case 16: return {kInit, kRundownStart};
    case 17: return {kInit, kRundownEnd};
    case 33: return {kMethod, kLoad};
    case 34: return {kMethod, kUnload};
    case 35: return {kMethod, kRundownStart};
    case 36: return {kMethod, kRundownEnd};
    case 37: return {kMethod, kLoad, true};
    case 38: return {kMethod, kUnload, true};
    case 39: return {kMethod, kRundownStart, true};
    case 40: return {kMethod, kRundownEnd, true};
    default: return {};
  }
}

// The opcodes 33 to 36 are modules here, 37 to 40 assemblies.
ClrEventKind ClassicLoaderKind(uint8_t opcode) {
  switch (opcode) {
    case 33: return {kModule, kLoad};
    case 34: return {kModule, kUnload};
    case 35: return {kModule, kRundownStart};
    case 36: return {kModule, kRundownEnd};
    case 37: return {kAssembly, kLoad};
    case 38: return {kAssembly, kUnload};
    case 39: return {kAssembly, kRundownStart};
    case 40: return {kAssembly, kRundownEnd};
    case 41: return {kAppDomain, kLoad};
    case 42: return {kAppDomain, kUnload};
    case 43: return {kAppDomain, kRundownStart};
    case 44: return {kAppDomain, kRundownEnd};
    case 45: return {kDomainModule, kLoad};
    case 46: return {kDomainModule, kRundownStart};
    case 47: return {kDomainModule, kRundownEnd};
    default: return {};
  }
}

}  // namespace

void ClrEventKinds::Learn(const TraceContext& trace) {
  runtime_ = trace.providers->Intern(GuidOf(kRuntimeGuid));
  rundown_ = trace.providers->Intern(GuidOf(kRundownGuid));
  method_class_ = trace.providers->Intern(GuidOf("0bcd91db-f943-454a-a662-6edbcfbb76d2"));
  loader_class_ = trace.providers->Intern(GuidOf("5a54f4df-d302-4fee-a211-6c2c0c1dcb1a"));
  runtime_class_ = trace.providers->Intern(GuidOf("cd7d3e32-65fe-40cd-9225-a2577d203fc3"));
  learnt_ = true;
}

ClrEventKind ClrEventKinds::KindOf(const EventHeader& row, const TraceContext& trace) {
  if (!learnt_) Learn(trace);
  const bool is_runtime = row.provider == runtime_;
  if (is_runtime || row.provider == rundown_) {
    if (schema::SchemaRegistry::IsClassic(row.kind)) return {};
    const Guid& provider = trace.provider_guid(row);
    if (ids_ != schema::ClrIds::kStrict && schema::MayBeClrAlias(provider, row.id)) {
      if (const auto alias = schema::FindClrAlias({row, provider, {}, {}}, ids_)) {
        const uint16_t id = alias->key.number;
        return alias->provider->guid == GuidOf(kRuntimeGuid) ? RuntimeKind(id, row.version) : RundownKind(id);
      }
    }
    return is_runtime ? RuntimeKind(row.id, row.version) : RundownKind(row.id);
  }
  if (!schema::SchemaRegistry::IsClassic(row.kind)) return {};
  if (row.provider == method_class_) return ClassicMethodKind(row.opcode);
  if (row.provider == loader_class_) return ClassicLoaderKind(row.opcode);
  if (row.provider == runtime_class_ && row.opcode == 1) return {kRuntime, kRundownStart};
  return {};
}

}  // namespace etwpipe::facts
