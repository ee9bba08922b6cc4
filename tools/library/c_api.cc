// The C interface: callback tables as analyzers and reloggers. The structs of etwpipe.h have the layout of those of
// pipeline/session/, so that pointers to them go across as they are.
#include <cstdlib>
#include <exception>
#include <string>

#include "tools/library/etwpipe.h"
#include "tools/library/event_copy.h"
#include "tools/library/session.h"

namespace {

namespace session = etwpipe::session;

#define ETWPIPE_SAME_SIZE(c_type, type) static_assert(sizeof(c_type) == sizeof(type))
#define ETWPIPE_SAME_PLACE(c_type, c_member, type, member)              \
  static_assert(offsetof(c_type, c_member) == offsetof(type, member) && \
                sizeof(c_type::c_member) == sizeof(type::member))

ETWPIPE_SAME_SIZE(ETWPIPE_EVENT_DATA, session::EventData);
ETWPIPE_SAME_PLACE(ETWPIPE_EVENT_DATA, Flags, session::EventData, flags);
ETWPIPE_SAME_PLACE(ETWPIPE_EVENT_DATA, ExclusiveDurationTicks, session::EventData, exclusive_duration_ticks);
ETWPIPE_SAME_PLACE(ETWPIPE_EVENT_DATA, CPUTicks, session::EventData, cpu_ticks);
ETWPIPE_SAME_PLACE(ETWPIPE_EVENT_DATA, ExclusiveCPUTicks, session::EventData, exclusive_cpu_ticks);
ETWPIPE_SAME_PLACE(ETWPIPE_EVENT_DATA, Data, session::EventData, data);
ETWPIPE_SAME_PLACE(ETWPIPE_EVENT_DATA, EventName, session::EventData, event_name);
ETWPIPE_SAME_SIZE(ETWPIPE_INVOCATION_DATA, session::InvocationData);
ETWPIPE_SAME_PLACE(ETWPIPE_INVOCATION_DATA, ToolVersion, session::InvocationData, tool_version);
ETWPIPE_SAME_PLACE(ETWPIPE_INVOCATION_DATA, ToolVersionString, session::InvocationData, tool_version_string);
ETWPIPE_SAME_PLACE(ETWPIPE_INVOCATION_DATA, WorkingDirectory, session::InvocationData, working_directory);
ETWPIPE_SAME_PLACE(ETWPIPE_INVOCATION_DATA, ToolPath, session::InvocationData, tool_path);
ETWPIPE_SAME_PLACE(ETWPIPE_INVOCATION_DATA, InvocationId, session::InvocationData, invocation_id);
ETWPIPE_SAME_SIZE(ETWPIPE_CL_PASS_DATA, session::ClPassData);
ETWPIPE_SAME_PLACE(ETWPIPE_CL_PASS_DATA, InputSourcePath, session::ClPassData, input_source_path);
ETWPIPE_SAME_PLACE(ETWPIPE_CL_PASS_DATA, OutputObjectPath, session::ClPassData, output_object_path);
ETWPIPE_SAME_SIZE(ETWPIPE_FILE_DATA, session::FileData);
ETWPIPE_SAME_PLACE(ETWPIPE_FILE_DATA, TypeCode, session::FileData, type_code);
ETWPIPE_SAME_SIZE(ETWPIPE_FRONT_END_FILE_DATA, session::FrontEndFileData);
ETWPIPE_SAME_SIZE(ETWPIPE_FUNCTION_DATA, session::FunctionData);
ETWPIPE_SAME_SIZE(ETWPIPE_FUNCTION_FORCE_INLINEE_DATA, session::ForceInlineeData);
ETWPIPE_SAME_PLACE(ETWPIPE_FUNCTION_FORCE_INLINEE_DATA, Size, session::ForceInlineeData, size);
ETWPIPE_SAME_SIZE(ETWPIPE_NAME_VALUE_PAIR_DATA, session::NameValuePairData);
ETWPIPE_SAME_PLACE(ETWPIPE_NAME_VALUE_PAIR_DATA, Value, session::NameValuePairData, value);
ETWPIPE_SAME_SIZE(ETWPIPE_SYMBOL_NAME_DATA, session::SymbolNameData);
ETWPIPE_SAME_PLACE(ETWPIPE_SYMBOL_NAME_DATA, Name, session::SymbolNameData, name);
ETWPIPE_SAME_SIZE(ETWPIPE_TEMPLATE_INSTANTIATION_DATA, session::TemplateInstantiationData);
ETWPIPE_SAME_PLACE(ETWPIPE_TEMPLATE_INSTANTIATION_DATA, KindCode, session::TemplateInstantiationData, kind_code);
ETWPIPE_SAME_SIZE(ETWPIPE_RECORD_DATA, session::RecordData);
ETWPIPE_SAME_PLACE(ETWPIPE_RECORD_DATA, Keyword, session::RecordData, keyword);
ETWPIPE_SAME_PLACE(ETWPIPE_RECORD_DATA, ProviderName, session::RecordData, provider_name);
ETWPIPE_SAME_PLACE(ETWPIPE_RECORD_DATA, Payload, session::RecordData, payload);
ETWPIPE_SAME_PLACE(ETWPIPE_RECORD_DATA, RecordSize, session::RecordData, record_size);
ETWPIPE_SAME_PLACE(ETWPIPE_RECORD_DATA, Id, session::RecordData, id);
ETWPIPE_SAME_PLACE(ETWPIPE_RECORD_DATA, PointerSize, session::RecordData, pointer_size);
ETWPIPE_SAME_SIZE(ETWPIPE_GUID, etwpipe::Guid);
static_assert(ETWPIPE_EVENT_ACTIVITY == session::kIsActivity);
static_assert(ETWPIPE_RETENTION_CLR == session::kRetainClr && ETWPIPE_RETENTION_ALL == session::kRetainAll);

session::Control ControlOf(ETWPIPE_CALLBACK_CODE code) {
  switch (static_cast<int>(code)) {
    case ETWPIPE_ANALYSIS_SUCCESS: return session::Control::kContinue;
    case ETWPIPE_ANALYSIS_CANCEL: return session::Control::kCancel;
    default: return session::Control::kFailure;
  }
}

ETWPIPE_EVENT_COLLECTION_DATA CollectionOf(const session::EventStack& stack) {
  return {static_cast<uint32_t>(stack.size()), reinterpret_cast<const ETWPIPE_EVENT_DATA*>(stack.events().data())};
}

ETWPIPE_TRACE_INFO_DATA InfoOf(const session::TraceInfoData& info) {
  return {info.logical_processor_count, info.tick_frequency, info.start_timestamp, info.stop_timestamp};
}

class TableAnalyzer final : public session::IAnalyzer {
 public:
  TableAnalyzer(const ETWPIPE_ANALYSIS_CALLBACKS& table, void* context) : table_(table), context_(context) {}

