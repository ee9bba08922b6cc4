#include "stages/enrich_method/enrich_method.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "formats/facts/code_names.h"
#include "formats/facts/method_reference.h"
#include "formats/facts/record_owner.h"
#include "formats/facts/symbol_files.h"
#include "pipeline/object_pool.h"
#include "stages/enrich_method/code_addresses.h"
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

// What the events that passed speak of.
class Seen final : public StageState {
 public:
  std::mutex mutex;
  std::map<MethodKey, const facts::MethodVersion*> referenced;
  std::set<MethodKey> described;
  int64_t last_timestamp = 0;
};

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
    std::map<MethodKey, const facts::MethodVersion*> referenced;
    std::set<MethodKey> described;
    int64_t last = INT64_MIN;
    const bool beside = names_ == v1::EnrichMethodOptions::NAMES_EVENTS;
    std::vector<std::pair<uint16_t, EventHeader>> added;
    for (const uint16_t index : args.batch.selection) {
      const EventHeader& row = args.batch.rows[index];
      last = std::max(last, row.timestamp);
      MethodKey key;
      if (info_.injects && DescribesMethod(row, args.trace, key)) described.insert(key);
      const facts::MethodVersion* method = NameMethod(row, index, *scratch, columns);
      if (beside && method != nullptr && method->named()) {
        added.emplace_back(index,
                           MethodNameEvent(args.batch, args.trace, row, *method, columns[kOutcome]->string(index)));
      }
      if (method == nullptr) method = NameAddress(row, index, args.trace, *scratch, columns);
      if (beside && columns[kSymbol]->has(index)) {
        added.emplace_back(index, SymbolEvent(args.batch, args.trace, row, columns[kSymbol]->string(index)));
      }
      if (info_.injects && method != nullptr) referenced.emplace(KeyOf(*method), method);
    }
    scratches_.Give(std::move(scratch));
    if (beside) {
      std::erase_if(added, [](const auto& event) { return event.second.record == nullptr; });
      args.batch.Inject(added);
      return {};
    }
    if (!info_.injects || args.state == nullptr) return {};
    auto& seen = static_cast<Seen&>(*args.state);
    const std::lock_guard lock(seen.mutex);
    seen.referenced.merge(referenced);
    seen.described.merge(described);
    seen.last_timestamp = std::max(seen.last_timestamp, last);
    return {};
  }

  Result<bool> AtEnd(const ProcessArgs& args) const override {
    if (names_ == v1::EnrichMethodOptions::NAMES_EVENTS) return false;
    auto& seen = static_cast<Seen&>(*args.state);
    auto next = seen.referenced.begin();
    for (; next != seen.referenced.end() && args.batch.rows.size() < kMaxBatchRows; ++next) {
      if (seen.described.count(next->first) != 0) continue;
      AppendRundownEvent(args.batch, args.trace, *next->second, seen.last_timestamp);
    }
    seen.referenced.erase(seen.referenced.begin(), next);
    args.batch.SelectAll();
    return !seen.referenced.empty();
  }

 private:
  struct Scratch {
    Scratch(const TraceContext& trace, const schema::SchemaRegistry& registry, const facts::SymbolFiles* symbols)
        : references(registry, trace), addresses(registry, trace), names(trace, symbols), owner(trace, false) {}

    facts::MethodReferences references;
    CodeAddresses addresses;
    facts::CodeNames names;
    facts::OwnerScratch owner;
  };

  // Events that carry an id and no name.
  const facts::MethodVersion* NameMethod(const EventHeader& row, size_t index, Scratch& scratch,
                                         const std::vector<AnnotationColumn*>& columns) const {
    const auto reference = scratch.references.Of(row);
    if (!reference) return nullptr;
    const facts::MethodHit hit = reference->FindIn(*methods_, row);
    columns[kOutcome]->SetString(index, ToString(hit.outcome));
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
                                          Scratch& scratch, const std::vector<AnnotationColumn*>& columns) const {
    const auto address = scratch.addresses.Of(row);
    if (!address) return nullptr;
    const auto owner = OwnerOf(row, trace, scratch.owner);
    const uint32_t pid = owner ? owner->pid : kNoId;
    columns[kSymbol]->SetString(index, scratch.names.NameOf(pid, *address, row.timestamp));
    const facts::MethodHit hit = methods_->FindAddress(pid, *address, row.timestamp);
    if (methods_->KnowsProcess(pid, row.timestamp)) columns[kOutcome]->SetString(index, ToString(hit.outcome));
    return hit.method;
  }

  StageInfo info_;
  v1::EnrichMethodOptions::Names names_;
  std::unique_ptr<facts::SymbolFiles> symbols_;  // null: none were given
  const facts::MethodTable* methods_ = nullptr;
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
