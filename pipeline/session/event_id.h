// The events of C++ builds by number (semantics.md 4.1).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace etwpipe::session {

/// EVENT_ID of the C++ Build Insights SDK. The number of its translation unit type events is not public.
enum class EventId : uint16_t {
  kBackEndPass = 1,
  kBottomUp = 2,
  kC1Dll = 3,
  kC2Dll = 4,
  kCodeGeneration = 5,
  kCommandLine = 6,
  kCompiler = 7,
  kEnvironmentVariable = 8,
  kExecutableImageOutput = 9,
  kExpOutput = 10,
  kFileInput = 11,
  kForceInlinee = 12,
  kFrontEndFile = 13,
  kFrontEndPass = 14,
  kFunction = 15,
  kImpLibOutput = 16,
  kLibOutput = 17,
  kLinker = 18,
  kLtcg = 19,
  kObjOutput = 20,
  kOptIcf = 21,
  kOptLbr = 22,
  kOptRef = 23,
  kPass1 = 24,
  kPass2 = 25,
  kPreLtcgOptRef = 26,
  kSymbolName = 27,
  kTemplateInstantiation = 28,
  kThread = 29,
  kTopDown = 30,
  kWholeProgramAnalysis = 31,
};

struct EventKindInfo {
  EventId id;
  std::string_view name;          ///< EventData::event_name
  std::u16string_view wide_name;  ///< EventData::event_wide_name; both end with a NUL
  bool activity;
};

/// Every EVENT_ID, by number from 1.
inline constexpr std::array<EventKindInfo, 31> kEventKinds = {{
    {EventId::kBackEndPass, "BackEndPass", u"BackEndPass", true},
    {EventId::kBottomUp, "BottomUp", u"BottomUp", true},
    {EventId::kC1Dll, "C1DLL", u"C1DLL", true},
    {EventId::kC2Dll, "C2DLL", u"C2DLL", true},
    {EventId::kCodeGeneration, "CodeGeneration", u"CodeGeneration", true},
    {EventId::kCommandLine, "CommandLine", u"CommandLine", false},
    {EventId::kCompiler, "Compiler", u"Compiler", true},
    {EventId::kEnvironmentVariable, "EnvironmentVariable", u"EnvironmentVariable", false},
    {EventId::kExecutableImageOutput, "ExecutableImageOutput", u"ExecutableImageOutput", false},
    {EventId::kExpOutput, "ExpOutput", u"ExpOutput", false},
    {EventId::kFileInput, "FileInput", u"FileInput", false},
    {EventId::kForceInlinee, "ForceInlinee", u"ForceInlinee", false},
    {EventId::kFrontEndFile, "FrontEndFile", u"FrontEndFile", true},
    {EventId::kFrontEndPass, "FrontEndPass", u"FrontEndPass", true},
    {EventId::kFunction, "Function", u"Function", true},
    {EventId::kImpLibOutput, "ImpLibOutput", u"ImpLibOutput", false},
    {EventId::kLibOutput, "LibOutput", u"LibOutput", false},
    {EventId::kLinker, "Linker", u"Linker", true},
    {EventId::kLtcg, "LTCG", u"LTCG", true},
    {EventId::kObjOutput, "ObjOutput", u"ObjOutput", false},
    {EventId::kOptIcf, "OptICF", u"OptICF", true},
    {EventId::kOptLbr, "OptLBR", u"OptLBR", true},
    {EventId::kOptRef, "OptRef", u"OptRef", true},
    {EventId::kPass1, "Pass1", u"Pass1", true},
    {EventId::kPass2, "Pass2", u"Pass2", true},
    {EventId::kPreLtcgOptRef, "PreLTCGOptRef", u"PreLTCGOptRef", true},
    {EventId::kSymbolName, "SymbolName", u"SymbolName", false},
    {EventId::kTemplateInstantiation, "TemplateInstantiation", u"TemplateInstantiation", true},
    {EventId::kThread, "Thread", u"Thread", true},
    {EventId::kTopDown, "TopDown", u"TopDown", true},
    {EventId::kWholeProgramAnalysis, "WholeProgramAnalysis", u"WholeProgramAnalysis", true},
}};

/// The event of that number, or null.
constexpr const EventKindInfo* FindEventKind(uint64_t id) {
  return id >= 1 && id <= kEventKinds.size() ? &kEventKinds[id - 1] : nullptr;
}

}  // namespace etwpipe::session