  session::Control OnBeginAnalysis() override { return ControlOf(table_.OnBeginAnalysis(context_)); }
  session::Control OnEndAnalysis() override { return ControlOf(table_.OnEndAnalysis(context_)); }
  session::Control OnBeginAnalysisPass() override { return ControlOf(table_.OnBeginAnalysisPass(context_)); }
  session::Control OnEndAnalysisPass() override { return ControlOf(table_.OnEndAnalysisPass(context_)); }
  session::Control OnTraceInfo(const session::TraceInfoData& info) override {
    const ETWPIPE_TRACE_INFO_DATA data = InfoOf(info);
    return ControlOf(table_.OnTraceInfo(&data, context_));
  }
  session::Control OnStartActivity(const session::EventStack& stack) override {
    const ETWPIPE_EVENT_COLLECTION_DATA events = CollectionOf(stack);
    return ControlOf(table_.OnStartActivity(&events, context_));
  }
  session::Control OnStopActivity(const session::EventStack& stack) override {
    const ETWPIPE_EVENT_COLLECTION_DATA events = CollectionOf(stack);
    return ControlOf(table_.OnStopActivity(&events, context_));
  }
  session::Control OnSimpleEvent(const session::EventStack& stack) override {
    const ETWPIPE_EVENT_COLLECTION_DATA events = CollectionOf(stack);
    return ControlOf(table_.OnSimpleEvent(&events, context_));
  }

