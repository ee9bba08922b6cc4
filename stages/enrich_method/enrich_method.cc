#include "stages/enrich_method/enrich_method.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "formats/facts/clr_table.h"
#include "formats/facts/code_addresses.h"
#include "formats/facts/code_names.h"
#include "formats/facts/method_reference.h"
#include "formats/facts/record_owner.h"
#include "formats/facts/symbol_files.h"
#include "pipeline/object_pool.h"
#include "stages/enrich_method/name_events.h"
#include "stages/enrich_method/options.pb.h"
#include "stages/enrich_method/rundown_events.h"

namespace etwpipe {
namespace {

// The columns, in this order; the part behind the last dot is what ndjson shows.
enum Column : size_t { kMethod, kNamespace, kName, kSignature, kModule, kTier, kOutcome, kSymbol, kColumns };
constexpr std::string_view kColumnNames[kColumns] = {"enrich.method.method",         "enrich.method.method_namespace",
                                                     "enrich.method.method_name",    "enrich.method.method_signature",
                                                     "enrich.method.method_module",  "enrich.method.method_tier",
                                                     "enrich.method.method_outcome", "enrich.method.symbol"};

StageInfo Describe() {
  StageInfo info;
  info.name = "enrich.method";
  info.summary = "names the methods and code addresses that events speak of by id";
  info.example = "enrich.method:names=none";
  info.options = v1::EnrichMethodOptions::descriptor();
  info.needs = StageNeeds::kPayload;
  info.facts = kSchemas | kProcesses | kThreads | kImages | kMethods;
  for (const std::string_view name : kColumnNames) {
    info.produces.push_back({std::string(name), AnnotationType::kString, AnnotationUnit::kNone, {}});
  }
  return info;
}

using facts::LookupOutcome;

constexpr size_t kOutcomes = static_cast<size_t>(LookupOutcome::kUnknown) + 1;

// How the lookups ended.
struct OutcomeCounts {
  std::array<uint64_t, kOutcomes> ids{};
  std::array<uint64_t, kOutcomes> addresses{};  // in processes that have a CLR
  uint64_t no_runtime = 0;                      // addresses in others

  void Add(const OutcomeCounts& more) {
    for (size_t i = 0; i < kOutcomes; ++i) {
      ids[i] += more.ids[i];
      addresses[i] += more.addresses[i];
    }
    no_runtime += more.no_runtime;
  }
};

// What the events that passed speak of.
class Seen final : public StageState {
 public:
  std::mutex mutex;
  OutcomeCounts outcomes;
  std::map<MethodKey, const facts::MethodVersion*> referenced;
  std::set<MethodKey> described;
  std::set<RuntimeKey> marked;
  int64_t last_timestamp = std::numeric_limits<int64_t>::min();

  // What is left to be written at the end, by runtime.
  std::optional<std::vector<const facts::MethodVersion*>> missing;
  size_t next_missing = 0;
};

RuntimeKey RuntimeOf(const facts::MethodVersion& method) { return {method.pid, method.clr_instance}; }

class EnrichMethod final : public Stage {
 public:
  EnrichMethod(v1::EnrichMethodOptions::Names names, std::unique_ptr<facts::SymbolFiles> symbols)
      : info_(Describe()), names_(names), symbols_(std::move(symbols)) {
    info_.injects = names_ == v1::EnrichMethodOptions::NAMES_RUNDOWN || names_ == v1::EnrichMethodOptions::NAMES_EVENTS;
  }

  const StageInfo& info() const override { return info_; }

  Status Bind(const BindArgs& args) override {
    scratches_.Clear();  // their names are those of another trace
    if (names_ == v1::EnrichMethodOptions::NAMES_AUTO) info_.injects = !args.stores_annotations;
    methods_ = args.trace.facts->Get<facts::MethodTable>();
    clr_ = args.trace.facts->Get<facts::ClrTable>();
    registry_ = args.trace.facts->Get<schema::SchemaRegistry>();
    return {};
  }

  std::unique_ptr<StageState> NewState() const override { return std::make_unique<Seen>(); }

