// A step of the pipeline: filters, annotates or rewrites the events of a batch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/annotation.h"
#include "pipeline/batch.h"
#include "pipeline/diagnostics.h"
#include "pipeline/event_group.h"
#include "pipeline/facts.h"
#include "pipeline/source.h"
#include "pipeline/status.h"
#include "pipeline/trace_context.h"

namespace google::protobuf {
class Message;
class Descriptor;
}  // namespace google::protobuf

namespace etwpipe {

/// What a stage needs of an event beyond its header row.
enum class StageNeeds : uint8_t { kHeader, kPayload };

/// What a stage declares; the planner asks, stages do not negotiate.
struct StageInfo {
  std::string name;     ///< dotted, kind first: filter.where
  std::string summary;  ///< one line
  std::string example;  ///< one --stage argument that works
  /// Descriptor of its options message; its fields are the options of the command line.
  const google::protobuf::Descriptor* options = nullptr;
  std::string main_option;  ///< the field that one unnamed value sets; empty if none
  StageNeeds needs = StageNeeds::kHeader;
  FactSet facts = kNoFacts;  ///< fact tables it reads
  std::vector<std::string> needs_annotations;
  std::vector<AnnotationInfo> produces;
  Order order = Order::kPerCpu;  ///< order in which it must see events; an ordered stage runs one batch at a time
  bool ordered = false;          ///< keeps state from batch to batch
  bool drops = false;
  bool rewrites = false;
  bool injects = false;
  int analysis_passes = 0;  ///< passes over the unfiltered input before the transform pass
};

/// What a stage learns while running. Made by the stage, owned by the executor.
class StageState {
 public:
  virtual ~StageState() = default;
};

/// A number that a stage counted: method_ids, exact, 12. Counts of a group stand together, each name once.
struct StageCount {
  std::string_view group;
  std::string_view name;
  uint64_t count = 0;
};

/// Immutable while running: everything that changes lives in its StageState.
class Stage {
 public:
  Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  virtual ~Stage() = default;

  virtual const StageInfo& info() const = 0;

  struct BindArgs {
    const TraceContext& trace;
    bool stores_annotations = true;  ///< whether the sink keeps what stages annotate
  };
  /// Called once when the input is known, before any event: resolves names and times. What the stage drops, rewrites or
  /// injects may follow from it: info() counts as it is afterwards. An error ends the run.
  virtual Status Bind(const BindArgs&) { return {}; }

  /// For stages that drop: whether Process() would drop every event of the group and say nothing of it in the
  /// diagnostics. Asked after Bind(), so that a source need not read the group. It must be sure.
  virtual bool DropsAll(const EventGroup&) const { return false; }

  /// State for one run; null if the stage keeps none.
  virtual std::unique_ptr<StageState> NewState() const { return nullptr; }

  struct ProcessArgs {
    EventBatch& batch;  ///< only rows in its selection concern the stage
    const TraceContext& trace;
    StageState* state;         ///< null if NewState() made none
    Diagnostics* diagnostics;  ///< may be null
  };
  /// Sees a batch of an analysis pass (0-based `pass`): everything, unfiltered. Must not change it.
  virtual Status Analyze(const ProcessArgs&, int /*pass*/) const { return {}; }
  /// Transforms a batch. Batches come in sequence if info().ordered, else from several threads at once.
  /// A stage that injects (info().injects) puts its rows behind the ones they belong to, with kInjected and instance id
  /// 0; they get their ids in the order of the output. It sets args.batch.buffer to null, since the batch is no longer
  /// part of a buffer.
  virtual Status Process(const ProcessArgs& args) const = 0;
  /// After the last batch, for stages that inject: fills an empty batch with selected rows of its own, as above, and
  /// says whether it is to be asked again with another. The rows pass the stages behind this one and the sink, so their
  /// timestamps must not be below those of the trace.
  virtual Result<bool> AtEnd(const ProcessArgs& /*args*/) const { return false; }
  /// After AtEnd(): what the run's summary tells of the stage beside events in and dropped, zeros included. Views of
  /// literals. `state` is that of NewState().
  virtual std::vector<StageCount> Counts(const StageState* /*state*/) const { return {}; }
};

}  // namespace etwpipe
