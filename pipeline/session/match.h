// Typed matching of event stacks.
//
// The last type must match the last entry; the other types match entries in their order, with gaps between them
// (semantics.md 4.1). Of several entries that could match, each type takes the one nearest to the event, so that
// (FrontEndFile, FrontEndFile) is a file and the file that includes it. A group takes the whole run of such entries.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "pipeline/session/build_events.h"
#include "pipeline/session/control.h"
#include "pipeline/session/event_data.h"

namespace etwpipe::session {
namespace internal {

/// Entries [begin, end) of a stack.
struct StackRun {
  size_t begin = 0;
  size_t end = 0;
};

template <typename T, typename = void>
struct StackType {
  static bool Matches(const EventData& data) { return T::Matches(data); }
  static constexpr bool kGroup = false;
  static T Make(const EventStack& stack, StackRun run) { return T(stack[run.begin]); }
};
template <typename T>
struct StackType<T, std::void_t<typename T::Member>> {
  static bool Matches(const EventData& data) { return T::Member::Matches(data); }
  static constexpr bool kGroup = true;
  static T Make(const EventStack& stack, StackRun run) {
    return T(stack.events().subspan(run.begin, run.end - run.begin));
  }
};

/// Finds the run of T nearest below entry `end`, at it if `exact`; then the next type looks below its begin.
template <typename T>
bool FindRun(const EventStack& stack, size_t end, bool exact, StackRun& run) {
  using Type = StackType<T>;
  for (; end > 0; --end) {
    if (Type::Matches(stack[end - 1])) break;
    if (exact) return false;
  }
  if (end == 0) return false;
  run = {end - 1, end};
  while (Type::kGroup && run.begin > 0 && Type::Matches(stack[run.begin - 1])) --run.begin;
  return true;
}

template <typename... T, size_t... index>
bool FindRuns(const EventStack& stack, std::array<StackRun, sizeof...(T)>& runs, std::index_sequence<index...>) {
  using Finder = bool (*)(const EventStack&, size_t, bool, StackRun&);
  constexpr std::array<Finder, sizeof...(T)> kFinders = {&FindRun<T>...};
  size_t end = stack.size();
  for (size_t i = sizeof...(T); i > 0; --i) {
    if (!kFinders[i - 1](stack, end, i == sizeof...(T), runs[i - 1])) return false;
    end = runs[i - 1].begin;
  }
  return true;
}

template <typename... T, typename Call, size_t... index>
auto MatchAndCall(const EventStack& stack, Call&& call, std::index_sequence<index...> indexes) {
  using Answer = std::invoke_result_t<Call, T...>;
  std::array<StackRun, sizeof...(T)> runs;
  const bool found = FindRuns<T...>(stack, runs, indexes);
  if constexpr (std::is_void_v<Answer>) {
    if (found) std::invoke(call, StackType<T>::Make(stack, runs[index])...);
    return found;
  } else {
    return found ? std::optional<Answer>(std::invoke(call, StackType<T>::Make(stack, runs[index])...)) : std::nullopt;
  }
}

}  // namespace internal

/// Calls `call(T...)` if the stack matches. Returns whether it does; what `call` returned, or nothing, if it returns
/// something.
template <typename... T, typename Call>
auto MatchEventStack(const EventStack& stack, Call&& call) {
  static_assert(sizeof...(T) > 0);
  return internal::MatchAndCall<T...>(stack, std::forward<Call>(call), std::index_sequence_for<T...>());
}

/// The same for a member function, whose parameters are the types.
template <typename Object, typename Answer, typename Class, typename... Parameter>
auto MatchEventStackInMember(const EventStack& stack, Object* object, Answer (Class::*member)(Parameter...)) {
  return MatchEventStack<std::remove_cvref_t<Parameter>...>(
      stack, [&](const std::remove_cvref_t<Parameter>&... events) { return (object->*member)(events...); });
}

}  // namespace etwpipe::session
