// The program: finds the sub-command, runs it, turns its status into an exit code.
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <zstd.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "formats/etwp/frame.h"
#include "pipeline/platform.h"
#include "stages/register_stages.h"
#include "tools/command_line.h"
#include "tools/commands.h"
#include "tools/standard_output.h"
#include "tools/table.h"
#include "tools/version.h"

namespace etwpipe {
namespace {

constexpr int kSignalBase = 128;

using Commands = std::vector<std::unique_ptr<Subcommand>>;

Commands MakeCommands() {
  Commands commands;
  commands.push_back(MakeInfoCommand());
  commands.push_back(MakeStatsCommand());
  commands.push_back(MakeDumpCommand());
  commands.push_back(MakeRunCommand());
  commands.push_back(MakeDiffCommand());
  commands.push_back(MakeVerifyCommand());
  commands.push_back(MakeStagesCommand());
  commands.push_back(MakeExplainEventCommand());
  commands.push_back(MakeMethodsCommand());
  commands.push_back(MakeAnalyzeCommand());
  return commands;
}

std::string ProgramHelp(const Commands& commands) {
  Table table({{""}, {""}, {""}});
  for (const auto& command : commands) {
    const CommandHelp help = command->help();
    table.Add({std::string(help.name), std::string(help.arguments), std::string(help.summary)});
  }
  return fmt::format(
      "etwpipe: relogger and trace pipeline for Event Tracing for Windows\n\n"
      "usage: etwpipe COMMAND [options] ...\n\n{}\n"
      "etwpipe COMMAND --help tells more of one; etwpipe --version names versions. - is standard input or output.\n"
      "Exit status: 0 done, 1 internal error, 2 usage or config, 3 the answer is no, 4 input, 5 output,\n"
      "129, 130 or 143 stopped by a signal.\n\n"
      "example:\n  etwpipe run trace.etl -o small.etwp --where 'level <= 4'\n",
      table.ToText("  "));
}

std::string VersionText() {
  return fmt::format("etwpipe {}\narchive format {}\nzstd {}\n", kProgramVersion, etwp::kFormatVersion,
                     ZSTD_versionString());
}

Subcommand* FindCommand(const Commands& commands, const std::string& name) {
  const auto found =
      std::find_if(commands.begin(), commands.end(), [&](const auto& command) { return command->help().name == name; });
  return found == commands.end() ? nullptr : found->get();
}

Status NoSuchCommand(const Commands& commands, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& command : commands) names.emplace_back(command->help().name);
  const char* kind = name.starts_with('-') ? "option" : "command";
  return Status::InvalidArgument(
      fmt::format("{}: no such {}{}", name, kind, DidYouMean(name, names, "; etwpipe --help lists them")));
}

// `words` is the command line without the program's name.
Status Dispatch(std::vector<std::string> words, const CancelToken& cancel) {
  const Commands commands = MakeCommands();
  if (words.empty()) return Status::InvalidArgument("no command; etwpipe --help lists them");
  if (words[0] == "--version") return Print(VersionText());
  if (words[0] == "--help" || words[0] == "-h" || (words[0] == "help" && words.size() == 1)) {
    return Print(ProgramHelp(commands));
  }
  if (words[0] == "help") words = {words[1], "--help"};
  Subcommand* command = FindCommand(commands, words[0]);
  if (command == nullptr) return NoSuchCommand(commands, words[0]);

  words.erase(words.begin());
  const auto parsed = ParseCommandLine(*command, words);
  if (!parsed.ok()) return parsed.status();
  if (parsed->help) return Print(HelpText(*command));
  Registry registry;
  RegisterStages(registry);
  return command->Run({parsed->arguments, registry, cancel});
}

int ExitCode(const Status& status, const CancelToken& cancel) {
  if (status.code() != StatusCode::kCancelled) return static_cast<int>(status.code());
  return kSignalBase + (cancel.cancelled() ? cancel.signal() : 2);
}

int Main(int argc, char** argv) {
  UseLargePages();
  // Hashes need no openssl.cnf, and reading it is 7 % of a run over a small file.
  OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
  static CancelToken cancel;  // outlives every signal
  InstallSignalHandlers(&cancel);
  Status status;
  try {
    status = Dispatch(std::vector<std::string>(argv + std::min(argc, 1), argv + argc), cancel);
  } catch (const std::bad_alloc&) {
    status = Status::Internal("out of memory");
  } catch (const std::exception& error) {
    status = Status::Internal(fmt::format("internal error: {}", error.what()));
  }
  if (!status.message().empty()) PrintError(status.message());
  return ExitCode(status, cancel);
}

}  // namespace
}  // namespace etwpipe

int main(int argc, char** argv) { return etwpipe::Main(argc, argv); }
