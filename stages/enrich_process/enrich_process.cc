#include "stages/enrich_process/enrich_process.h"

#include <memory>

#include "formats/facts/process_table.h"
#include "formats/facts/record_owner.h"
#include "formats/facts/thread_table.h"
#include "pipeline/object_pool.h"
#include "stages/enrich_process/options.pb.h"

namespace etwpipe {
namespace {

const AnnotationInfo kProcess{"enrich.process.process", AnnotationType::kString, AnnotationUnit::kNone, {}};
const AnnotationInfo kInstance{
    "enrich.process.process_instance", AnnotationType::kInstanceId, AnnotationUnit::kNone, {}};
const AnnotationInfo kThreadName{"enrich.process.thread", AnnotationType::kString, AnnotationUnit::kNone, {}};
const AnnotationInfo kPid{"enrich.process.pid", AnnotationType::kU64, AnnotationUnit::kNone, {}};
const AnnotationInfo kTid{"enrich.process.tid", AnnotationType::kU64, AnnotationUnit::kNone, {}};

StageInfo Describe() {
  StageInfo info;
  info.name = "enrich.process";
  info.summary = "adds process and thread names; finds the process of records that carry none";
  info.example = "enrich.process";
  info.options = v1::EnrichProcessOptions::descriptor();
  info.needs = StageNeeds::kPayload;
  info.facts = kProcesses | kThreads | kCpuState;
  info.produces = {kProcess, kInstance, kThreadName, kPid, kTid};
  return info;
}

class EnrichProcess : public Stage {
 public:
  explicit EnrichProcess(bool payload_only) : info_(Describe()) {
    if (payload_only) info_.facts = kProcesses | kThreads;
  }

  const StageInfo& info() const override { return info_; }

  Status Bind(const BindArgs& args) override {
    scratches_.Clear();  // they belong to the trace before
    processes_ = args.trace.facts->Get<facts::ProcessTable>();
    threads_ = args.trace.facts->Get<facts::ThreadTable>();
    return {};
  }

  Status Process(const ProcessArgs& args) const override {
    EventBatch& batch = args.batch;
    // Adding a column moves the others.
    for (const auto& column : info_.produces) batch.AddAnnotation(column);
    const Columns columns{*batch.FindAnnotation(kProcess.name), *batch.FindAnnotation(kInstance.name),
                          *batch.FindAnnotation(kThreadName.name), *batch.FindAnnotation(kPid.name),
                          *batch.FindAnnotation(kTid.name)};
    auto scratch = scratches_.Take([&] { return std::make_unique<facts::OwnerScratch>(args.trace, true); });
    for (const uint16_t index : batch.selection) {
      const EventHeader& row = batch.rows[index];
      if (const auto owner = facts::OwnerOf(row, args.trace, *scratch)) Annotate(row, index, *owner, columns);
    }
    scratches_.Give(std::move(scratch));
    return {};
  }

 private:
  struct Columns {
    AnnotationColumn& process;
    AnnotationColumn& instance;
    AnnotationColumn& thread;
    AnnotationColumn& pid;
    AnnotationColumn& tid;
  };

  void Annotate(const EventHeader& row, size_t index, const facts::RecordOwner& owner, const Columns& columns) const {
    if (!row.has(kHasPid) || row.pid != owner.pid || row.tid != owner.tid) {
      if (owner.pid != kNoId) columns.pid.SetU64(index, owner.pid);
      if (owner.tid != kNoId) columns.tid.SetU64(index, owner.tid);
    }
    if (processes_ != nullptr && owner.pid != kNoId) {
      if (const auto* process = processes_->Find(owner.pid, row.timestamp)) {
        if (!process->image.empty()) columns.process.SetString(index, process->image);
        if (process->first_record != 0) columns.instance.SetU64(index, process->first_record);
      }
    }
    if (threads_ != nullptr && owner.tid != kNoId) {
      const auto* thread = threads_->Find(owner.tid, row.timestamp);
      if (thread != nullptr && !thread->name.empty()) columns.thread.SetString(index, thread->name);
    }
  }

  StageInfo info_;
  const facts::ProcessTable* processes_ = nullptr;
  const facts::ThreadTable* threads_ = nullptr;
  mutable ObjectPool<facts::OwnerScratch> scratches_;
};

Result<std::unique_ptr<Stage>> Make(const google::protobuf::Message& message) {
  const auto& options = static_cast<const v1::EnrichProcessOptions&>(message);
  return std::unique_ptr<Stage>(std::make_unique<EnrichProcess>(options.payload_only()));
}

}  // namespace

Registry::Entry EnrichProcessEntry() { return {Describe(), Make}; }

}  // namespace etwpipe
