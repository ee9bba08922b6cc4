// Method records for tests.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "formats/facts/method_table.h"

namespace etwpipe::facts {

using Kind = MethodRecord::Kind;
constexpr int64_t kBefore = ProcessInstance::kBeforeTrace;
constexpr int64_t kAfter = ProcessInstance::kAfterTrace;
constexpr uint32_t kPid = 7;
constexpr int64_t kSlack = 10;

/// Collects records; each Add() gives the record just added, to be changed.
class Records {
 public:
  MethodRecord& Add(Kind kind, int64_t time, uint64_t method_id, uint64_t start, uint32_t size,
                    std::string_view name = {}) {
    MethodRecord& record = told_.records.emplace_back();
    record.kind = kind;
    record.timestamp = time;
    record.id = told_.records.size();
    record.pid = kPid;
    record.clr_instance = 9;
    record.method_id = method_id;
    record.start_address = start;
    record.size = size;
    record.flags = kMethodJitted;
    if (!name.empty()) record.names = Names(name);
    return record;
  }
  MethodNames Names(std::string_view name) {
    return {told_.strings->Intern("N.Type"), told_.strings->Intern(name), told_.strings->Intern("void  (int32)")};
  }
  const std::vector<MethodRecord>& all() const { return told_.records; }
  std::vector<MethodRecord>& all() { return told_.records; }
  MethodTable Build(const ProcessTable* processes = nullptr, const ClrTable* modules = nullptr) {
    return MethodTable::Build(std::move(told_), processes, modules, kSlack);
  }

 private:
  MethodRecords told_;
};

/// "exact a", "unknown": what a lookup gives.
inline std::string Text(const MethodHit& hit) {
  std::string text(ToString(hit.outcome));
  if (hit.method != nullptr) text += " " + std::string(hit.method->name());
  return text;
}

}  // namespace etwpipe::facts
