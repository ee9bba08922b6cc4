// Options that several commands share, each with its check.
#pragma once

#include <boost/program_options/options_description.hpp>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/facts/surveyors.h"
#include "pipeline/diagnostics.h"
#include "pipeline/status.h"
#include "pipeline/trace_context.h"

namespace etwpipe {

/// --threads and --spool: how an input is read.
struct ReadOptions {
  int threads = 0;  ///< at least 1 after Check()
  std::string spool_dir;

  void Add(boost::program_options::options_description& options);
  /// Puts all cores where nothing was asked.
  Status Check();

 private:
  bool threads_asked_ = false;
};

/// --manifest and --clr-ids: where schemas come from beside the trace and the program.
struct SchemaOptions {
  facts::SchemaSources sources;
  std::string clr_ids = "safe";

  void Add(boost::program_options::options_description& options);
  /// Reads the manifests and the folders of ETWPIPE_MANIFEST_PATH; an error names the file. What is wrong in a folder
  /// is printed to standard error.
  Result<SurveyorFactory> Surveyors();
  /// Whether the user says anything about schemas, so that names an archive keeps may not be those wanted.
  bool given() const { return !sources.manifests.empty() || !sources.environment.empty() || clr_ids != "safe"; }
};

/// --format, one word of a fixed list.
struct FormatOption {
  std::string value;

  /// The first choice is the default.
  void Add(boost::program_options::options_description& options, std::initializer_list<std::string_view> choices);
  Status Check() const;
  bool json() const { return value == "json"; }

 private:
  std::vector<std::string> choices_;
};

/// Says on standard error what of a file could not be read, a line per kind of damage; nothing if all could.
void NoteDamage(std::string_view file, const Diagnostics& diagnostics);

/// --fail-on: turns findings of a run into exit status 3.
struct FailOnOption {
  std::vector<std::string> values;

  void Add(boost::program_options::options_description& options);
  Status Check();
  /// Whether damage of an archive is asked for, in whatever frame.
  bool WantsDamage() const;
  /// kAnswerNo, saying what was found, if something asked for is there.
  Status Judge(std::string_view file, const TraceInfo& info, const Diagnostics& diagnostics) const;
};

/// An error unless `value` is one of `choices`; names the option and near choices.
Status CheckChoice(std::string_view option, const std::string& value, const std::vector<std::string>& choices);

/// A decimal count, or nothing for an empty text; negative numbers and words are errors.
Result<std::optional<uint64_t>> ParseCount(std::string_view option, const std::string& text);

}  // namespace etwpipe
