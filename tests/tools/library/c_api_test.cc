// The C interface against the C++ one.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "tests/support/temp_folder.h"
#include "tests/tools/library/build_trace.h"
#include "tests/tools/library/recorder.h"
#include "tools/library/etwpipe.h"
#include "tools/library/session.h"

namespace etwpipe::session {
namespace {

// What the callbacks of a table do and see.
struct Seen {
  std::vector<std::string> log;
  std::vector<ETWPIPE_EVENT_DATA> events;  // without what they point to
  std::string fails_in;
  ETWPIPE_CALLBACK_CODE code = ETWPIPE_ANALYSIS_SUCCESS;
  bool throws = false;
  ETWPIPE_EVENT_DATA* copy = nullptr;
  uint16_t inject_on = 0xFFFF;
  ETWPIPE_RESULT injected = ETWPIPE_RESULT_UNKNOWN;

  ETWPIPE_CALLBACK_CODE Answer(const char* what) {
    log.emplace_back(what);
    if (fails_in != what) return ETWPIPE_ANALYSIS_SUCCESS;
    if (throws) throw std::runtime_error("thrown by a test");
    return code;
  }
  ETWPIPE_CALLBACK_CODE Event(const char* what, const ETWPIPE_EVENT_COLLECTION_DATA* stack) {
    const ETWPIPE_EVENT_DATA& event = stack->Elements[stack->Count - 1];
    events.push_back(event);
    if (event.EventId == ETWPIPE_EVENT_ID_FRONT_END_FILE && copy == nullptr) copy = etwpipe_event_copy(&event);
    return Answer(what);
  }
  ETWPIPE_CALLBACK_CODE Relog(const char* what, const ETWPIPE_EVENT_COLLECTION_DATA* stack, const void* session) {
    const ETWPIPE_EVENT_DATA& event = stack->Elements[stack->Count - 1];
    if (event.EventId == ETWPIPE_EVENT_ID_FRONT_END_FILE) {
      const ETWPIPE_GUID provider = {0x99999999, 0x2222, 0x3333, {0x44, 0x44, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55}};
      const ETWPIPE_EVENT_DESCRIPTOR descriptor = {7, 1, 0, 4, 0, 0, 2};
      injected = etwpipe_inject_event(session, &provider, &descriptor, 1, 2, inject_on, event.StartTimestamp, "abc", 3);
    }
    return Event(what, stack);
  }
};

Seen& Of(void* context) { return *static_cast<Seen*>(context); }

ETWPIPE_ANALYSIS_CALLBACKS AnalysisTable() {
  ETWPIPE_ANALYSIS_CALLBACKS table = {};
  table.OnStartActivity = [](const ETWPIPE_EVENT_COLLECTION_DATA* stack, void* c) {
    return Of(c).Event("Start", stack);
  };
  table.OnStopActivity = [](const ETWPIPE_EVENT_COLLECTION_DATA* stack, void* c) { return Of(c).Event("Stop", stack); };
  table.OnSimpleEvent = [](const ETWPIPE_EVENT_COLLECTION_DATA* stack, void* c) {
    return Of(c).Event("Simple", stack);
  };
  table.OnTraceInfo = [](const ETWPIPE_TRACE_INFO_DATA* info, void* c) {
    EXPECT_EQ(info->LogicalProcessorCount, 2u);
    EXPECT_EQ(info->TickFrequency, 10'000'000);
    EXPECT_EQ(info->StartTimestamp, 1000);
    EXPECT_EQ(info->StopTimestamp, 1100);
    return Of(c).Answer("TraceInfo");
  };
  table.OnBeginAnalysis = [](void* c) { return Of(c).Answer("BeginAnalysis"); };
  table.OnEndAnalysis = [](void* c) { return Of(c).Answer("EndAnalysis"); };
  table.OnBeginAnalysisPass = [](void* c) { return Of(c).Answer("BeginAnalysisPass"); };
  table.OnEndAnalysisPass = [](void* c) { return Of(c).Answer("EndAnalysisPass"); };
  return table;
}

ETWPIPE_RELOG_CALLBACKS RelogTable() {
  ETWPIPE_RELOG_CALLBACKS table = {};
  table.OnStartActivity = [](const ETWPIPE_EVENT_COLLECTION_DATA* stack, const void* session, void* c) {
    return Of(c).Relog("Start", stack, session);
  };
  table.OnStopActivity = [](const ETWPIPE_EVENT_COLLECTION_DATA* stack, const void*, void* c) {
    return Of(c).Event("Stop", stack);
  };
  table.OnSimpleEvent = [](const ETWPIPE_EVENT_COLLECTION_DATA* stack, const void*, void* c) {
    return Of(c).Event("Simple", stack);
  };
  table.OnTraceInfo = [](const ETWPIPE_TRACE_INFO_DATA*, void* c) { return Of(c).Answer("TraceInfo"); };
  table.OnBeginRelogging = [](void* c) { return Of(c).Answer("BeginRelogging"); };
  table.OnEndRelogging = [](void* c) { return Of(c).Answer("EndRelogging"); };
  table.OnBeginReloggingPass = [](void* c) { return Of(c).Answer("BeginReloggingPass"); };
  table.OnEndReloggingPass = [](void* c) { return Of(c).Answer("EndReloggingPass"); };
  return table;
}

class CApi : public testing::Test {
 protected:
  CApi() : input((folder / "in.etl").string()), output((folder / "out.etl").string()) {
    etwpipe::test::SmallBuild().Write(input);
  }
  ETWPIPE_RESULT RunAnalyze(Seen& seen, uint32_t passes = 1) {
    const ETWPIPE_ANALYSIS_DESCRIPTOR descriptor = {passes, AnalysisTable(), &seen};
    return etwpipe_analyze(input.c_str(), &descriptor);
  }
  ETWPIPE_RESULT RunRelog(Seen& analysis, Seen& relog, uint64_t retention = ETWPIPE_RETENTION_ALL) {
    const ETWPIPE_RELOG_DESCRIPTOR descriptor = {1, AnalysisTable(), RelogTable(), retention, &analysis, &relog};
    return etwpipe_relog(input.c_str(), output.c_str(), &descriptor);
  }
  etwpipe::test::TempFolder folder;
  std::string input;
  std::string output;
};

// Counts the events of the C++ interface with their numbers.
class Numbers : public IAnalyzer {
 public:
  Control OnStartActivity(const EventStack& stack) override { return Add(stack); }
  Control OnStopActivity(const EventStack& stack) override { return Add(stack); }
  Control OnSimpleEvent(const EventStack& stack) override { return Add(stack); }
  std::vector<EventData> events;