  Status Process(const ProcessArgs& args) const override {
    std::vector<AnnotationColumn*> columns;
    for (const AnnotationInfo& column : info_.produces) {
      if (args.batch.FindAnnotation(column.name) == nullptr) args.batch.AddAnnotation(column);
    }
    // Adding may move columns.
    for (const AnnotationInfo& column : info_.produces) columns.push_back(args.batch.FindAnnotation(column.name));
    if (methods_ == nullptr || registry_ == nullptr) return {};
    auto scratch = scratches_.Take([&] { return std::make_unique<Scratch>(args.trace, *registry_, symbols_.get()); });
    const auto seen = std::make_unique<Seen>();
    const bool beside = names_ == v1::EnrichMethodOptions::NAMES_EVENTS;
    std::vector<std::pair<uint16_t, EventHeader>> added;
    for (const uint16_t index : args.batch.selection) {
      const EventHeader& row = args.batch.rows[index];
      if (info_.injects && !beside) NoteDescriptions(row, args.trace, *scratch, *seen);
      const facts::MethodVersion* method = NameMethod(row, index, *scratch, columns, seen->outcomes);
      if (beside && method != nullptr && method->named()) {
        added.emplace_back(index,
                           MethodNameEvent(args.batch, args.trace, row, *method, columns[kOutcome]->string(index)));
      }
      if (method == nullptr) method = NameAddress(row, index, args.trace, *scratch, columns, seen->outcomes);
      if (beside && columns[kSymbol]->has(index)) {
        added.emplace_back(index, SymbolEvent(args.batch, args.trace, row, columns[kSymbol]->string(index)));
      }
      if (info_.injects && !beside && method != nullptr) seen->referenced.emplace(KeyOf(*method), method);
    }
    scratches_.Give(std::move(scratch));
    if (args.diagnostics != nullptr) {
      const auto unknown = static_cast<size_t>(LookupOutcome::kUnknown);
      args.diagnostics->AddCount(DiagnosticId::kMethodUnknown, seen->outcomes.ids[unknown]);
      if (symbols_ != nullptr) args.diagnostics->AddCount(DiagnosticId::kSymbolsBad, symbols_->TakeProblems());
    }
    if (beside) {
      const auto too_large = std::erase_if(added, [](const auto& event) { return event.second.record == nullptr; });
      if (args.diagnostics != nullptr) args.diagnostics->AddCount(DiagnosticId::kInjectedDropped, too_large);
      args.batch.Inject(added);
    }
    auto& all = static_cast<Seen&>(*args.state);
    const std::lock_guard lock(all.mutex);
    all.outcomes.Add(seen->outcomes);
    all.referenced.merge(seen->referenced);
    all.described.merge(seen->described);
    all.marked.merge(seen->marked);
    all.last_timestamp = std::max(all.last_timestamp, seen->last_timestamp);
    return {};
  }

  Result<bool> AtEnd(const ProcessArgs& args) const override {
    if (names_ == v1::EnrichMethodOptions::NAMES_EVENTS || methods_ == nullptr) return false;
    auto& seen = static_cast<Seen&>(*args.state);
    if (!seen.missing) seen.missing = MissingFrom(seen);
    const auto& missing = *seen.missing;
    uint64_t too_large = 0;
    // A method may come with both marks.
    for (size_t& i = seen.next_missing; i < missing.size() && args.batch.rows.size() + 3 <= kMaxBatchRows; ++i) {
      const RuntimeKey runtime = RuntimeOf(*missing[i]);
      const bool marks = WantsMarks(runtime, seen);
      if (marks && (i == 0 || RuntimeOf(*missing[i - 1]) != runtime)) {
        AppendRundownMark(args.batch, args.trace, RundownMark::kInit, runtime, seen.last_timestamp);
      }
      too_large += AppendRundownEvent(args.batch, args.trace, *missing[i], seen.last_timestamp) ? 0 : 1;
      if (marks && (i + 1 == missing.size() || RuntimeOf(*missing[i + 1]) != runtime)) {
        AppendRundownMark(args.batch, args.trace, RundownMark::kComplete, runtime, seen.last_timestamp);
      }
    }
    if (args.diagnostics != nullptr) args.diagnostics->AddCount(DiagnosticId::kInjectedDropped, too_large);
    args.batch.SelectAll();
    return seen.next_missing < missing.size();
  }

  std::vector<StageCount> Counts(const StageState* state) const override {
    const OutcomeCounts& outcomes = static_cast<const Seen&>(*state).outcomes;
    std::vector<StageCount> counts;
    for (size_t i = 0; i < kOutcomes; ++i) {
      counts.push_back({"method_ids", ToString(static_cast<LookupOutcome>(i)), outcomes.ids[i]});
    }
    for (size_t i = 0; i < kOutcomes; ++i) {
      counts.push_back({"addresses", ToString(static_cast<LookupOutcome>(i)), outcomes.addresses[i]});
    }
    counts.push_back({"addresses", "no_runtime", outcomes.no_runtime});
    return counts;
  }

 private:
  struct Scratch {
    Scratch(const TraceContext& trace, const schema::SchemaRegistry& registry, const facts::SymbolFiles* symbols)
        : references(registry, trace),
          addresses(registry, trace),
          names(trace, symbols),
          owner(trace, false),
          // A record that may be a description counts as one: the original stays as it is.
          kinds(schema::ClrIds::kSafe) {}

    facts::MethodReferences references;
    facts::CodeAddresses addresses;
    facts::CodeNames names;
    facts::OwnerScratch owner;
    facts::ClrEventKinds kinds;
  };

