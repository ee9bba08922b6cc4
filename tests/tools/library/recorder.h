// Analyzers and reloggers that write down what they are told, and answer as a test wants.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "pipeline/session/analyzer.h"

namespace etwpipe::session::test {

/// What several recorders were told, in order: "name.callback".
using Log = std::vector<std::string>;

/// What to answer where.
struct Script {
  std::string callback;  ///< the last part of a line of the log
  Control answer = Control::kContinue;
  bool throws = false;
  bool throws_number = false;  ///< something that is no std::exception
};

class Recorder : public IAnalyzer {
 public:
  explicit Recorder(Log& log, std::string name = "a", Script script = {})
      : log_(log), name_(std::move(name)), script_(std::move(script)) {}

  Control OnBeginAnalysis() override { return Told("BeginAnalysis"); }
  Control OnEndAnalysis() override { return Told("EndAnalysis"); }
  Control OnBeginAnalysisPass() override { return Told("BeginAnalysisPass"); }
  Control OnEndAnalysisPass() override { return Told("EndAnalysisPass"); }
  Control OnTraceInfo(const TraceInfoData& told) override {
    info = told;
    return Told("TraceInfo");
  }
  Control OnStartActivity(const EventStack& stack) override { return ToldEvent("Start", stack); }
  Control OnStopActivity(const EventStack& stack) override { return ToldEvent("Stop", stack); }
  Control OnSimpleEvent(const EventStack& stack) override { return ToldEvent("Simple", stack); }

  TraceInfoData info;
  bool show_names = false;  ///< the log gets the names of the whole stack

 protected:
  Control Told(const std::string& what, const std::string& detail = {}) {
    log_.push_back(name_ + "." + what + detail);
    if (what != script_.callback) return Control::kContinue;
    if (script_.throws_number) throw 7;
    if (script_.throws) throw std::runtime_error("thrown by a test");
    return script_.answer;
  }
  Control ToldEvent(const std::string& what, const EventStack& stack) {
    std::string detail;
    if (show_names) {
      for (const EventData& event : stack) detail += (detail.empty() ? " " : "/") + std::string(event.event_name);
    }
    return Told(what, detail);
  }

 private:
  Log& log_;
  std::string name_;
  Script script_;
};

class RelogRecorder : public IRelogger {
 public:
  explicit RelogRecorder(Log& log, std::string name = "r", Script script = {})
      : log_(log), name_(std::move(name)), script_(std::move(script)) {}

  Control OnBeginRelogging() override { return Told("BeginRelogging"); }
  Control OnEndRelogging() override { return Told("EndRelogging"); }
  Control OnBeginReloggingPass() override { return Told("BeginReloggingPass"); }
  Control OnEndReloggingPass() override { return Told("EndReloggingPass"); }
  Control OnTraceInfo(const TraceInfoData&) override { return Told("TraceInfo"); }
  Control OnStartActivity(const EventStack&, IRelogSession&) override { return Told("Start"); }
  Control OnStopActivity(const EventStack&, IRelogSession&) override { return Told("Stop"); }
  Control OnSimpleEvent(const EventStack&, IRelogSession&) override { return Told("Simple"); }

 private:
  Control Told(const std::string& what) {
    log_.push_back(name_ + "." + what);
    if (what != script_.callback) return Control::kContinue;
    if (script_.throws_number) throw 7;
    if (script_.throws) throw std::runtime_error("thrown by a test");
    return script_.answer;
  }

  Log& log_;
  std::string name_;
  Script script_;
};

}  // namespace etwpipe::session::test
