// The explicit list of sub-commands.
#pragma once

#include <memory>
#include <vector>

#include "tools/subcommand.h"

namespace etwpipe {

std::unique_ptr<Subcommand> MakeInfoCommand();
std::unique_ptr<Subcommand> MakeStatsCommand();
std::unique_ptr<Subcommand> MakeDumpCommand();
std::unique_ptr<Subcommand> MakeRunCommand();
std::unique_ptr<Subcommand> MakeDiffCommand();
std::unique_ptr<Subcommand> MakeVerifyCommand();
std::unique_ptr<Subcommand> MakeStagesCommand();
std::unique_ptr<Subcommand> MakeExplainEventCommand();
std::unique_ptr<Subcommand> MakeMethodsCommand();
std::unique_ptr<Subcommand> MakeAnalyzeCommand();

}  // namespace etwpipe
