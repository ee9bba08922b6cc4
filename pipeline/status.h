// What ends a run: a code that decides the exit status, and a message for a person.
//
// Bad data does not end a run; it becomes a counted Diagnostic (pipeline/diagnostics.h).
#pragma once

#include <cassert>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace etwpipe {

/// Why a run ended. The values are the process exit codes of design.md section 8 and are never renumbered;
/// kCancelled stands for 130 or 143, chosen by the signal.
enum class StatusCode {
  kOk = 0,
  kInternal = 1,         ///< a defect of this program
  kInvalidArgument = 2,  ///< command line, config or expression
  kAnswerNo = 3,         ///< the run worked and the answer is no: traces differ, verify found an error
  kInput = 4,            ///< input unreadable or not a trace
  kOutput = 5,           ///< output could not be written
  kCancelled = 130,      ///< interrupted
};

/// Success, or a code with a message that names the thing, the place and the remedy.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : rep_(std::make_unique<Rep>(Rep{code, std::move(message)})) {
    assert(code != StatusCode::kOk);
  }
  Status(const Status& other) : rep_(other.rep_ ? std::make_unique<Rep>(*other.rep_) : nullptr) {}
  Status& operator=(const Status& other) {
    rep_ = other.rep_ ? std::make_unique<Rep>(*other.rep_) : nullptr;
    return *this;
  }
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;

  static Status Internal(std::string message) { return {StatusCode::kInternal, std::move(message)}; }
  static Status InvalidArgument(std::string message) { return {StatusCode::kInvalidArgument, std::move(message)}; }
  static Status Input(std::string message) { return {StatusCode::kInput, std::move(message)}; }
  static Status Output(std::string message) { return {StatusCode::kOutput, std::move(message)}; }
  static Status Cancelled() { return {StatusCode::kCancelled, "cancelled"}; }

  bool ok() const { return rep_ == nullptr; }
  StatusCode code() const { return rep_ ? rep_->code : StatusCode::kOk; }
  /// Empty for success. The view lives as long as this object is unchanged.
  std::string_view message() const { return rep_ ? std::string_view(rep_->message) : std::string_view(); }

  /// The same error with "context: " before its message; success stays success.
  Status WithContext(std::string_view context) const {
    if (ok()) return {};
    return {rep_->code, std::string(context) + ": " + rep_->message};
  }

 private:
  struct Rep {
    StatusCode code;
    std::string message;
  };
  std::unique_ptr<Rep> rep_;
};

/// A value or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : value_(std::move(status)) { assert(!std::get<Status>(value_).ok()); }

  bool ok() const { return std::holds_alternative<T>(value_); }
  Status status() const { return ok() ? Status() : std::get<Status>(value_); }
  /// Only when ok().
  T& operator*() { return std::get<T>(value_); }
  const T& operator*() const { return std::get<T>(value_); }
  T* operator->() { return &std::get<T>(value_); }
  const T* operator->() const { return &std::get<T>(value_); }

 private:
  std::variant<T, Status> value_;
};

}  // namespace etwpipe

/// Returns the Status of `expr` from the enclosing function when it is not ok.
#define ETWPIPE_RETURN_IF_ERROR(expr)                                      \
  do {                                                                     \
    if (::etwpipe::Status status_ = (expr); !status_.ok()) return status_; \
  } while (false)
