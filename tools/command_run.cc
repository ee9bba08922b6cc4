// etwpipe run: the pipeline.
#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <filesystem>

#include "formats/etl/etl_source.h"
#include "formats/etwp/etwp_source.h"
#include "formats/etwp/restore.h"
#include "formats/open.h"
#include "pipeline/executor.h"
#include "tools/command_line.h"
#include "tools/commands.h"
#include "tools/common_options.h"
#include "tools/config_file.h"
#include "tools/filter_options.h"
#include "tools/output_choice.h"
#include "tools/progress_line.h"
#include "tools/run_report.h"
#include "tools/schema_recorder.h"
#include "tools/standard_output.h"

namespace etwpipe {
namespace {

namespace po = boost::program_options;

bool SameFile(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return a != "-" && b != "-" && std::filesystem::equivalent(a, b, ignored);
}

class RunCommand final : public Subcommand {
 public:
  CommandHelp help() const override {
    return {.name = "run",
            .summary = "Runs a trace through stages into a new .etl, .etwp, ndjson or csv.",
            .arguments = "INPUT -o OUTPUT",
            .details =
                "Stages run in this order: those of --config, then --time, then --where, then each --stage as "
                "given. An .etwp made\nwithout stages restores its original when it is run into an .etl "
                "without stages. OUTPUT appears under its name only\nwhen it is complete. The summary goes to "
                "standard error; --summary json to standard output, unless OUTPUT is -.",
            .examples =
                "  etwpipe run trace.etl -o trace.etwp\n"
                "  etwpipe run trace.etl -o small.etl --time 10s..20s --where 'level <= 4'\n"
                "  etwpipe run trace.etwp -o process.etl --stage filter.process:1234\n"
                "  etwpipe run --print-config --where 'pid == 4'",
            .min_arguments = 0,
            .max_arguments = 1};
  }

  void AddOptions(po::options_description& options) override {
    output_.Add(options);
    filter_.Add(options);
    options.add_options()                                                                                            //
        ("stage", po::value(&stages_)->value_name("NAME[:OPTION=VALUE,...]"), "add a stage; see etwpipe stages")     //
        ("config", po::value(&config_)->value_name("FILE"), "stages from a file (.textproto or JSON)")               //
        ("print-config", po::bool_switch(&print_config_), "print the config and do nothing else")                    //
        ("dry-run", po::bool_switch(&dry_run_), "check everything, print the plan and do nothing else")              //
        ("drop-annotations", po::bool_switch(&drop_annotations_), "do not mention annotations OUTPUT cannot store")  //
        ("summary", po::value(&summary_)->value_name("text|json"), "how to print the summary (default: text)")       //
        ("quiet,q", po::bool_switch(&quiet_), "no summary, no progress, no notes");
    schemas_.Add(options);
    fail_on_.Add(options);
    read_.Add(options);
  }

  Status Run(const CommandArgs& args) override {
    ETWPIPE_RETURN_IF_ERROR(fail_on_.Check());
    ETWPIPE_RETURN_IF_ERROR(read_.Check());
    ETWPIPE_RETURN_IF_ERROR(CheckChoice("--summary", summary_, {"text", "json"}));
    const auto config = BuildConfig(args.registry);
    if (!config.ok()) return config.status();
    auto plan = MakePlan(*config, args.registry);
    if (!plan.ok()) return plan.status();
    if (output_.embed_schemas) plan->Append(std::make_unique<SchemaRecorder>());
    if (print_config_) return Print(PrintConfig(*config));
    if (dry_run_ && args.arguments.empty()) return Print(plan->ToText());

    if (args.arguments.empty()) return Status::InvalidArgument("run: INPUT is missing; see etwpipe run --help");
    const auto surveyors = schemas_.Surveyors();
    if (!surveyors.ok()) return surveyors.status();
    const std::string& input = args.arguments.front();
    if (!dry_run_ || !output_.path.empty()) ETWPIPE_RETURN_IF_ERROR(CheckOutput(input));
    return RunPlan(input, *plan, *surveyors, args);
  }

 private:
  Result<v1::PipelineConfig> BuildConfig(const Registry& registry) const {
    v1::PipelineConfig config;
    if (!config_.empty()) {
      auto read = ReadConfig(config_);
      if (!read.ok()) return read.status();
      config = std::move(*read);
    }
    ETWPIPE_RETURN_IF_ERROR(filter_.AppendTo(config, registry));
    for (const auto& argument : stages_) {
      auto stage = ParseStageArgument(argument, registry);
      if (!stage.ok()) return stage.status();
      *config.add_stages() = std::move(*stage);
    }
    return config;
  }

  Status CheckOutput(const std::string& input) {
    if (output_.path.empty()) return Status::InvalidArgument("run: -o OUTPUT is missing; see etwpipe run --help");
    ETWPIPE_RETURN_IF_ERROR(output_.Check());
    if (SameFile(input, output_.path)) {
      return Status::InvalidArgument(
          fmt::format("{}: is input and output at once; write to another file", output_.path));
    }
    return {};
  }

