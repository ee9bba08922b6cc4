#include "formats/facts/method_survey.h"

#include <fmt/format.h>

#include <map>
#include <tuple>
#include <utility>

#include "formats/facts/clr_event_kinds.h"
#include "formats/facts/clr_payloads.h"
#include "formats/facts/method_lives.h"
#include "formats/facts/survey_faults.h"

namespace etwpipe::facts {
namespace {

// Why a record with code makes no sense; empty if it does (method_lives.h says what becomes of it).
std::string_view Fault(const MethodRecord& record) {
  if (record.method_id == 0) return "a method record has the MethodID 0";
  if (record.size == 0) return "a method record has the size 0";
  const bool is_32bit = record.pointer_size == 4;
  const uint64_t last = is_32bit ? 0xFFFFFFFF : ~uint64_t{0};
  if (record.size > last - CodeAddress(record.start_address, is_32bit)) return "the code of a method record wraps";
  return {};
}

class MethodSurveyor final : public Surveyor {
 public:
  MethodSurveyor(schema::ClrIds ids, const MethodLimits& limits) : kinds_(ids), limits_(limits) {
    methods_.strings = std::make_unique<StringPool>(limits.name_bytes);
  }

  Status Observe(const EventBatch& batch, const TraceContext& trace) override {
    for (const EventHeader& row : batch.rows) {
      const ClrEventKind kind = kinds_.KindOf(row, trace);
      if (kind.subject != ClrSubject::kNone && row.pid != kNoId) Read(kind, row);
    }
    return {};
  }

  Status Finish(const TraceContext& trace, Diagnostics* diagnostics) override {
    for (const auto& [key, rundown] : rundowns_) clr_.rundowns.push_back(rundown);
    const auto* processes = trace.facts->Get<ProcessTable>();
    auto modules = std::make_shared<const ClrTable>(ClrTable::Build(std::move(clr_), processes));
    faults_.Dropped("names of methods beyond the bound", methods_.strings->refused());
    if (diagnostics != nullptr) Report(*modules, *diagnostics);
    const int64_t slack = trace.info.clock.frequency / 100;  // 10 ms
    auto methods =
        std::make_shared<const MethodTable>(MethodTable::Build(std::move(methods_), processes, modules.get(), slack));
    CountOddLives(*methods, processes, slack);
    faults_.Report(diagnostics);
    trace.facts->Set(std::move(methods));
    trace.facts->Set(std::move(modules));
    return {};
  }

 private:
  void Read(const ClrEventKind& kind, const EventHeader& row) {
    switch (kind.subject) {
      case ClrSubject::kNone: return;
      case ClrSubject::kMethod:
      case ClrSubject::kJitting:
      case ClrSubject::kEntryPoint:
      case ClrSubject::kStub:
      case ClrSubject::kStubCacheHit: return ReadMethodRecord(kind, row);
      case ClrSubject::kInit:
      case ClrSubject::kComplete: {
        ClrRundown* rundown = RundownOf(row.pid, ReadMarkerInstance(row), kind.action);
        if (rundown != nullptr) ++(kind.subject == ClrSubject::kInit ? rundown->begun : rundown->completed);
        return;
      }
      case ClrSubject::kModule:
        if (kind.action == ClrAction::kUnload) KeepModuleUnload(row);
        return Keep(clr_.modules, ReadModule(kind, row));
      case ClrSubject::kDomainModule: return Keep(clr_.modules, ReadModule(kind, row));
      case ClrSubject::kAssembly: return Keep(clr_.assemblies, ReadAssembly(kind, row));
      case ClrSubject::kAppDomain: return Keep(clr_.app_domains, ReadAppDomain(kind, row));
      case ClrSubject::kRuntime: return Keep(clr_.runtimes, ReadRuntime(kind, row));
    }
  }

  template <typename Records, typename Record>
  void Keep(Records& records, std::optional<Record> record) {
    if (!record) return faults_.Bad("a loader or runtime record of the CLR is too short");
    if (records.size() == limits_.others)
      return faults_.Dropped("loader or runtime records of the CLR beyond the bound");
    records.push_back(*std::move(record));
  }

