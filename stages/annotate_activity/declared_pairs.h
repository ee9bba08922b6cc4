// Pairs of events that the user declares: rule{ name start{where} stop{where} key nest }.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "formats/activities/activity_walk.h"
#include "pipeline/status.h"
#include "stages/annotate_activity/options.pb.h"
#include "stages/filter_where/event_values.h"
#include "stages/filter_where/expression.h"

namespace etwpipe {

/// Rules of one stage. Parsed once, bound to a trace before the first Match().
class RulePairs final : public activities::DeclaredPairs {
 public:
  /// An error names the rule and what is wrong with it.
  static Result<std::unique_ptr<RulePairs>> Parse(const google::protobuf::RepeatedPtrField<v1::ActivityRule>& rules);

  bool empty() const { return rules_.empty(); }
  /// Facts the expressions read.
  FactSet facts() const { return facts_; }
  void Bind(const TraceContext& trace);

  void Match(const EventHeader& row, std::vector<activities::DeclaredEvent>& events) override;
  std::string_view NameOf(uint32_t rule) const override { return rules_[rule].name; }

 private:
  struct Rule {
    std::string name;
    Expression start;
    Expression stop;
    std::string key;  // path below payload
    bool strict = false;
  };
  bool ReadKey(size_t rule);

  std::vector<Rule> rules_;
  FactSet facts_ = kNoFacts;
  std::optional<where::EventValues> values_;
  std::vector<std::string> keys_;  // of the last Match(), by rule
};

}  // namespace etwpipe