  // What an output that gets the row needs not be told.
  static void NoteDescriptions(const EventHeader& row, const TraceContext& trace, Scratch& scratch, Seen& seen) {
    seen.last_timestamp = std::max(seen.last_timestamp, row.timestamp);
    const facts::ClrEventKind kind = scratch.kinds.KindOf(row, trace);
    if (kind.subject == facts::ClrSubject::kNone) return;
    if (const auto key = DescribedMethod(kind, row)) seen.described.insert(*key);
    if (const auto runtime = MarkedRuntime(kind, row)) seen.marked.insert(*runtime);
  }

  static std::vector<const facts::MethodVersion*> MissingFrom(const Seen& seen) {
    std::vector<const facts::MethodVersion*> missing;
    for (const auto& [key, method] : seen.referenced) {
      if (CanDescribe(*method) && seen.described.count(key) == 0) missing.push_back(method);
    }
    std::stable_sort(missing.begin(), missing.end(),
                     [](const auto* a, const auto* b) { return RuntimeOf(*a) < RuntimeOf(*b); });
    return missing;
  }

  // Marks say that the rundown between them is whole: not where the output has some already, nor where that of the
  // recording was cut off.
  bool WantsMarks(const RuntimeKey& runtime, const Seen& seen) const {
    const uint32_t pid = runtime.first;
    const std::optional<uint16_t> instance = runtime.second;
    const auto same = [&](uint32_t other_pid, std::optional<uint16_t> other) {
      return other_pid == pid && (!other || !instance || other == instance);
    };
    for (const RuntimeKey& marked : seen.marked) {
      if (same(marked.first, marked.second)) return false;
    }
    if (clr_ == nullptr) return true;
    return std::none_of(clr_->rundowns().begin(), clr_->rundowns().end(), [&](const facts::ClrRundown& rundown) {
      return rundown.at_end && rundown.incomplete() && same(rundown.pid, rundown.clr_instance);
    });
  }

  // Events that carry an id and no name.
  const facts::MethodVersion* NameMethod(const EventHeader& row, size_t index, Scratch& scratch,
                                         const std::vector<AnnotationColumn*>& columns, OutcomeCounts& counts) const {
    const auto reference = scratch.references.Of(row);
    if (!reference) return nullptr;
    const facts::MethodHit hit = reference->FindIn(*methods_, row);
    columns[kOutcome]->SetString(index, ToString(hit.outcome));
    ++counts.ids[static_cast<size_t>(hit.outcome)];
    if (hit.method == nullptr) return nullptr;
    const auto set = [&](Column column, std::string_view text) {
      if (!text.empty()) columns[column]->SetString(index, text);
    };
    set(kMethod, FullName(*hit.method));
    set(kNamespace, hit.method->namespace_name());
    set(kName, hit.method->name());
    set(kSignature, hit.method->signature());
    set(kModule, hit.method->module());
    set(kTier, hit.method->tier());
    return hit.method;
  }

  // Events that carry a code address.
  const facts::MethodVersion* NameAddress(const EventHeader& row, size_t index, const TraceContext& trace,
                                          Scratch& scratch, const std::vector<AnnotationColumn*>& columns,
                                          OutcomeCounts& counts) const {
    const auto address = scratch.addresses.Of(row);
    if (!address) return nullptr;
    const auto owner = OwnerOf(row, trace, scratch.owner);
    const uint32_t pid = owner ? owner->pid : kNoId;
    columns[kSymbol]->SetString(index, scratch.names.NameOf(pid, *address, row.timestamp));
    const facts::MethodHit hit = methods_->FindAddress(pid, *address, row.timestamp);
    if (methods_->KnowsProcess(pid, row.timestamp)) {
      columns[kOutcome]->SetString(index, ToString(hit.outcome));
      ++counts.addresses[static_cast<size_t>(hit.outcome)];
    } else {
      ++counts.no_runtime;
    }
    return hit.method;
  }

  StageInfo info_;
  v1::EnrichMethodOptions::Names names_;
  std::unique_ptr<facts::SymbolFiles> symbols_;  // null: none were given
  const facts::MethodTable* methods_ = nullptr;
  const facts::ClrTable* clr_ = nullptr;
  const schema::SchemaRegistry* registry_ = nullptr;
  mutable ObjectPool<Scratch> scratches_;
};

Result<std::unique_ptr<Stage>> Make(const google::protobuf::Message& message) {
  const auto& options = static_cast<const v1::EnrichMethodOptions&>(message);
  std::unique_ptr<facts::SymbolFiles> symbols;
  if (!options.symbols().empty()) {
    auto opened = facts::SymbolFiles::Open({options.symbols().begin(), options.symbols().end()});
    if (!opened.ok()) return Status::InvalidArgument(fmt::format("option symbols: {}", opened.status().message()));
    symbols = std::move(*opened);
  }
  return std::unique_ptr<Stage>(std::make_unique<EnrichMethod>(options.names(), std::move(symbols)));
}

}  // namespace

Registry::Entry EnrichMethodEntry() { return {Describe(), Make}; }

}  // namespace etwpipe
