#include "stages/filter_where/filter_where.h"

#include <memory>
#include <utility>

#include "pipeline/object_pool.h"
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
  explicit FilterWhere(Expression expression) : info_(Describe()), expression_(std::move(expression)) {
    info_.facts = expression_.facts();
    if (info_.facts != kNoFacts) info_.needs = StageNeeds::kPayload;
  }

  const StageInfo& info() const override { return info_; }

  Status Bind(const BindArgs& args) override {
    expression_.Bind(args.trace);
    values_.Clear();
    return {};
  }

  bool DropsAll(const EventGroup& group) const override { return expression_.NeverMatches(group); }

  Status Process(const ProcessArgs& args) const override {
    if (info_.facts == kNoFacts) {
      args.batch.Retain([&](const EventHeader& row) { return expression_.Matches(row); });
      return {};
    }
    auto values = values_.Take([&] { return std::make_unique<where::EventValues>(args.trace); });
    args.batch.Retain([&](const EventHeader& row) { return expression_.Matches(row, values.get()); });
    values_.Give(std::move(values));
    return {};
  }

 private:
  StageInfo info_;
  Expression expression_;
  mutable ObjectPool<where::EventValues> values_;  // what threads learnt of schemas, for the next batch
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
