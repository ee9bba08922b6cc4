#include "stages/annotate_activity/declared_pairs.h"

#include <fmt/format.h>

#include <utility>

namespace etwpipe {
namespace {

constexpr std::string_view kPayload = "payload.";

Result<Expression> ParseSide(const std::string& name, std::string_view side, const std::string& text) {
  if (text.empty()) {
    return Status::InvalidArgument(fmt::format("rule \"{}\": {}{{ where }} is missing", name, side));
  }
  auto parsed = Expression::Parse(text);
  if (!parsed.ok()) {
    return Status::InvalidArgument(fmt::format("rule \"{}\", {}: {}", name, side, parsed.status().message()));
  }
  return parsed;
}

}  // namespace

Result<std::unique_ptr<RulePairs>> RulePairs::Parse(const google::protobuf::RepeatedPtrField<v1::ActivityRule>& rules) {
  auto made = std::make_unique<RulePairs>();
  for (const v1::ActivityRule& rule : rules) {
    if (rule.name().empty()) return Status::InvalidArgument("a rule has no name");
    auto start = ParseSide(rule.name(), "start", rule.start().where());
    if (!start.ok()) return start.status();
    auto stop = ParseSide(rule.name(), "stop", rule.stop().where());
    if (!stop.ok()) return stop.status();
    std::string key = rule.key();
    if (!key.empty()) {
      if (!std::string_view(key).starts_with(kPayload) || key.size() == kPayload.size()) {
        return Status::InvalidArgument(
            fmt::format("rule \"{}\": key \"{}\" is not of the form payload.Field", rule.name(), key));
      }
      key.erase(0, kPayload.size());
      made->facts_ = static_cast<FactSet>(made->facts_ | kSchemas);
    }
    made->facts_ = static_cast<FactSet>(made->facts_ | start->facts() | stop->facts());
    made->rules_.push_back({rule.name(), std::move(*start), std::move(*stop), std::move(key),
                            rule.nest() == v1::ActivityRule::NEST_THREAD});
  }
  made->keys_.resize(made->rules_.size());
  return made;
}

void RulePairs::Bind(const TraceContext& trace) {
  for (Rule& rule : rules_) {
    rule.start.Bind(trace);
    rule.stop.Bind(trace);
  }
  values_.emplace(trace);
}

bool RulePairs::ReadKey(size_t rule) {
  std::string& key = keys_[rule];
  key.clear();
  if (rules_[rule].key.empty()) return true;
  const auto values = values_->Payload(rule, rules_[rule].key);
  if (values.empty()) return false;
  const schema::Value& value = values.front();
  key = value.kind == schema::ValueKind::kText ? value.text : fmt::format("{}", value.bits);
  return true;
}

void RulePairs::Match(const EventHeader& row, std::vector<activities::DeclaredEvent>& events) {
  values_->Load(row);
  for (size_t i = 0; i < rules_.size(); ++i) {
    // One record may end one and begin the next.
    for (const bool start : {false, true}) {
      const Expression& side = start ? rules_[i].start : rules_[i].stop;
      if (!side.Matches(row, &*values_)) continue;
      values_->Load(row);
      if (!ReadKey(i)) continue;
      events.push_back({static_cast<uint32_t>(i), start, rules_[i].strict, keys_[i]});
    }
  }
}

}  // namespace etwpipe
