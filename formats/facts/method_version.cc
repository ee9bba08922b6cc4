#include "formats/facts/method_version.h"

#include <algorithm>

namespace etwpipe::facts {

std::string_view ToString(MethodSource source) {
  switch (source) {
    case MethodSource::kLoad: return "load";
    case MethodSource::kUnload: return "unload";
    case MethodSource::kRundownStart: return "rundown-start";
    case MethodSource::kRundownEnd: return "rundown-end";
    case MethodSource::kJitting: return "jitting";
    case MethodSource::kEntryPoint: return "entry-point";
    case MethodSource::kStub: return "stub";
  }
  return "";
}

std::string_view MethodVersion::tier() const {
  switch (tier_number) {
    case MethodTier::kUnknown: return "";
    case MethodTier::kMinOptJitted: return "MinOptJitted";
    case MethodTier::kOptimized: return "Optimized";
    case MethodTier::kQuickJitted: return "QuickJitted";
    case MethodTier::kOptimizedTier1: return "OptimizedTier1";
    case MethodTier::kOptimizedTier1OSR: return "OptimizedTier1OSR";
    case MethodTier::kQuickJittedInstrumented: return "QuickJittedInstrumented";
    case MethodTier::kOptimizedTier1Instrumented: return "OptimizedTier1Instrumented";
    case MethodTier::kReadyToRun: return "ReadyToRun";
    case MethodTier::kPreJIT: return "PreJIT";
  }
  return "";
}

std::string FullName(const MethodVersion& method) {
  if (!method.named()) return {};
  std::string full(method.namespace_name());
  if (!full.empty()) full += '.';
  full += method.name();
  const std::string_view signature = method.signature();
  full += signature.substr(std::min(signature.find('('), signature.size()));
  return full;
}

}  // namespace etwpipe::facts
