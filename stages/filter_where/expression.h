// Conditions over events, as `filter.where` and `dump --where` take them. The language: GRAMMAR.md.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "pipeline/event.h"
#include "pipeline/event_group.h"
#include "pipeline/status.h"
#include "pipeline/trace_context.h"
#include "stages/filter_where/program.h"

namespace etwpipe {

namespace where {
struct Node;
class GroupTest;
}  // namespace where

/// Parse, bind to a trace, ask. Asking is const and may happen on any thread.
class Expression {
 public:
  /// Reads and checks an expression. An error is an InvalidArgument that gives the column, what was found and what is
  /// allowed, and on two more lines the place with a caret.
  static Result<Expression> Parse(std::string_view text);

  Expression(Expression&&) noexcept;
  Expression& operator=(Expression&&) noexcept;
  ~Expression();

  /// Resolves providers and times for the rows of `trace`. Before the first Matches(); once more for another trace.
  void Bind(const TraceContext& trace);
  /// Facts that have to be known before Bind().
  FactSet facts() const { return facts_; }

  /// Whether the event passes. False as long as the expression is not bound. `values` reads decoded events; it is
  /// needed (and made for the trace of Bind()) if facts() is not empty, and serves one thread at a time.
  bool Matches(const EventHeader& row, where::EventValues* values = nullptr) const {
    return program_.Matches(row, values);
  }

  /// Whether it is certain that no event of the group passes. False as long as the expression is not bound.
  bool NeverMatches(const EventGroup& group) const;

  /// As it was written.
  const std::string& text() const { return text_; }

 private:
  Expression(std::string_view text, std::unique_ptr<where::Node> root);

  std::string text_;
  std::unique_ptr<where::Node> root_;
  FactSet facts_ = kNoFacts;
  where::Program program_;
  std::unique_ptr<const where::GroupTest> group_test_;
};

}  // namespace etwpipe
