#include "stages/enrich_stack/enrich_stack.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "formats/facts/code_names.h"
#include "formats/facts/stack_table.h"
#include "formats/facts/symbol_files.h"
#include "pipeline/object_pool.h"
#include "stages/enrich_stack/options.pb.h"

namespace etwpipe {
namespace {

constexpr std::string_view kColumn = "enrich.stack.stack";

StageInfo Describe() {
  StageInfo info;
  info.name = "enrich.stack";
  info.summary = "adds the stack of each event that has one, by name, leaf first";
  info.example = "enrich.stack";
  info.options = v1::EnrichStackOptions::descriptor();
  info.needs = StageNeeds::kPayload;
  info.facts = kProcesses | kThreads | kImages | kMethods | kStacks;
  info.produces = {{std::string(kColumn), AnnotationType::kStringList, AnnotationUnit::kNone, {}}};
  return info;
}

class EnrichStack : public Stage {
 public:
  explicit EnrichStack(std::unique_ptr<facts::SymbolFiles> symbols) : info_(Describe()), symbols_(std::move(symbols)) {}

  const StageInfo& info() const override { return info_; }

  Status Bind(const BindArgs& args) override {
    scratches_.Clear();  // their names are those of another trace
    stacks_ = args.trace.facts->Get<facts::StackTable>();
    return {};
  }

  Status Process(const ProcessArgs& args) const override {
    // An archive may hold the column of an earlier run.
    AnnotationColumn* known = args.batch.FindAnnotation(kColumn);
    AnnotationColumn& column = known != nullptr ? *known : args.batch.AddAnnotation(info_.produces.front());
    if (stacks_ == nullptr) return {};
    auto scratch = scratches_.Take([&] { return std::make_unique<Scratch>(args.trace, symbols_.get()); });
    for (const uint16_t index : args.batch.selection) {
      const EventHeader& row = args.batch.rows[index];
      facts::EventStack& stack = scratch->stack;
      if (!stacks_->Find(row, stack)) continue;
      scratch->numbers.clear();
      for (const uint64_t address : stack.frames) {
        scratch->numbers.push_back(column.InternText(scratch->names.NameOf(stack.pid, address, row.timestamp)));
      }
      column.SetTexts(index, scratch->numbers);
    }
    scratches_.Give(std::move(scratch));
    if (args.diagnostics != nullptr && symbols_ != nullptr) {
      args.diagnostics->AddCount(DiagnosticId::kSymbolsBad, symbols_->TakeProblems());
    }
    return {};
  }

 private:
  struct Scratch {
    Scratch(const TraceContext& trace, const facts::SymbolFiles* symbols) : names(trace, symbols) {}

    facts::CodeNames names;
    facts::EventStack stack;
    std::vector<uint64_t> numbers;
  };

  StageInfo info_;
  std::unique_ptr<facts::SymbolFiles> symbols_;  // null: none were given
  const facts::StackTable* stacks_ = nullptr;
  mutable ObjectPool<Scratch> scratches_;
};

Result<std::unique_ptr<Stage>> Make(const google::protobuf::Message& message) {
  const auto& options = static_cast<const v1::EnrichStackOptions&>(message);
  std::unique_ptr<facts::SymbolFiles> symbols;
  if (!options.symbols().empty()) {
    auto opened = facts::SymbolFiles::Open({options.symbols().begin(), options.symbols().end()});
    if (!opened.ok()) return Status::InvalidArgument(fmt::format("option symbols: {}", opened.status().message()));
    symbols = std::move(*opened);
  }
  return std::unique_ptr<Stage>(std::make_unique<EnrichStack>(std::move(symbols)));
}

}  // namespace

Registry::Entry EnrichStackEntry() { return {Describe(), Make}; }

}  // namespace etwpipe
