#include "tools/run_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "formats/etl/etl_source.h"
#include "formats/etwp/etwp_source.h"
#include "formats/etwp/restore.h"
#include "formats/open.h"
#include "formats/verify_against.h"
#include "pipeline/executor.h"
#include "tools/progress_line.h"
#include "tools/schema_recorder.h"
#include "tools/standard_output.h"

namespace etwpipe {
namespace {

bool MayRestore(const OutputOptions& output, const Plan& plan) {
  return output.to == "etl" && output.compress == "auto" && plan.stages.empty();
}

class Job {
 public:
  Job(const RunSettings& settings, const std::string& input, const OutputOptions& output, const CancelToken& cancel)
      : settings_(settings), input_(input), output_(output), cancel_(cancel), progress_(!settings.progress) {}

  Result<RunOutcome> Run() {
    const double started = MonotonicSeconds();
    auto plan = PlanFor(settings_.config, settings_.registry, output_);
    if (!plan.ok()) return plan.status();
    report_.input = input_;
    report_.output = output_.path;
    auto source = OpenForRun(settings_, input_, output_, *plan, report_.diagnostics.get(), cancel_);
    if (!source.ok()) return source.status();
    const TraceInfo& info = (*source)->context().info;
    if (input_ == "-" && info.format == "etl")
      Note("standard input: an .etl needs its end first; copied to a spool file");

    const auto* archive = dynamic_cast<const etwp::EtwpSource*>(source->get());
    std::string why_not;
    const bool restore =
        MayRestore(output_, *plan) && archive != nullptr && etwp::CanRestore(archive->archive(), why_not);
    if (!why_not.empty() && etwp::MeantToRestore(archive->archive())) {
      Note(fmt::format("{}: cannot give its original back: {}; written anew", input_, why_not));
      report_.diagnostics->AddCount(DiagnosticId::kNotRestored, 1);
    }
    bool relog = !restore;
    if (restore) {
      const Status restored = Restore(*archive);
      relog = restored.code() == StatusCode::kInput;
      if (!relog) ETWPIPE_RETURN_IF_ERROR(restored);
      if (relog) {
        PrintNote(fmt::format("{}; the events that can be read are written anew", restored.message()));
        report_.diagnostics->AddCount(DiagnosticId::kNotRestored, 1);
      }
    }
    if (relog) ETWPIPE_RETURN_IF_ERROR(Relog(**source, *plan));
    report_.bytes_in = std::max(info.file_size, progress_.bytes_done());
    report_.seconds = MonotonicSeconds() - started;
    progress_.Clear();
    return RunOutcome{std::move(report_), info};
  }

 private:
  Status Relog(Source& source, Plan& plan) {
    const auto* recording = dynamic_cast<const etl::EtlSource*>(&source);
    const auto* archive = dynamic_cast<const etwp::EtwpSource*>(&source);
    const auto original = recording != nullptr ? recording->file()
                          : archive != nullptr ? archive->archive().file()
                                               : std::shared_ptr<InputFile>();
    std::function<std::string()> schemas;
    if (output_.embed_schemas) {
      const auto* recorder = static_cast<const SchemaRecorder*>(plan.stages.back().stage.get());
      schemas = [recorder] { return recorder->Text(); };
    }
    OutputCheck check;
    if (settings_.verify) {
      check = [&, original](const std::shared_ptr<InputFile>& written) { return Verify(written, original, plan); };
    }
    const auto sink = output_.MakeSink(settings_.spool_dir, recording == nullptr ? nullptr : original,
                                       std::move(schemas), std::move(check));
    const bool all_kept = std::all_of(plan.stages.begin(), plan.stages.end(), [](const PlannedStage& planned) {
      const StageInfo& info = planned.stage->info();
      return info.produces.empty() || info.name == "enrich.method" || info.name == "annotate.activity";
    });
    if (!all_kept && !sink->info().stores_annotations && !settings_.drop_annotations) {
      Note(fmt::format("{}: {} stores no annotations; --drop-annotations hides this note", output_.path,
                       output_.layout == "rows" ? "an .etwp of rows" : "an ." + output_.to));
    }
    const auto summary = Execute({.source = source,
                                  .plan = plan,
                                  .sink = *sink,
                                  .threads = settings_.threads,
                                  .diagnostics = report_.diagnostics.get(),
                                  .progress = &progress_,
                                  .cancel = &cancel_,
                                  .surveyors = settings_.surveyors});
    if (!summary.ok()) return summary.status();
    report_.summary = *summary;
    report_.bytes_out = sink->bytes_written();
    return {};
  }