  void KeepMethod(const MethodRecord& record) {
    if (methods_.records.size() == limits_.methods) return faults_.Dropped("records of methods beyond the bound");
    methods_.records.push_back(record);
  }

  void ReadMethodRecord(const ClrEventKind& kind, const EventHeader& row) {
    auto record = ReadMethod(kind, row, *methods_.strings);
    if (!record) return faults_.Count(DiagnosticId::kMethodBad, "a method record is too short");
    if (kind.subject == ClrSubject::kMethod) {
      faults_.Count(DiagnosticId::kMethodBad, Fault(*record));
      if (kind.action == ClrAction::kRundownStart || kind.action == ClrAction::kRundownEnd) {
        ClrRundown* rundown = RundownOf(row.pid, record->clr_instance, kind.action);
        if (rundown != nullptr) ++rundown->methods;
      }
    }
    KeepMethod(*record);
  }

  void KeepModuleUnload(const EventHeader& row) {
    const auto module = ReadModule({ClrSubject::kModule, ClrAction::kUnload}, row);
    if (!module) return;  // counted as a record of a module
    MethodRecord record;
    record.kind = MethodRecord::Kind::kModuleUnload;
    record.pointer_size = static_cast<uint8_t>(row.pointer_size());
    record.pid = row.pid;
    record.clr_instance = module->entity.clr_instance;
    record.timestamp = row.timestamp;
    record.id = row.instance_id;
    record.module_id = module->entity.id;
    KeepMethod(record);
  }

  ClrRundown* RundownOf(uint32_t pid, std::optional<uint16_t> clr_instance, ClrAction action) {
    const bool at_end = action == ClrAction::kRundownEnd;
    const std::tuple key(pid, clr_instance, at_end);
    if (const auto found = rundowns_.find(key); found != rundowns_.end()) return &found->second;
    if (rundowns_.size() == limits_.rundowns) {
      faults_.Dropped("CLR rundowns beyond the bound");
      return nullptr;
    }
    ClrRundown& rundown = rundowns_[key];
    rundown.pid = pid;
    rundown.clr_instance = clr_instance;
    rundown.at_end = at_end;
    return &rundown;
  }

  void CountOddLives(const MethodTable& methods, const ProcessTable* processes, int64_t slack) {
    for (const MethodVersion& version : methods.versions()) {
      if (version.learnt == MethodSource::kUnload) {
        faults_.Count(DiagnosticId::kMethodUnloadOnly, "no record loads a method that one unloads");
      }
      if (version.learnt != MethodSource::kLoad || processes == nullptr) continue;
      const ProcessInstance* process = processes->Find(version.pid, version.from);
      if (process == nullptr || version.from <= process->end) continue;
      const uint64_t late = static_cast<uint64_t>(version.from) - static_cast<uint64_t>(process->end);
      if (late <= static_cast<uint64_t>(slack)) continue;
      faults_.Count(DiagnosticId::kMethodAfterExit, "a method is loaded after its process has stopped");
    }
  }

  void Report(const ClrTable& clr, Diagnostics& diagnostics) const {
    for (const ClrRundown& rundown : clr.rundowns()) {
      if (!rundown.incomplete()) continue;
      const std::string runtime = rundown.clr_instance ? fmt::format(", runtime {}", *rundown.clr_instance) : "";
      diagnostics.Add(
          DiagnosticId::kRundownIncomplete, {},
          fmt::format("the CLR rundown of process {}{} at the {} of the session is incomplete: {} begun, {} "
                      "completed, {} methods",
                      rundown.pid, runtime, rundown.at_end ? "end" : "start", rundown.begun, rundown.completed,
                      rundown.methods));
    }
  }

  ClrEventKinds kinds_;
  MethodLimits limits_;
  MethodRecords methods_;
  ClrRecords clr_;
  std::map<std::tuple<uint32_t, std::optional<uint16_t>, bool>, ClrRundown> rundowns_;
  SurveyFaults faults_;
};

}  // namespace

std::unique_ptr<Surveyor> MakeMethodSurveyor(schema::ClrIds ids, const MethodLimits& limits) {
  return std::make_unique<MethodSurveyor>(ids, limits);
}

}  // namespace etwpipe::facts
