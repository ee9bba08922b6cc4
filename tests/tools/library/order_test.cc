// Order of callbacks and what control codes do, on a trace of which every callback is known.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/temp_folder.h"
#include "tests/tools/library/build_trace.h"
#include "tests/tools/library/recorder.h"
#include "tools/library/session.h"

namespace etwpipe::session {
namespace {

using test::Log;
using test::Recorder;
using test::RelogRecorder;
using test::Script;

class Order : public testing::Test {
 protected:
  Order() : input((folder / "in.etl").string()), output((folder / "out.etl").string()) {
    etwpipe::test::SmallBuild().Write(input);
  }
  etwpipe::test::TempFolder folder;
  std::string input;
  std::string output;
};

// The events of SmallBuild(); those of one time by processor.
const Log kEvents = {"Start", "Start", "Start", "Start", "Simple", "Stop", "Stop", "Simple", "Stop", "Stop"};

Log& Append(Log& log, const std::string& name, const Log& what) {
  for (const auto& line : what) log.push_back(name + "." + line);
  return log;
}

void AppendPass(Log& log, const std::string& name, const std::string& kind = "Analysis") {
  Append(log, name, {"Begin" + kind + "Pass", "TraceInfo"});
  Append(log, name, kEvents);
  Append(log, name, {"End" + kind + "Pass"});
}

TEST_F(Order, AnalyzeWithNoneOneAndTwoPasses) {
  for (unsigned passes = 0; passes <= 2; ++passes) {
    Log log;
    Recorder recorder(log);
    const SessionResult result = Analyze(input, passes, recorder);
    ASSERT_TRUE(result.ok()) << result.message;
    Log expected = {"a.BeginAnalysis"};
    for (unsigned pass = 0; pass < passes; ++pass) AppendPass(expected, "a");
    expected.push_back("a.EndAnalysis");
    EXPECT_EQ(log, expected) << passes;
    EXPECT_EQ(result.counts.events, passes == 0 ? 0 : kEvents.size());
  }
}

TEST_F(Order, StacksByName) {
  Log log;
  Recorder recorder(log);
  recorder.show_names = true;
  ASSERT_TRUE(Analyze(input, 1, recorder).ok());
  const std::string other = "Function/11111111-2222-3333-4444-555555555555/Event(42)";
  EXPECT_EQ(log, Log({"a.BeginAnalysis", "a.BeginAnalysisPass", "a.TraceInfo", "a.Start Compiler", "a.Start Function",
                      "a.Start Compiler/FrontEndPass", "a.Start Compiler/FrontEndPass/FrontEndFile",
                      "a.Simple Compiler/FrontEndPass/FrontEndFile/FileInput",
                      "a.Stop Compiler/FrontEndPass/FrontEndFile", "a.Stop Compiler/FrontEndPass", "a.Simple " + other,
                      "a.Stop Function", "a.Stop Compiler", "a.EndAnalysisPass", "a.EndAnalysis"}));
  EXPECT_EQ(recorder.info.logical_processor_count, 2u);
  EXPECT_EQ(recorder.info.tick_frequency, 10'000'000);
  EXPECT_EQ(recorder.info.start_timestamp, 1000);
  EXPECT_EQ(recorder.info.stop_timestamp, 1100);
}

TEST_F(Order, MembersOfAGroupFromLeftToRight) {
  Log log;
  Recorder a(log, "a");
  Recorder b(log, "b");
  ASSERT_TRUE(Analyze(input, 1, a, b).ok());
  ASSERT_EQ(log.size() % 2, 0u);
  for (size_t i = 0; i < log.size(); i += 2) {
    EXPECT_EQ(log[i].substr(0, 2), "a.");
    EXPECT_EQ(log[i + 1], "b." + log[i].substr(2));
  }
}

TEST_F(Order, RelogWithAnAnalyzerInBothGroups) {
  for (unsigned passes = 0; passes <= 2; ++passes) {
    Log log;
    Recorder recorder(log);
    const SessionResult result = Relog(input, output, passes, kRetainAll, {&recorder}, {&recorder});
    ASSERT_TRUE(result.ok()) << result.message;
    Log expected = {"a.BeginAnalysis", "a.BeginAnalysis"};
    for (unsigned pass = 0; pass < passes; ++pass) AppendPass(expected, "a");
    expected.push_back("a.EndAnalysis");
    AppendPass(expected, "a");
    expected.push_back("a.EndAnalysis");
    EXPECT_EQ(log, expected) << passes;
  }
}

TEST_F(Order, RelogWithBothGroups) {
  Log log;
  Recorder recorder(log);
  RelogRecorder relogger(log);
  ASSERT_TRUE(Relog(input, output, 2, kRetainAll, {&recorder}, {&relogger}).ok());
  Log expected = {"r.BeginRelogging", "a.BeginAnalysis"};
  AppendPass(expected, "a");
  AppendPass(expected, "a");
  expected.push_back("a.EndAnalysis");
  AppendPass(expected, "r", "Relogging");
  expected.push_back("r.EndRelogging");
  EXPECT_EQ(log, expected);
  EXPECT_TRUE(std::filesystem::exists(output));
}

const char* const kCallbacks[] = {"BeginAnalysis", "BeginAnalysisPass", "TraceInfo",  "Start", "Stop",
                                  "Simple",        "EndAnalysisPass",   "EndAnalysis"};

size_t CountOf(const Log& log, const std::string& line) {
  return static_cast<size_t>(std::count(log.begin(), log.end(), line));
}

TEST_F(Order, BlockKeepsACallFromLaterMembersOnly) {
  for (const std::string callback : kCallbacks) {
    Log undisturbed;
    Recorder only(undisturbed, "b");
    ASSERT_TRUE(Analyze(input, 2, only).ok());
    std::erase(undisturbed, "b." + callback);

    Log log;
    Recorder a(log, "a", {callback, Control::kBlock});
    Recorder b(log, "b");
    ASSERT_TRUE(Analyze(input, 2, a, b).ok());
    EXPECT_GT(CountOf(log, "a." + callback), 0u);
    std::erase_if(log, [](const std::string& line) { return line.starts_with("a."); });
    EXPECT_EQ(log, undisturbed) << callback;
  }
}

// What ends a session, and with which result.
const std::pair<Script, ResultCode> kEnds[] = {
    {{"", Control::kCancel}, ResultCode::kCancelled},
    {{"", Control::kFailure}, ResultCode::kAnalysisError},
    {{"", static_cast<Control>(77)}, ResultCode::kAnalysisError},
    {{"", Control::kContinue, true}, ResultCode::kAnalysisError},
    {{"", Control::kContinue, false, true}, ResultCode::kAnalysisError},
};

TEST_F(Order, EveryEndInEveryCallbackOfAnalyze) {
  for (const std::string callback : kCallbacks) {
    for (auto [script, code] : kEnds) {
      SCOPED_TRACE(callback);
      script.callback = callback;
      Log log;
      Recorder a(log, "a", script);
      Recorder b(log, "b");
      const SessionResult result = Analyze(input, 2, a, b);
      EXPECT_EQ(result.code, code);
      EXPECT_NE(result.message, "");
      if (script.throws) {
        EXPECT_NE(result.message.find("thrown by a test"), std::string::npos) << result.message;
      }
      ASSERT_FALSE(log.empty());
      EXPECT_EQ(log.back(), "a." + callback) << "nothing comes after it";
      EXPECT_EQ(CountOf(log, "a." + callback), 1u);
      EXPECT_EQ(CountOf(log, "b." + callback), 0u);
    }
  }
}

TEST_F(Order, EveryEndInEveryCallbackOfRelogLeavesNoOutput) {
  const char* const callbacks[] = {"BeginRelogging", "BeginReloggingPass", "TraceInfo",   "Start", "Stop",
                                   "Simple",         "EndReloggingPass",   "EndRelogging"};
  for (const std::string callback : callbacks) {
    for (auto [script, code] : kEnds) {
      SCOPED_TRACE(callback);
      script.callback = callback;
      Log log;
      RelogRecorder r(log, "r", script);
      RelogRecorder s(log, "s");
      const SessionResult result = Relog(input, output, 0, kRetainAll, {}, {&r, &s});
      EXPECT_EQ(result.code, code);
      EXPECT_EQ(log.back(), "r." + callback);
      EXPECT_EQ(CountOf(log, "s." + callback), 0u);
      EXPECT_FALSE(std::filesystem::exists(output));
    }
    Log log;
    RelogRecorder r(log, "r", {callback, Control::kBlock});
    RelogRecorder s(log, "s");
    ASSERT_TRUE(Relog(input, output, 0, kRetainAll, {}, {&r, &s}).ok());
    EXPECT_EQ(CountOf(log, "s." + callback), 0u);
    EXPECT_GT(CountOf(log, "r." + callback), 0u);
    EXPECT_EQ(log.back(), callback == "EndRelogging" ? "r.EndRelogging" : "s.EndRelogging");
    std::filesystem::remove(output);
  }
}

TEST_F(Order, AnEndInTheAnalysisOfRelogLeavesNoOutput) {
  for (const std::string callback : kCallbacks) {
    Log log;
    Recorder a(log, "a", {callback, Control::kCancel});
    RelogRecorder r(log, "r");
    EXPECT_EQ(Relog(input, output, 1, kRetainAll, {&a}, {&r}).code, ResultCode::kCancelled);
    EXPECT_EQ(log.front(), "r.BeginRelogging");
    EXPECT_EQ(log.back(), "a." + callback);
    EXPECT_EQ(CountOf(log, "r.BeginReloggingPass"), 0u);
    EXPECT_FALSE(std::filesystem::exists(output));
  }
}

TEST_F(Order, Results) {
  Log log;
  Recorder a(log);
  RelogRecorder r(log);
  EXPECT_EQ(Analyze("", 1, a).code, ResultCode::kInvalidInputFile);
  EXPECT_EQ(Analyze((folder / "none.etl").string(), 1, a).code, ResultCode::kOpenInputFile);
  const std::string text = (folder / "text.etl").string();
  std::ofstream(text) << "this is no trace";
  EXPECT_EQ(Analyze(text, 1, a).code, ResultCode::kInvalidInputFile);
  EXPECT_EQ(Analyze(input, 1, AnalyzerGroup{nullptr}).code, ResultCode::kMissingAnalysisCallback);
  EXPECT_EQ(Relog(input, output, 1, 0, {nullptr}, {&r}).code, ResultCode::kMissingAnalysisCallback);
  EXPECT_EQ(Relog(input, output, 1, 0, {&a}, {static_cast<IRelogger*>(nullptr)}).code,
            ResultCode::kMissingRelogCallback);
  EXPECT_EQ(Relog(input, "", 1, 0, {&a}, {&r}).code, ResultCode::kInvalidOutputFile);
  EXPECT_EQ(Relog(input, input, 1, 0, {&a}, {&r}).code, ResultCode::kInvalidOutputFile);
  EXPECT_TRUE(log.empty()) << "nobody is told of a session that does not begin";
  const SessionResult result = Relog(input, (folder / "none/out.etl").string(), 0, 0, {}, {});
  EXPECT_EQ(result.code, ResultCode::kInvalidOutputFile);
  EXPECT_NE(result.message.find("none/out.etl"), std::string::npos) << result.message;
}

}  // namespace
}  // namespace etwpipe::session