 private:
  const ETWPIPE_ANALYSIS_CALLBACKS& table_;
  void* context_;
};

// What `session` of a relogging callback points to. Constant in the signature of the SDK, so one level more.
struct SessionHandle {
  session::IRelogSession* session;
};

class TableRelogger final : public session::IRelogger {
 public:
  TableRelogger(const ETWPIPE_RELOG_CALLBACKS& table, void* context) : table_(table), context_(context) {}

  session::Control OnBeginRelogging() override { return ControlOf(table_.OnBeginRelogging(context_)); }
  session::Control OnEndRelogging() override { return ControlOf(table_.OnEndRelogging(context_)); }
  session::Control OnBeginReloggingPass() override { return ControlOf(table_.OnBeginReloggingPass(context_)); }
  session::Control OnEndReloggingPass() override { return ControlOf(table_.OnEndReloggingPass(context_)); }
  session::Control OnTraceInfo(const session::TraceInfoData& info) override {
    const ETWPIPE_TRACE_INFO_DATA data = InfoOf(info);
    return ControlOf(table_.OnTraceInfo(&data, context_));
  }
  session::Control OnStartActivity(const session::EventStack& stack, session::IRelogSession& relog) override {
    return Call(table_.OnStartActivity, stack, relog);
  }
  session::Control OnStopActivity(const session::EventStack& stack, session::IRelogSession& relog) override {
    return Call(table_.OnStopActivity, stack, relog);
  }
  session::Control OnSimpleEvent(const session::EventStack& stack, session::IRelogSession& relog) override {
    return Call(table_.OnSimpleEvent, stack, relog);
  }

 private:
  session::Control Call(ETWPIPE_RELOG_EVENT callback, const session::EventStack& stack,
                        session::IRelogSession& relog) const {
    const ETWPIPE_EVENT_COLLECTION_DATA events = CollectionOf(stack);
    const SessionHandle handle{&relog};
    return ControlOf(callback(&events, &handle, context_));
  }

  const ETWPIPE_RELOG_CALLBACKS& table_;
  void* context_;
};

bool Complete(const ETWPIPE_ANALYSIS_CALLBACKS& table) {
  return table.OnStartActivity && table.OnStopActivity && table.OnSimpleEvent && table.OnTraceInfo &&
         table.OnBeginAnalysis && table.OnEndAnalysis && table.OnBeginAnalysisPass && table.OnEndAnalysisPass;
}

bool Complete(const ETWPIPE_RELOG_CALLBACKS& table) {
  return table.OnStartActivity && table.OnStopActivity && table.OnSimpleEvent && table.OnTraceInfo &&
         table.OnBeginRelogging && table.OnEndRelogging && table.OnBeginReloggingPass && table.OnEndReloggingPass;
}

session::SessionResult& LastResult() {
  thread_local session::SessionResult last;
  return last;
}

session::SessionResult Missing(session::ResultCode code, const char* what) {
  return {code, std::string("a callback is missing: every member of ") + what + " must be set", {}};
}

session::SessionResult RunAnalyze(const char* input, const ETWPIPE_ANALYSIS_DESCRIPTOR* descriptor) {
  if (descriptor == nullptr || !Complete(descriptor->Callbacks)) {
    return Missing(session::ResultCode::kMissingAnalysisCallback, "ETWPIPE_ANALYSIS_CALLBACKS");
  }
  TableAnalyzer analyzer(descriptor->Callbacks, descriptor->Context);
  return session::Analyze(input == nullptr ? "" : input, descriptor->NumberOfPasses, session::AnalyzerGroup{&analyzer});
}

session::SessionResult RunRelog(const char* input, const char* output, const ETWPIPE_RELOG_DESCRIPTOR* descriptor) {
  if (descriptor == nullptr || !Complete(descriptor->AnalysisCallbacks)) {
    return Missing(session::ResultCode::kMissingAnalysisCallback, "ETWPIPE_ANALYSIS_CALLBACKS");
  }
  if (!Complete(descriptor->RelogCallbacks)) {
    return Missing(session::ResultCode::kMissingRelogCallback, "ETWPIPE_RELOG_CALLBACKS");
  }
  TableAnalyzer analyzer(descriptor->AnalysisCallbacks, descriptor->AnalysisContext);
  TableRelogger relogger(descriptor->RelogCallbacks, descriptor->RelogContext);
  return session::Relog(input == nullptr ? "" : input, output == nullptr ? "" : output,
                        descriptor->NumberOfAnalysisPasses, descriptor->SystemEventsRetentionFlags, {&analyzer},
                        {&relogger});
}

// Whatever is thrown ends here.
template <typename Run>
ETWPIPE_RESULT Finish(Run&& run) noexcept {
  try {
    session::SessionResult result = run();
    LastResult() = std::move(result);
    return static_cast<ETWPIPE_RESULT>(LastResult().code);
  } catch (...) {
    LastResult() = {};
    LastResult().code = session::ResultCode::kUnknown;
    return ETWPIPE_RESULT_UNKNOWN;
  }
}

}  // namespace

