#include "tools/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>

namespace etwpipe {
namespace {

namespace po = boost::program_options;

constexpr const char* kArguments = "argument";

// Everything but guessing: an abbreviation that works today would break a script when an option is added.
constexpr int kStyle = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;

void AddHelpOption(po::options_description& options) { options.add_options()("help,h", "show this page"); }

std::vector<std::string> LongNames(const po::options_description& options) {
  std::vector<std::string> names;
  for (const auto& option : options.options()) names.push_back("--" + option->long_name());
  return names;
}

std::string HelpHint(std::string_view command) { return fmt::format("; see etwpipe {} --help", command); }

// A boost error in our words.
Status Explain(const po::error& error, const CommandHelp& help, const po::options_description& options) {
  const std::string hint = HelpHint(help.name);
  if (const auto* unknown = dynamic_cast<const po::unknown_option*>(&error)) {
    std::string name = unknown->get_option_name();
    return Status::InvalidArgument(
        fmt::format("{}: {}: no such option{}", help.name, name, DidYouMean(name, LongNames(options), hint)));
  }
  if (const auto* named = dynamic_cast<const po::error_with_option_name*>(&error)) {
    const std::string name = named->get_option_name();
    if (dynamic_cast<const po::multiple_occurrences*>(&error) != nullptr) {
      return Status::InvalidArgument(fmt::format("{}: {}: given more than once{}", help.name, name, hint));
    }
    if (const auto* syntax = dynamic_cast<const po::invalid_command_line_syntax*>(&error)) {
      const bool missing = syntax->kind() == po::invalid_syntax::missing_parameter ||
                           syntax->kind() == po::invalid_syntax::empty_adjacent_parameter;
      const char* what = missing                                                 ? "needs a value"
                         : syntax->kind() == po::invalid_syntax::extra_parameter ? "takes no value"
                                                                                 : "cannot be read";
      return Status::InvalidArgument(fmt::format("{}: {}: {}{}", help.name, name, what, hint));
    }
    if (dynamic_cast<const po::validation_error*>(&error) != nullptr) {
      return Status::InvalidArgument(fmt::format("{}: {}: the value is not valid{}", help.name, name, hint));
    }
  }
  return Status::InvalidArgument(fmt::format("{}: {}{}", help.name, error.what(), hint));
}

Status CheckCount(const CommandHelp& help, const std::vector<std::string>& arguments) {
  const std::string usage = fmt::format("; usage: etwpipe {} {}", help.name, help.arguments);
  if (arguments.size() < help.min_arguments) {
    return Status::InvalidArgument(
        fmt::format("{}: {}{}", help.name, arguments.empty() ? "an argument is missing" : "too few arguments", usage));
  }
  if (arguments.size() > help.max_arguments) {
    return Status::InvalidArgument(
        fmt::format("{}: {}: one argument too many{}", help.name, arguments[help.max_arguments], usage));
  }
  if (std::count(arguments.begin(), arguments.end(), "-") > 1) {
    return Status::InvalidArgument(fmt::format("{}: -: standard input can be read only once", help.name));
  }
  return {};
}

std::string OptionNames(const po::option_description& option) {
  const std::string long_name = option.long_name();
  const std::string canonical = option.canonical_display_name(po::command_line_style::allow_dash_for_short);
  const bool has_short = canonical.size() == 2 && canonical[0] == '-' && canonical[1] != '-';
  std::string text = has_short ? canonical + ", " : std::string("    ");
  text += "--" + long_name;
  if (option.semantic()->max_tokens() > 0) text += " " + option.semantic()->name();
  return text;
}

}  // namespace

Result<ParsedCommandLine> ParseCommandLine(Subcommand& command, const std::vector<std::string>& words) {
  const CommandHelp help = command.help();
  po::options_description options;
  command.AddOptions(options);
  AddHelpOption(options);
  po::options_description all;
  all.add(options).add_options()(kArguments, po::value<std::vector<std::string>>());
  po::positional_options_description positional;
  positional.add(kArguments, -1);

  ParsedCommandLine parsed;
  parsed.help = std::any_of(words.begin(), std::find(words.begin(), words.end(), "--"),
                            [](const std::string& word) { return word == "--help" || word == "-h"; });
  if (parsed.help) return parsed;
  try {
    const auto result = po::command_line_parser(words).options(all).positional(positional).style(kStyle).run();
    for (const auto& option : result.options) {
      // The option that carries the arguments is ours and has no name for users.
      if (option.string_key == kArguments && option.position_key < 0) throw po::unknown_option("--argument");
    }
    po::variables_map values;
    po::store(result, values);
    po::notify(values);
    if (values.count(kArguments) != 0) parsed.arguments = values[kArguments].as<std::vector<std::string>>();
  } catch (const po::error& error) {
    return Explain(error, help, options);
  }
  ETWPIPE_RETURN_IF_ERROR(CheckCount(help, parsed.arguments));
  return parsed;
}

std::string HelpText(Subcommand& command) {
  const CommandHelp help = command.help();
  po::options_description options;
  command.AddOptions(options);
  AddHelpOption(options);
  std::string text = fmt::format("{}\n\nusage: etwpipe {} [options]{}{}\n\noptions:\n", help.summary, help.name,
                                 help.arguments.empty() ? "" : " ", help.arguments);
  size_t width = 0;
  for (const auto& option : options.options()) width = std::max(width, OptionNames(*option).size());
  for (const auto& option : options.options()) {
    text += fmt::format("  {:<{}}  {}\n", OptionNames(*option), width, option->description());
  }
  if (!help.details.empty()) text += fmt::format("\n{}\n", help.details);
  return text + fmt::format("\nexamples:\n{}\n", help.examples);
}

std::string DidYouMean(std::string_view wanted, const std::vector<std::string>& known, std::string_view otherwise) {
  const auto near = NearNames(wanted, known);
  return near.empty() ? std::string(otherwise) : fmt::format("; did you mean {}?", fmt::join(near, ", "));
}

}  // namespace etwpipe