  // The written output before it gets its name.
  Status Verify(const std::shared_ptr<InputFile>& written, const std::shared_ptr<InputFile>& original,
                const Plan& plan) {
    auto findings = VerifyStructure(written, settings_.threads, &cancel_);
    if (!findings.ok()) return findings.status();
    const bool same_events = std::none_of(plan.stages.begin(), plan.stages.end(), [](const PlannedStage& planned) {
      const StageInfo& info = planned.stage->info();
      return info.drops || info.rewrites || info.injects;
    });
    if (same_events) {
      auto compared = VerifyAgainst(written, original, settings_.threads, &cancel_);
      if (!compared.ok()) return compared.status();
      std::move(compared->begin(), compared->end(), std::back_inserter(*findings));
    }
    std::vector<VerifyFinding> of_original;  // once an error asks for them
    for (const auto& finding : *findings) {
      if (finding.level != VerifyFinding::Level::kError) continue;
      if (of_original.empty()) {
        auto looked_at = VerifyStructure(original, settings_.threads, &cancel_);
        if (!looked_at.ok()) return looked_at.status();
        of_original = std::move(*looked_at);
      }
      const bool copied = std::any_of(of_original.begin(), of_original.end(), [&](const VerifyFinding& before) {
        return before.check == finding.check && before.level == finding.level;
      });
      const std::string what = fmt::format("{}: --verify: {}: {}", output_.path, finding.check, finding.text);
      if (!copied) return Status::Output(what + "; not kept");
      Note(fmt::format("{}; the same is wrong in {}", what, input_));
    }
    const bool buffers = same_events && findings->back().level == VerifyFinding::Level::kOk;
    report_.verified = buffers ? "bytes" : same_events ? "events" : "structure";
    return {};
  }

  // The original .etl out of an exact archive. Damage of the archive is an error here; whoever then reads its events
  // counts it.
  Status Restore(const etwp::EtwpSource& archive) {
    const auto out = OutputFile::Create(output_.path, output_.force, OutputFile::Stdout::kSpool, settings_.spool_dir);
    if (!out.ok()) return out.status();
    const auto restored = etwp::RestoreEtl(archive.shared_archive(), **out,
                                           {.spool_dir = settings_.spool_dir,
                                            .diagnostics = nullptr,
                                            .progress = &progress_,
                                            .cancel = &cancel_,
                                            .threads = settings_.threads});
    if (!restored.ok()) return restored.status();
    ETWPIPE_RETURN_IF_ERROR((*out)->Commit());
    report_.summary.events_in = restored->events;
    report_.summary.events_out = restored->events;
    report_.bytes_out = (*out)->size();
    report_.restored = restored->identical ? "identical" : "equivalent";
    if (settings_.verify && restored->checked) report_.verified = "bytes";
    if (!restored->checked) {
      Note(fmt::format("{}: an older archive without a hash of its buffers; the original was restored unchecked",
                       archive.archive().file()->path()));
    }
    return {};
  }

  void Note(const std::string& text) const {
    if (settings_.notes) PrintNote(text);
  }

  const RunSettings& settings_;
  const std::string& input_;
  const OutputOptions& output_;
  const CancelToken& cancel_;
  ProgressLine progress_;
  RunReport report_;
};

}  // namespace

Result<Plan> PlanFor(const v1::PipelineConfig& config, const Registry& registry, const OutputOptions& output) {
  auto plan = MakePlan(config, registry);
  if (plan.ok() && output.embed_schemas) plan->Append(std::make_unique<SchemaRecorder>());
  return plan;
}

Result<std::unique_ptr<Source>> OpenForRun(const RunSettings& settings, const std::string& input,
                                           const OutputOptions& output, const Plan& plan, Diagnostics* diagnostics,
                                           const CancelToken& cancel) {
  return OpenSource(input, {.spool_dir = settings.spool_dir,
                            .several_passes = MayRestore(output, plan) || plan.analysis_passes > 0 ||
                                              plan.facts != kNoFacts || output.NeedsFacts() || settings.verify,
                            .check_all = settings.check_all,
                            .diagnostics = diagnostics,
                            .cancel = &cancel});
}

Result<RunOutcome> RunJob(const RunSettings& settings, const std::string& input, const OutputOptions& output,
                          const CancelToken& cancel) {
  return Job(settings, input, output, cancel).Run();
}

}  // namespace etwpipe
