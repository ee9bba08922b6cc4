// Calls the members of a group and remembers what ended the session.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "pipeline/session/control.h"

namespace etwpipe::session {

/// The state of a session between callbacks.
class Callbacks {
 public:
  bool stopped() const { return code_ != ResultCode::kSuccess; }
  ResultCode code() const { return code_; }
  const std::string& message() const { return message_; }

  void Fail(ResultCode code, std::string message) {
    if (stopped()) return;
    code_ = code;
    message_ = std::move(message);
  }

  /// Calls `call(member)` for each member of `group` from left to right, until one blocks or ends the session. False if
  /// the session has ended. Nothing thrown gets out. `name` is used in messages.
  template <typename Group, typename Call>
  bool Each(const char* name, Group& group, Call&& call) {
    for (auto& member : group) {
      if (stopped()) return false;
      switch (Guarded(name, [&] { return call(member); })) {
        case Control::kContinue: break;
        case Control::kBlock: return !stopped();
        case Control::kCancel: Fail(ResultCode::kCancelled, std::string(name) + " cancelled the session"); break;
        default: Fail(ResultCode::kAnalysisError, std::string(name) + " failed"); break;
      }
    }
    return !stopped();
  }

 private:
  template <typename Call>
  Control Guarded(const char* name, Call&& call) {
    try {
      return call();
    } catch (const std::exception& error) {
      Fail(ResultCode::kAnalysisError, std::string(name) + " threw: " + error.what());
    } catch (...) {
      Fail(ResultCode::kAnalysisError, std::string(name) + " threw");
    }
    return Control::kFailure;
  }

  ResultCode code_ = ResultCode::kSuccess;
  std::string message_;
};

}  // namespace etwpipe::session