extern "C" {

ETWPIPE_RESULT etwpipe_analyze(const char* input, const ETWPIPE_ANALYSIS_DESCRIPTOR* descriptor) {
  return Finish([&] { return RunAnalyze(input, descriptor); });
}

ETWPIPE_RESULT etwpipe_relog(const char* input, const char* output, const ETWPIPE_RELOG_DESCRIPTOR* descriptor) {
  return Finish([&] { return RunRelog(input, output, descriptor); });
}

ETWPIPE_RESULT etwpipe_inject_event(const void* relog_session, const ETWPIPE_GUID* provider,
                                    const ETWPIPE_EVENT_DESCRIPTOR* descriptor, uint32_t process_id, uint32_t thread_id,
                                    uint16_t processor_index, int64_t timestamp, const void* data,
                                    uint32_t byte_count) {
  if (relog_session == nullptr || provider == nullptr || descriptor == nullptr ||
      (data == nullptr && byte_count != 0)) {
    return ETWPIPE_RESULT_ANALYSIS_ERROR;
  }
  try {
    session::InjectArgs args;
    static_assert(sizeof args.provider == sizeof *provider);
    const auto guid = std::as_bytes(std::span(provider, 1));
    std::copy(guid.begin(), guid.end(), args.provider.bytes.begin());
    args.descriptor = {descriptor->Id,     descriptor->Version, descriptor->Channel, descriptor->Level,
                       descriptor->Opcode, descriptor->Task,    descriptor->Keyword};
    args.process_id = process_id;
    args.thread_id = thread_id;
    args.processor_index = processor_index;
    args.timestamp = timestamp;
    args.data = {static_cast<const std::byte*>(data), byte_count};
    const bool injected = static_cast<const SessionHandle*>(relog_session)->session->InjectEvent(args);
    return injected ? ETWPIPE_RESULT_SUCCESS : ETWPIPE_RESULT_ANALYSIS_ERROR;
  } catch (...) {
    return ETWPIPE_RESULT_UNKNOWN;
  }
}

ETWPIPE_EVENT_DATA* etwpipe_event_copy(const ETWPIPE_EVENT_DATA* event) {
  if (event == nullptr) return nullptr;
  return reinterpret_cast<ETWPIPE_EVENT_DATA*>(session::CopyEvent(*reinterpret_cast<const session::EventData*>(event)));
}

void etwpipe_event_free(ETWPIPE_EVENT_DATA* event) { std::free(event); }

void etwpipe_last_counts(ETWPIPE_SESSION_COUNTS* counts) {
  if (counts == nullptr) return;
  const session::SessionCounts& last = LastResult().counts;
  *counts = {last.events, last.injected, last.clamped, last.retained, last.events_lost, last.buffers_lost, last.damage};
}

const char* etwpipe_last_error(void) { return LastResult().message.c_str(); }

int64_t etwpipe_ticks_to_nanoseconds(int64_t ticks, int64_t frequency) {
  return session::TicksToNanoseconds(ticks, frequency);
}

}  // extern "C"