 private:
  Control Add(const EventStack& stack) {
    events.push_back(stack.back());
    return Control::kContinue;
  }
};

TEST_F(CApi, SameEventsAsInCpp) {
  Seen seen;
  ASSERT_EQ(RunAnalyze(seen, 2), ETWPIPE_RESULT_SUCCESS) << etwpipe_last_error();
  EXPECT_STREQ(etwpipe_last_error(), "");
  ETWPIPE_SESSION_COUNTS counts;
  etwpipe_last_counts(&counts);
  EXPECT_EQ(counts.Events, 10u);
  Numbers numbers;
  ASSERT_TRUE(Analyze(input, 2, numbers).ok());
  ASSERT_EQ(seen.events.size(), numbers.events.size());
  for (size_t i = 0; i < seen.events.size(); ++i) {
    // All but the three pointers at the end and `data`.
    EXPECT_EQ(std::memcmp(&seen.events[i].EventInstanceId, &numbers.events[i].event_instance_id, 72), 0) << i;
    EXPECT_EQ(seen.events[i].EventId, numbers.events[i].event_id);
    EXPECT_EQ(seen.events[i].ProcessId, numbers.events[i].process_id);
    EXPECT_EQ(seen.events[i].ThreadId, numbers.events[i].thread_id);
    EXPECT_EQ(seen.events[i].ProcessorIndex, numbers.events[i].processor_index);
    EXPECT_EQ(seen.events[i].Flags, numbers.events[i].flags);
  }
  // A copy outlives the session.
  ASSERT_NE(seen.copy, nullptr);
  EXPECT_STREQ(static_cast<const ETWPIPE_FRONT_END_FILE_DATA*>(seen.copy->Data)->Path, "a.h");
  EXPECT_STREQ(seen.copy->EventName, "FrontEndFile");
  EXPECT_EQ(seen.copy->EventWideName[12], 0);
  etwpipe_event_free(seen.copy);
  etwpipe_event_free(nullptr);
  EXPECT_EQ(etwpipe_event_copy(nullptr), nullptr);
}

TEST_F(CApi, EveryMemberMustBeSet) {
  Seen seen;
  // All members are function pointers of one size: each in turn.
  constexpr size_t kMembers = sizeof(ETWPIPE_ANALYSIS_CALLBACKS) / sizeof(void*);
  static_assert(kMembers == 8 && sizeof(ETWPIPE_RELOG_CALLBACKS) == sizeof(ETWPIPE_ANALYSIS_CALLBACKS));
  for (size_t member = 0; member < kMembers; ++member) {
    ETWPIPE_ANALYSIS_DESCRIPTOR descriptor = {1, AnalysisTable(), &seen};
    std::memset(reinterpret_cast<char*>(&descriptor.Callbacks) + member * sizeof(void*), 0, sizeof(void*));
    EXPECT_EQ(etwpipe_analyze(input.c_str(), &descriptor), ETWPIPE_RESULT_MISSING_ANALYSIS_CALLBACK);
    ETWPIPE_RELOG_DESCRIPTOR relog = {1, descriptor.Callbacks, RelogTable(), 0, &seen, &seen};
    EXPECT_EQ(etwpipe_relog(input.c_str(), output.c_str(), &relog), ETWPIPE_RESULT_MISSING_ANALYSIS_CALLBACK);
    relog.AnalysisCallbacks = AnalysisTable();
    std::memset(reinterpret_cast<char*>(&relog.RelogCallbacks) + member * sizeof(void*), 0, sizeof(void*));
    EXPECT_EQ(etwpipe_relog(input.c_str(), output.c_str(), &relog), ETWPIPE_RESULT_MISSING_RELOG_CALLBACK);
    EXPECT_STRNE(etwpipe_last_error(), "");
  }
  EXPECT_EQ(etwpipe_analyze(input.c_str(), nullptr), ETWPIPE_RESULT_MISSING_ANALYSIS_CALLBACK);
  EXPECT_EQ(etwpipe_relog(input.c_str(), output.c_str(), nullptr), ETWPIPE_RESULT_MISSING_ANALYSIS_CALLBACK);
  const ETWPIPE_ANALYSIS_DESCRIPTOR descriptor = {1, AnalysisTable(), &seen};
  EXPECT_EQ(etwpipe_analyze(nullptr, &descriptor), ETWPIPE_RESULT_INVALID_INPUT_FILE);
  EXPECT_TRUE(seen.log.empty());
}

TEST_F(CApi, CodesAndExceptionsInEveryCallback) {
  for (const char* callback : {"BeginAnalysis", "BeginAnalysisPass", "TraceInfo", "Start", "Stop", "Simple",
                               "EndAnalysisPass", "EndAnalysis"}) {
    SCOPED_TRACE(callback);
    const std::pair<int, ETWPIPE_RESULT> codes[] = {{2, ETWPIPE_RESULT_ANALYSIS_ERROR},
                                                    {4, ETWPIPE_RESULT_CANCELLED},
                                                    {0, ETWPIPE_RESULT_ANALYSIS_ERROR},
                                                    {8, ETWPIPE_RESULT_ANALYSIS_ERROR},
                                                    {257, ETWPIPE_RESULT_ANALYSIS_ERROR}};
    for (const auto& [code, expected] : codes) {
      Seen seen;
      seen.fails_in = callback;
      seen.code = static_cast<ETWPIPE_CALLBACK_CODE>(code);
      EXPECT_EQ(RunAnalyze(seen), expected) << code;
      EXPECT_EQ(seen.log.back(), callback);
      etwpipe_event_free(seen.copy);
    }
    Seen seen;
    seen.fails_in = callback;
    seen.throws = true;
    EXPECT_EQ(RunAnalyze(seen), ETWPIPE_RESULT_ANALYSIS_ERROR);
    EXPECT_NE(std::string(etwpipe_last_error()).find("thrown by a test"), std::string::npos);
    etwpipe_event_free(seen.copy);
  }
  for (const char* callback : {"BeginRelogging", "BeginReloggingPass", "TraceInfo", "Start", "Stop", "Simple",
                               "EndReloggingPass", "EndRelogging"}) {
    SCOPED_TRACE(callback);
    Seen analysis;
    Seen relog;
    relog.fails_in = callback;
    relog.throws = true;
    relog.inject_on = 0;
    EXPECT_EQ(RunRelog(analysis, relog), ETWPIPE_RESULT_ANALYSIS_ERROR);
    EXPECT_EQ(relog.log.back(), callback);
    EXPECT_FALSE(std::filesystem::exists(output));
    etwpipe_event_free(analysis.copy);
    etwpipe_event_free(relog.copy);
  }
}

TEST_F(CApi, RelogInjects) {
  Seen analysis;
  Seen relog;
  relog.inject_on = 1;
  ASSERT_EQ(RunRelog(analysis, relog), ETWPIPE_RESULT_SUCCESS) << etwpipe_last_error();
  EXPECT_EQ(relog.injected, ETWPIPE_RESULT_SUCCESS);
  ETWPIPE_SESSION_COUNTS counts;
  etwpipe_last_counts(&counts);
  EXPECT_EQ(counts.Injected, 1u);
  EXPECT_EQ(counts.Clamped, 0u);
  EXPECT_EQ(counts.Retained, 10u);
  etwpipe_event_free(analysis.copy);
  etwpipe_event_free(relog.copy);

  struct Finder : IAnalyzer {
    Control OnSimpleEvent(const EventStack& stack) override {
      const auto* record = static_cast<const RecordData*>(stack.back().data);
      if (stack.back().event_id != kOtherEvent || record->id != 7) return Control::kContinue;
      ++found;
      EXPECT_EQ(ToString(record->provider), "99999999-2222-3333-4444-555555555555");
      EXPECT_EQ(stack.back().start_timestamp, 1020);
      EXPECT_EQ(stack.back().processor_index, 1);
      EXPECT_EQ(record->payload_size, 3u);
      return Control::kContinue;
    }
    int found = 0;
  } finder;
  ASSERT_TRUE(Analyze(output, 1, finder).ok());
  EXPECT_EQ(finder.found, 1);
}

TEST_F(CApi, InjectingOnAProcessorThatIsNotThere) {
  Seen analysis;
  Seen relog;
  relog.inject_on = 2;
  EXPECT_EQ(RunRelog(analysis, relog), ETWPIPE_RESULT_ANALYSIS_ERROR);
  EXPECT_EQ(relog.injected, ETWPIPE_RESULT_ANALYSIS_ERROR);
  EXPECT_NE(std::string(etwpipe_last_error()).find("processor 2"), std::string::npos) << etwpipe_last_error();
  EXPECT_EQ(etwpipe_inject_event(nullptr, nullptr, nullptr, 0, 0, 0, 0, nullptr, 0), ETWPIPE_RESULT_ANALYSIS_ERROR);
  etwpipe_event_free(analysis.copy);
  etwpipe_event_free(relog.copy);
}

TEST_F(CApi, CopiesOfOtherEventsOwnTheirPayload) {
  struct Copier : IAnalyzer {
    Control OnSimpleEvent(const EventStack& stack) override {
      if (stack.back().event_id == kOtherEvent) {
        copy = etwpipe_event_copy(reinterpret_cast<const ETWPIPE_EVENT_DATA*>(&stack.back()));
      }
      return Control::kContinue;
    }
    ETWPIPE_EVENT_DATA* copy = nullptr;
  } copier;
  ASSERT_TRUE(Analyze(input, 1, copier).ok());
  ASSERT_NE(copier.copy, nullptr);
  const auto* record = static_cast<const ETWPIPE_RECORD_DATA*>(copier.copy->Data);
  EXPECT_EQ(record->PayloadSize, 7u);
  EXPECT_EQ(std::memcmp(record->Payload, "payload", 7), 0);
  EXPECT_EQ(record->Provider.Data1, 0x11111111u);
  EXPECT_STREQ(record->ProviderName, "11111111-2222-3333-4444-555555555555");
  etwpipe_event_free(copier.copy);
}

}  // namespace
}  // namespace etwpipe::session
