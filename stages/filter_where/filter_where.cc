#include "stages/filter_where/filter_where.h"

#include <memory>
#include <utility>

#include "stages/filter_where/expression.h"
#include "stages/filter_where/options.pb.h"

namespace etwpipe {
namespace {

StageInfo Describe() {
  StageInfo info;
  info.name = "filter.where";
  info.summary = "keeps the events for which an expression is true";
  info.example = "filter.where:pid == 4 and size > 90";
  info.options = v1::FilterWhereOptions::descriptor();
  info.main_option = "expression";
  info.drops = true;
  return info;
}

class FilterWhere : public Stage {
 public:
  explicit FilterWhere(Expression expression) : info_(Describe()), expression_(std::move(expression)) {}

  const StageInfo& info() const override { return info_; }

  Status Bind(const BindArgs& args) override {
    expression_.Bind(args.trace);
    return {};
  }

  Status Process(const ProcessArgs& args) const override {
    args.batch.Retain([&](const EventHeader& row) { return expression_.Matches(row); });
    return {};
  }

 private:
  StageInfo info_;
  Expression expression_;
};

Result<std::unique_ptr<Stage>> Make(const google::protobuf::Message& message) {
  const auto& options = static_cast<const v1::FilterWhereOptions&>(message);
  if (options.expression().find_first_not_of(" \t\r\n") == std::string::npos) {
    return Status::InvalidArgument("option expression: it is empty; give a condition such as level <= 4");
  }
  auto expression = Expression::Parse(options.expression());
  if (!expression.ok()) return expression.status().WithContext("option expression");
  return std::unique_ptr<Stage>(std::make_unique<FilterWhere>(std::move(*expression)));
}

}  // namespace

Registry::Entry FilterWhereEntry() { return {Describe(), Make}; }

}  // namespace etwpipe
