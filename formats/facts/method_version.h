// One piece of code of a method, from when to when it stood at its address.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "formats/facts/method_record.h"

namespace etwpipe::facts {

/// Bits of MethodFlags (semantics.md 6.2).
enum MethodFlag : uint32_t {
  kMethodDynamic = 0x1,
  kMethodGeneric = 0x2,
  kMethodSharedGenericCode = 0x4,
  kMethodJitted = 0x8,
  kMethodJitHelper = 0x10,
};

/// The first 8 are the bits 7 to 9 of MethodFlags; the others are what code that was not jitted is.
enum class MethodTier : uint8_t {
  kUnknown,
  kMinOptJitted,
  kOptimized,
  kQuickJitted,
  kOptimizedTier1,
  kOptimizedTier1OSR,
  kQuickJittedInstrumented,
  kOptimizedTier1Instrumented,
  kReadyToRun,
  kPreJIT,
};

/// Which record told first of a version.
enum class MethodSource : uint8_t { kLoad, kUnload, kRundownStart, kRundownEnd, kJitting, kEntryPoint, kStub };
std::string_view ToString(
    MethodSource source);  ///< load, unload, rundown-start, rundown-end, jitting, entry-point, stub

/// One code version: tiers, ReJIT versions and hot and cold parts of a method are versions of their own (semantics.md
/// 7.2, rules 7 and 8). Texts are views into the MethodTable it belongs to.
struct MethodVersion {
  int64_t from = 0;                      ///< raw ticks; the least int64 if it began before the trace
  int64_t to = 0;                        ///< inclusive; the greatest int64 if nobody ended it
  std::optional<uint16_t> clr_instance;  ///< none: any runtime of the process
  MethodSource learnt = MethodSource::kLoad;
  MethodTier tier_number = MethodTier::kUnknown;
  bool alive_at_end = false;  ///< a rundown at the end of the session speaks of it
  uint64_t method_id = 0;
  uint64_t module_id = 0;
  uint64_t start_address = 0;  ///< 0 if no record gives one
  uint64_t rejit_id = 0;
  uint32_t pid = 0;
  uint32_t size = 0;  ///< bytes; 0 if no record gives one
  uint32_t token = 0;
  uint32_t flags = 0;  ///< MethodFlag and more
  uint32_t loads = 0;  ///< how many load records speak of it
  MethodNames names;
  StringId interop_id = 0;
  StringId module_name_id = 0;
  const StringPool* strings = nullptr;

  std::string_view namespace_name() const { return strings->Get(names.type); }
  std::string_view name() const { return strings->Get(names.name); }
  std::string_view signature() const { return strings->Get(names.signature); }
  /// File name of the module's IL image without path and .dll or .exe: mscorlib. Empty if unknown.
  std::string_view module() const { return strings->Get(module_name_id); }
  /// For IL stubs: Namespace.Name of the managed method it is for; else empty.
  std::string_view interop() const { return strings->Get(interop_id); }
  /// QuickJitted, OptimizedTier1, ReadyToRun, PreJIT ...; empty where nobody says.
  std::string_view tier() const;
  /// "hot" or "cold": bits 28 to 31 of MethodFlags.
  std::string_view extent() const { return cold() ? "cold" : "hot"; }
  bool cold() const { return flags >> 28 == 1; }
  bool named() const { return names.name != 0; }
};

/// Namespace.Name(args): type, method name and the signature from its first parenthesis (semantics.md 6.2). Empty for a
/// version without a name.
std::string FullName(const MethodVersion& method);

}  // namespace etwpipe::facts
