// One class per EVENT_ID: what typed callbacks take (match.h). Their payload is that of payloads.h.
#pragma once

#include <type_traits>

#include "pipeline/session/event.h"
#include "pipeline/session/event_id.h"
#include "pipeline/session/payloads.h"

namespace etwpipe::session {

/// An event of one or several numbers. Base is Activity or SimpleEvent; Payload is void where there is none.
template <typename Base, typename Payload, EventId... ids>
class BuildEvent : public Base {
 public:
  explicit BuildEvent(const EventData& data) : Base(data) {}
  static bool Matches(const EventData& data) {
    return ((data.event_id == static_cast<uint16_t>(ids)) || ...) && Base::Matches(data);
  }
  /// Never null for an event that matches, unless Payload is void.
  const Payload* payload() const { return static_cast<const Payload*>(this->data_->data); }
};

template <EventId id>
using PlainActivity = BuildEvent<Activity, void, id>;
template <EventId... ids>
using FileEvent = BuildEvent<SimpleEvent, FileData, ids...>;

using BackEndPass = BuildEvent<Activity, ClPassData, EventId::kBackEndPass>;
using BottomUp = PlainActivity<EventId::kBottomUp>;
using C1Dll = PlainActivity<EventId::kC1Dll>;
using C2Dll = PlainActivity<EventId::kC2Dll>;
using CodeGeneration = PlainActivity<EventId::kCodeGeneration>;
using CommandLine = BuildEvent<SimpleEvent, uint16_t, EventId::kCommandLine>;
using Compiler = BuildEvent<Activity, InvocationData, EventId::kCompiler>;
using EnvironmentVariable = BuildEvent<SimpleEvent, NameValuePairData, EventId::kEnvironmentVariable>;
using ExecutableImageOutput = FileEvent<EventId::kExecutableImageOutput>;
using ExpOutput = FileEvent<EventId::kExpOutput>;
using FileInput = FileEvent<EventId::kFileInput>;
using ForceInlinee = BuildEvent<SimpleEvent, ForceInlineeData, EventId::kForceInlinee>;
using FrontEndFile = BuildEvent<Activity, FrontEndFileData, EventId::kFrontEndFile>;
using FrontEndPass = BuildEvent<Activity, ClPassData, EventId::kFrontEndPass>;
using Function = BuildEvent<Activity, FunctionData, EventId::kFunction>;
using ImpLibOutput = FileEvent<EventId::kImpLibOutput>;
using LibOutput = FileEvent<EventId::kLibOutput>;
using Linker = BuildEvent<Activity, InvocationData, EventId::kLinker>;
using Ltcg = PlainActivity<EventId::kLtcg>;
using ObjOutput = FileEvent<EventId::kObjOutput>;
using OptIcf = PlainActivity<EventId::kOptIcf>;
using OptLbr = PlainActivity<EventId::kOptLbr>;
using OptRef = PlainActivity<EventId::kOptRef>;
using Pass1 = PlainActivity<EventId::kPass1>;
using Pass2 = PlainActivity<EventId::kPass2>;
using PreLtcgOptRef = PlainActivity<EventId::kPreLtcgOptRef>;
using SymbolName = BuildEvent<SimpleEvent, SymbolNameData, EventId::kSymbolName>;
using TemplateInstantiation = BuildEvent<Activity, TemplateInstantiationData, EventId::kTemplateInstantiation>;
using Thread = PlainActivity<EventId::kThread>;
using TopDown = PlainActivity<EventId::kTopDown>;
using WholeProgramAnalysis = PlainActivity<EventId::kWholeProgramAnalysis>;

using Invocation = BuildEvent<Activity, InvocationData, EventId::kCompiler, EventId::kLinker>;
using CompilerPass = BuildEvent<Activity, ClPassData, EventId::kFrontEndPass, EventId::kBackEndPass>;
using FileOutput = FileEvent<EventId::kExecutableImageOutput, EventId::kExpOutput, EventId::kImpLibOutput,
                             EventId::kLibOutput, EventId::kObjOutput>;

/// Any event that is none of a build: its payload is its record.
class OtherEvent : public RawEvent {
 public:
  explicit OtherEvent(const EventData& data) : RawEvent(data) {}
  static bool Matches(const EventData& data) { return data.event_id == kOtherEvent; }
  const RecordData* payload() const { return static_cast<const RecordData*>(data_->data); }
};

/// A run of entries of one type side by side in a stack, outermost first; never empty.
template <typename T>
class EventGroup {
 public:
  using Member = T;
  explicit EventGroup(std::span<const EventData> events) : events_(events) {}
  size_t size() const { return events_.size(); }
  T operator[](size_t index) const { return T(events_[index]); }
  T front() const { return T(events_.front()); }
  T back() const { return T(events_.back()); }

 private:
  std::span<const EventData> events_;
};

using FrontEndFileGroup = EventGroup<FrontEndFile>;
using TemplateInstantiationGroup = EventGroup<TemplateInstantiation>;
using InvocationGroup = EventGroup<Invocation>;
using LinkerGroup = EventGroup<Linker>;

}  // namespace etwpipe::session
