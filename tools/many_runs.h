// `run` on many inputs: where each goes, several at a time, a line for each.
#pragma once

#include <string>
#include <vector>

#include "tools/common_options.h"
#include "tools/run_job.h"

namespace etwpipe {

struct ManyRuns {
  std::vector<std::string> inputs;
  std::string folder;    ///< of the outputs
  OutputOptions output;  ///< after Check(), without a path
  int jobs = 1;          ///< files worked on at once
  bool skip_existing = false;
  bool json = false;
  bool quiet = false;
};

/// Name of the output of each input: its own in `folder`, with the format as extension. kInvalidArgument where two
/// outputs would have one name, or an output would be an input.
Result<std::vector<std::string>> OutputPaths(const ManyRuns& runs);

/// Runs all of them; a failure does not stop the others. Prints a line for each in the order of the inputs, and a
/// summary. kAnswerNo, kInput, ... of the first failing file (an answer no only if nothing else failed), saying how
/// many failed; kCancelled at once.
Status RunMany(const ManyRuns& runs, const RunSettings& settings, const FailOnOption& fail_on,
               const CancelToken& cancel);

}  // namespace etwpipe
