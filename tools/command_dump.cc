// etwpipe dump: events as text, ndjson or csv.
#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <cstdint>
#include <optional>

#include "tools/commands.h"
#include "tools/common_options.h"
#include "tools/filter_options.h"
#include "tools/per_file.h"
#include "tools/print_sink.h"
#include "tools/read_trace.h"

namespace etwpipe {
namespace {

namespace po = boost::program_options;

class DumpCommand final : public Subcommand {
 public:
  CommandHelp help() const override {
    return {.name = "dump",
            .summary = "Prints events in order of time, one per line.",
            .arguments = "FILE...",
            .details =
                "--limit counts per FILE. ndjson keys: id (EventInstanceId), ts (raw ticks), time, cpu, pid, "
                "tid, header, provider,\nprovider_name, name, event_id, version, opcode, level, task, keyword, "
                "size; fields, an object, null where no schema\ndescribes the event; message with --messages; "
                "payload with --payload hex and where fields is null; component_id for\nWPP messages without a "
                "GUID; activity_id, related_activity_id, stack, sid and others where the event has them. Ids\nand "
                "integers beyond 2^53 are strings.",
            .examples =
                "  etwpipe dump --limit 20 trace.etl\n"
                "  etwpipe dump --format ndjson --where 'pid == 4 and size > 90' --time 10s..20s trace.etl",
            .min_arguments = 1,
            .max_arguments = kAnyNumber};
  }

  void AddOptions(po::options_description& options) override {
    format_.Add(options, {"text", "ndjson", "csv"});
    filter_.Add(options);
    options.add_options()                                                                          //
        ("limit", po::value(&limit_)->value_name("N"), "stop after N events")                      //
        ("no-fields", po::bool_switch(&no_fields_), "print headers only; decodes nothing")         //
        ("messages", po::bool_switch(&messages_), "print message texts, filled in")                //
        ("payload", po::value(&payload_)->value_name("hex"), "print the payload's bytes as well")  //
        ("carriers", po::bool_switch(&carriers_), "show our own carrier events as well")           //
        ("local", po::bool_switch(&local_), "times in the recording machine's zone, not in UTC");
    schemas_.Add(options);
    fail_on_.Add(options);
    read_.Add(options);
  }

  Status Run(const CommandArgs& args) override {
    ETWPIPE_RETURN_IF_ERROR(format_.Check());
    ETWPIPE_RETURN_IF_ERROR(fail_on_.Check());
    ETWPIPE_RETURN_IF_ERROR(read_.Check());
    if (!payload_.empty()) ETWPIPE_RETURN_IF_ERROR(CheckChoice("--payload", payload_, {"hex"}));
    if (no_fields_ && messages_) {
      return Status::InvalidArgument("--no-fields and --messages: messages are made of fields; leave out one of them");
    }
    const auto surveyors = schemas_.Surveyors();
    if (!surveyors.ok()) return surveyors.status();
    const auto limit = ParseCount("--limit", limit_);
    if (!limit.ok()) return limit.status();
    return ForEachFile(args.arguments,
                       [&](const std::string& file) { return DumpFile(file, *limit, *surveyors, args); });
  }

 private:
  Status DumpFile(const std::string& file, std::optional<uint64_t> limit, const SurveyorFactory& surveyors,
                  const CommandArgs& args) const {
    auto plan = filter_.MakePlan(args.registry);
    if (!plan.ok()) return plan.status();
    PrintSinkOptions options;
    options.format = format_.value == "csv"      ? PrintFormat::kCsv
                     : format_.value == "ndjson" ? PrintFormat::kNdjson
                                                 : PrintFormat::kText;
    options.fields = !no_fields_;
    options.messages = messages_;
    options.payload = !payload_.empty();
    options.local = local_;
    options.limit = limit;
    PrintSink sink(options);
    Diagnostics diagnostics;
    const auto source = ReadTrace({.path = file,
                                   .options = read_,
                                   .sink = sink,
                                   .cancel = args.cancel,
                                   .diagnostics = &diagnostics,
                                   .plan = &*plan,
                                   .show_carriers = carriers_,
                                   .check_all = fail_on_.WantsDamage(),
                                   .surveyors = surveyors});
    if (!source.ok()) return sink.Settle(source.status());
    NoteDamage(file, diagnostics);
    return fail_on_.Judge(file, (*source)->context().info, diagnostics);
  }

  FormatOption format_;
  FilterOptions filter_;
  SchemaOptions schemas_;
  FailOnOption fail_on_;
  ReadOptions read_;
  std::string limit_;
  std::string payload_;
  bool carriers_ = false;
  bool local_ = false;
  bool no_fields_ = false;
  bool messages_ = false;
};

}  // namespace

std::unique_ptr<Subcommand> MakeDumpCommand() { return std::make_unique<DumpCommand>(); }

}  // namespace etwpipe
