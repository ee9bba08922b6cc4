#include "stages/filter_where/expression.h"

#include <utility>

#include "stages/filter_where/checker.h"
#include "stages/filter_where/compiler.h"
#include "stages/filter_where/group_test.h"
#include "stages/filter_where/parser.h"

namespace etwpipe {

namespace {

FactSet FactsOf(const where::Node& node) {
  FactSet facts = kNoFacts;
  if (node.kind == where::NodeKind::kField && node.field->type == where::FieldType::kPayload) {
    facts = kSchemas;
    // A TypeID may be asked for by its name.
    if (node.text.find("TypeID") != std::string::npos) facts |= kTypes;
  }
  if (node.kind == where::NodeKind::kField && node.field->type == where::FieldType::kText) {
    facts = node.field->text == where::TextField::kProcess ? kProcesses : kSchemas;
  }
  for (const auto& child : node.children) facts |= FactsOf(*child);
  return facts;
}

}  // namespace

Expression::Expression(std::string_view text, std::unique_ptr<where::Node> root)
    : text_(text), root_(std::move(root)), facts_(FactsOf(*root_)) {}
Expression::Expression(Expression&&) noexcept = default;
Expression& Expression::operator=(Expression&&) noexcept = default;
Expression::~Expression() = default;

Result<Expression> Expression::Parse(std::string_view text) {
  auto root = where::ParseExpression(text);
  if (!root.ok()) return root.status();
  if (Status status = where::Check(text, *root); !status.ok()) return status;
  return Expression(text, std::move(*root));
}

void Expression::Bind(const TraceContext& trace) {
  program_ = where::Compile(*root_, trace);
  group_test_ = std::make_unique<where::GroupTest>(*root_, trace);
}

bool Expression::NeverMatches(const EventGroup& group) const {
  return group_test_ != nullptr && group_test_->NeverMatches(group);
}

}  // namespace etwpipe