  Status RunPlan(const std::string& input, Plan& plan, const SurveyorFactory& surveyors,
                 const CommandArgs& args) const {
    const double started = MonotonicSeconds();
    Diagnostics diagnostics;
    const bool may_restore = output_.to == "etl" && output_.compress == "auto" && plan.stages.empty();
    auto source = OpenSource(input, {.spool_dir = read_.spool_dir,
                                     .several_passes = may_restore || plan.analysis_passes > 0 ||
                                                       plan.facts != kNoFacts || output_.NeedsFacts(),
                                     .diagnostics = &diagnostics});
    if (!source.ok()) return source.status();
    if (dry_run_) return Print(plan.ToText());
    const TraceInfo& info = (*source)->context().info;
    if (input == "-" && info.format == "etl")
      Note("standard input: an .etl needs its end first; copied to a spool file");

    RunReport report{.input = input, .output = output_.path, .diagnostics = diagnostics};
    ProgressLine progress(quiet_);
    const auto* archive = dynamic_cast<const etwp::EtwpSource*>(source->get());
    std::string why_not;
    const bool restore = may_restore && archive != nullptr && etwp::CanRestore(archive->archive(), why_not);
    if (!why_not.empty() && etwp::MeantToRestore(archive->archive())) {
      Note(fmt::format("{}: cannot give its original back: {}; written anew", input, why_not));
    }
    bool relog = !restore;
    if (restore) {
      const Status restored = Restore(*archive, progress, args.cancel, report);
      relog = restored.code() == StatusCode::kInput;
      if (!relog) ETWPIPE_RETURN_IF_ERROR(restored);
      if (relog) PrintNote(fmt::format("{}; the events that can be read are written anew", restored.message()));
    }
    if (relog) ETWPIPE_RETURN_IF_ERROR(Relog(**source, plan, surveyors, diagnostics, progress, args.cancel, report));
    report.bytes_in = std::max(info.file_size, progress.bytes_done());
    report.seconds = MonotonicSeconds() - started;
    progress.Clear();
    ETWPIPE_RETURN_IF_ERROR(PrintReport(report));
    return fail_on_.Judge(input, info, diagnostics);
  }

  Status Relog(Source& source, Plan& plan, const SurveyorFactory& surveyors, Diagnostics& diagnostics,
               ProgressLine& progress, const CancelToken& cancel, RunReport& report) const {
    const auto* recording = dynamic_cast<const etl::EtlSource*>(&source);
    std::function<std::string()> schemas;
    if (output_.embed_schemas) {
      const auto* recorder = static_cast<const SchemaRecorder*>(plan.stages.back().stage.get());
      schemas = [recorder] { return recorder->Text(); };
    }
    const auto sink = output_.MakeSink(read_.spool_dir, recording == nullptr ? nullptr : recording->file(), schemas);
    const bool all_kept = std::all_of(plan.stages.begin(), plan.stages.end(), [](const PlannedStage& planned) {
      const StageInfo& info = planned.stage->info();
      return info.produces.empty() || info.name == "enrich.method" || info.name == "annotate.activity";
    });
    if (!all_kept && !sink->info().stores_annotations && !drop_annotations_) {
      Note(fmt::format("{}: an .{} stores no annotations; --drop-annotations hides this note", output_.path,
                       output_.to));
    }
    const auto summary = Execute({.source = source,
                                  .plan = plan,
                                  .sink = *sink,
                                  .threads = read_.threads,
                                  .diagnostics = &diagnostics,
                                  .progress = &progress,
                                  .cancel = &cancel,
                                  .surveyors = surveyors});
    if (!summary.ok()) return summary.status();
    report.summary = *summary;
    report.bytes_out = sink->bytes_written();
    return {};
  }

  // The original .etl out of an exact archive. Damage of the archive is an error here; whoever then reads its events
  // counts it.
  Status Restore(const etwp::EtwpSource& archive, ProgressLine& progress, const CancelToken& cancel,
                 RunReport& report) const {
    const auto out = OutputFile::Create(output_.path, output_.force, OutputFile::Stdout::kSpool, read_.spool_dir);
    if (!out.ok()) return out.status();
    const auto restored = etwp::RestoreEtl(
        archive.shared_archive(), **out,
        {.spool_dir = read_.spool_dir, .diagnostics = nullptr, .progress = &progress, .cancel = &cancel});
    if (!restored.ok()) return restored.status();
    ETWPIPE_RETURN_IF_ERROR((*out)->Commit());
    report.summary.events_in = restored->events;
    report.summary.events_out = restored->events;
    report.bytes_out = (*out)->size();
    report.restored = restored->identical ? "identical" : "equivalent";
    if (!restored->checked) {
      Note(fmt::format("{}: an older archive without a hash of its buffers; the original was restored unchecked",
                       archive.archive().file()->path()));
    }
    return {};
  }

  void Note(const std::string& text) const {
    if (!quiet_) PrintNote(text);
  }

  Status PrintReport(const RunReport& report) const {
    if (summary_ == "json" && output_.path != "-") return Print(report.ToJson());
    if (summary_ == "json") {
      PrintToError(report.ToJson());
    } else if (!quiet_) {
      PrintToError(report.ToText());
    }
    return {};
  }

  OutputOptions output_;
  FilterOptions filter_;
  SchemaOptions schemas_;
  FailOnOption fail_on_;
  ReadOptions read_;
  std::vector<std::string> stages_;
  std::string config_;
  std::string summary_ = "text";
  bool print_config_ = false;
  bool dry_run_ = false;
  bool drop_annotations_ = false;
  bool quiet_ = false;
};

}  // namespace

std::unique_ptr<Subcommand> MakeRunCommand() { return std::make_unique<RunCommand>(); }

}  // namespace etwpipe
