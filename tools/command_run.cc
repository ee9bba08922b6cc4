// etwpipe run: the pipeline.
#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <filesystem>

#include "tools/command_line.h"
#include "tools/commands.h"
#include "tools/common_options.h"
#include "tools/config_file.h"
#include "tools/filter_options.h"
#include "tools/many_runs.h"
#include "tools/output_choice.h"
#include "tools/run_job.h"
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
                "standard error; --summary json to standard output, unless OUTPUT is -.\n\n"
                "With INPUT... -d FOLDER --to FORMAT each INPUT goes to a file of its name in FOLDER. A file that "
                "fails does not stop the others; "
                "the exit status\nis then that of the first that failed. --verify reads the output back before it "
                "gets its name: its structure and\nchecksums, and where no stage drops, changes or adds events, every "
                "byte of every event against INPUT.",
            .examples =
                "  etwpipe run trace.etl -o trace.etwp\n"
                "  etwpipe run trace.etl -o small.etl --time 10s..20s --where 'level <= 4'\n"
                "  etwpipe run trace.etwp -o process.etl --stage filter.process:1234\n"
                "  etwpipe run *.etl -d archive/ --to etwp --jobs 4 --skip-existing --verify\n"
                "  etwpipe run --print-config --where 'pid == 4'",
            .min_arguments = 0,
            .max_arguments = kAnyNumber};
  }

  void AddOptions(po::options_description& options) override {
    output_.Add(options);
    filter_.Add(options);
    options.add_options()  //
        ("dir,d", po::value(&folder_)->value_name("FOLDER")->notifier([this](const auto&) { many_ = true; }),
         "write each INPUT to a file of its name in FOLDER; with --to")(
            "jobs", po::value(&jobs_)->value_name("N"), "with -d: files worked on at a time (default: 1)")(
            "skip-existing", po::bool_switch(&skip_existing_), "with -d: pass over files that are in FOLDER already")(
            "verify", po::bool_switch(&verify_), "check OUTPUT before it gets its name");
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
    const auto plan = PlanFor(*config, args.registry, output_);
    if (!plan.ok()) return plan.status();
    if (print_config_) return Print(PrintConfig(*config));
    ETWPIPE_RETURN_IF_ERROR(CheckCombination(args));
    if (dry_run_ && args.arguments.empty()) return Print(plan->ToText());

    if (args.arguments.empty()) return Status::InvalidArgument("run: INPUT is missing; see etwpipe run --help");
    const auto surveyors = schemas_.Surveyors();
    if (!surveyors.ok()) return surveyors.status();
    const RunSettings settings{.config = *config,
                               .registry = args.registry,
                               .surveyors = *surveyors,
                               .spool_dir = read_.spool_dir,
                               .threads = read_.threads,
                               .verify = verify_,
                               .check_all = fail_on_.WantsDamage(),
                               .drop_annotations = drop_annotations_,
                               .notes = !quiet_,
                               .progress = !quiet_};
    return folder_.empty() ? RunOne(args, settings, *plan) : RunMany(args, settings, *plan);
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

  Status CheckCombination(const CommandArgs& args) const {
    if (many_ && folder_.empty()) return Status::InvalidArgument("-d: FOLDER is empty; -d . is this one");
    if (!folder_.empty() && !output_.path.empty()) {
      return Status::InvalidArgument("-o and -d: give one of them, a file or a folder");
    }
    if (folder_.empty() && args.arguments.size() > 1) {
      return Status::InvalidArgument(
          fmt::format("run: {} inputs need a folder for their outputs: -d FOLDER --to etwp", args.arguments.size()));
    }
    if (folder_.empty() && (skip_existing_ || jobs_ != 1)) {
      return Status::InvalidArgument("--jobs and --skip-existing: only with -d FOLDER");
    }
    return {};
  }

  Status CheckOutput(const std::string& input) {
    if (output_.path.empty()) return Status::InvalidArgument("run: -o OUTPUT is missing; see etwpipe run --help");
    ETWPIPE_RETURN_IF_ERROR(output_.Check());
    if (verify_ && output_.path == "-") {
      return Status::InvalidArgument("--verify: cannot look at standard output; write to a file");
    }
    ETWPIPE_RETURN_IF_ERROR(CheckVerify());
    if (SameFile(input, output_.path)) {
      return Status::InvalidArgument(
          fmt::format("{}: is input and output at once; write to another file", output_.path));
    }
    return {};
  }

  Status CheckVerify() const {
    if (!verify_ || output_.to == "etl" || output_.to == "etwp") return {};
    return Status::InvalidArgument(fmt::format("--verify: nothing reads {} back; use it with etl or etwp", output_.to));
  }

  Status RunOne(const CommandArgs& args, const RunSettings& settings, const Plan& plan) {
    const std::string& input = args.arguments.front();
    if (!dry_run_ || !output_.path.empty()) ETWPIPE_RETURN_IF_ERROR(CheckOutput(input));
    if (dry_run_) {
      const auto source = OpenForRun(settings, input, output_, plan, nullptr, args.cancel);
      return source.ok() ? Print(plan.ToText()) : source.status();
    }
    const auto outcome = RunJob(settings, input, output_, args.cancel);
    if (!outcome.ok()) return outcome.status();
    ETWPIPE_RETURN_IF_ERROR(PrintReport(outcome->report));
    return fail_on_.Judge(input, outcome->info, *outcome->report.diagnostics);
  }

  Status RunMany(const CommandArgs& args, RunSettings settings, const Plan& plan) {
    if (output_.to.empty()) return Status::InvalidArgument("-d: say what to write: --to etl|etwp|ndjson|csv");
    ETWPIPE_RETURN_IF_ERROR(output_.Check());
    ETWPIPE_RETURN_IF_ERROR(CheckVerify());
    if (jobs_ < 1) return Status::InvalidArgument(fmt::format("--jobs {}: must be at least 1", jobs_));
    ManyRuns runs;
    runs.inputs = args.arguments;
    runs.folder = folder_;
    runs.output = output_;
    runs.jobs = jobs_;
    runs.skip_existing = skip_existing_;
    runs.json = summary_ == "json";
    runs.quiet = quiet_;
    if (dry_run_) {
      const auto outputs = OutputPaths(runs);
      if (!outputs.ok()) return outputs.status();
      std::string text = plan.ToText();
      for (size_t i = 0; i < outputs->size(); ++i) text += fmt::format("{} -> {}\n", runs.inputs[i], (*outputs)[i]);
      return Print(text);
    }
    settings.threads = std::max(1, settings.threads / jobs_);
    return etwpipe::RunMany(runs, settings, fail_on_, args.cancel);
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
  bool verify_ = false;
  bool many_ = false;  // -d is given
  std::string folder_;
  int jobs_ = 1;
  bool skip_existing_ = false;
};

}  // namespace

std::unique_ptr<Subcommand> MakeRunCommand() { return std::make_unique<RunCommand>(); }

}  // namespace etwpipe
