// One sub-command of the program: its name, its help, its options, what it does.
#pragma once

#include <boost/program_options/options_description.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/progress.h"
#include "pipeline/registry.h"
#include "pipeline/status.h"

namespace etwpipe {

/// What the help of a command shows. Views of literals.
struct CommandHelp {
  std::string_view name;
  std::string_view summary;    ///< one line
  std::string_view arguments;  ///< as in the usage line: "FILE..."
  std::string_view details;    ///< paragraphs below the options; may be empty
  std::string_view examples;   ///< at least one line
  size_t min_arguments = 0;
  size_t max_arguments = 0;
};

constexpr size_t kAnyNumber = ~size_t{0};

/// What a command gets to run.
struct CommandArgs {
  const std::vector<std::string>& arguments;  ///< in number within the bounds of CommandHelp
  const Registry& registry;
  const CancelToken& cancel;
};

/// Made once per process; options are stored in the object itself.
class Subcommand {
 public:
  Subcommand() = default;
  Subcommand(const Subcommand&) = delete;
  Subcommand& operator=(const Subcommand&) = delete;
  virtual ~Subcommand() = default;

  virtual CommandHelp help() const = 0;
  /// Adds the options, bound to members.
  virtual void AddOptions(boost::program_options::options_description& options) = 0;
  /// A status of code kAnswerNo may have an empty message: the output said it already.
  virtual Status Run(const CommandArgs& args) = 0;
};

}  // namespace etwpipe
