// Parsing of a command's arguments, and its help.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pipeline/status.h"
#include "tools/subcommand.h"

namespace etwpipe {

/// What was asked of a command.
struct ParsedCommandLine {
  bool help = false;  ///< --help: nothing else was checked
  std::vector<std::string> arguments;
};

/// Parses `words` (without program and command name) into the command's members. Unknown options, missing values and
/// a wrong number of arguments are errors with a hint.
Result<ParsedCommandLine> ParseCommandLine(Subcommand& command, const std::vector<std::string>& words);

/// The page `etwpipe COMMAND --help` prints.
std::string HelpText(Subcommand& command);

/// "; did you mean a, b?" for names close to `wanted`, otherwise `otherwise`.
std::string DidYouMean(std::string_view wanted, const std::vector<std::string>& known, std::string_view otherwise);

}  // namespace etwpipe
