#include "formats/activities/call_table.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <unordered_map>

namespace etwpipe::activities {

// Turns activities into calls. The first ones begin while their walk is made, so their names are those of the history,
// which has the names of the whole trace.
struct CallTable::Collector : ActivityListener {
  explicit Collector(CallTable& into) : table(into) { ModuleNumber({}); }

  void OnStart(const Activity& activity) override {
    if (activity.tid == kNoId) {
      ++table.counts_.without_thread;
      return;
    }
    const CallTimes::Call call =
        table.times_.Enter({activity.tid, activity.pid, activity.name, ModuleOf(activity.name), activity.start});
    if (table.history().negative.contains(activity.id)) {
      Left(activity, table.times_.Leave(call, activity.start));
    } else {
      open.emplace(activity.id, call);
    }
  }

  void OnStop(const Activity& activity) override {
    const auto found = open.find(activity.id);
    if (found != open.end()) {
      Left(activity, table.times_.Leave(found->second, activity.stop));
      open.erase(found);
    } else if (table.call_options_.keep_calls && activity.stop_id != 0) {
      // A negative one left at once; only now its stop record is known.
      const auto left = negative.find(activity.id);
      if (left == negative.end()) return;
      table.records_.push_back({activity.stop_id, left->second, true});
      negative.erase(left);
    }
  }

  void Left(const Activity& activity, const CallValues& values) {
    if (!table.call_options_.keep_calls) return;
    const auto call = static_cast<uint32_t>(table.calls_.size());
    table.calls_.push_back(values);
    // An activity without a start has the id of its stop record.
    table.records_.push_back({activity.id, call, activity.id == activity.stop_id});
    if (activity.stop_id != 0 && activity.stop_id != activity.id) {
      table.records_.push_back({activity.stop_id, call, true});
    } else if (activity.stop_id == 0 && table.history().negative.contains(activity.id)) {
      negative.emplace(activity.id, call);
    }
  }

  uint32_t ModuleOf(uint32_t name) {
    if (name >= module_of_name.size()) module_of_name.resize(size_t{name} + 1, kUnknown);
    uint32_t& module = module_of_name[name];
    if (module == kUnknown) {
      module = ModuleNumber(name < table.history().names.size() ? table.history().names[name].module : std::string());
    }
    return module;
  }

  uint32_t ModuleNumber(const std::string& module) {
    const auto [known, added] = module_numbers.try_emplace(module, static_cast<uint32_t>(modules.size()));
    if (added) modules.push_back(module);
    return known->second;
  }

  static constexpr uint32_t kUnknown = 0xFFFFFFFF;
  CallTable& table;
  std::unordered_map<EventInstanceId, CallTimes::Call> open;
  std::unordered_map<EventInstanceId, uint32_t> negative;
  std::vector<uint32_t> module_of_name;
  std::vector<std::string> modules;
  std::unordered_map<std::string, uint32_t> module_numbers;
};

CallTable::CallTable(const TraceContext& trace, const ActivityOptions& options, const CallOptions& calls)
    : call_options_(calls),
      os_events_(trace, calls.policy),
      times_(calls.overhead),
      collector_(std::make_unique<Collector>(*this)),
      walks_(std::make_unique<TwoPassWalk>(trace, options, collector_.get())) {}

CallTable::~CallTable() = default;

void CallTable::Observe(const EventBatch& batch, int pass) {
  // Behind what ends before the record.
  walks_->Observe(batch, pass,
                  [this](const EventHeader& row) { os_events_.EffectOf(row).ApplyTo(times_, row.timestamp); });
}

void CallTable::Finish() {
  if (!walks_->Finish()) return;
  times_.Finish(history().trace_stop);
  std::sort(records_.begin(), records_.end(), [](const Record& a, const Record& b) {
    return std::tie(a.id, a.stops, a.call) < std::tie(b.id, b.stops, b.call);
  });
}

const CallValues* CallTable::FindByRecord(EventInstanceId id) const {
  const auto found = std::lower_bound(records_.begin(), records_.end(), id,
                                      [](const Record& record, EventInstanceId wanted) { return record.id < wanted; });
  return found == records_.end() || found->id != id ? nullptr : &calls_[found->call];
}

std::string_view CallTable::NameOf(uint32_t function) const { return walks_->walk().NameOf(function); }
std::string_view CallTable::ModuleName(uint32_t module) const { return collector_->modules[module]; }
const ActivityCounts& CallTable::activity_counts() const { return walks_->walk().tracker().counts(); }

}  // namespace etwpipe::activities
