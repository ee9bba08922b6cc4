// etwpipe-tracegen: writes a synthetic trace.
#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <cstdio>
#include <exception>
#include <iostream>
#include <sstream>
#include <string>

#include "pipeline/platform.h"
#include "tests/tracegen/generator.h"

namespace po = boost::program_options;

namespace etwpipe::tracegen {
namespace {

struct CommandLine {
  Options options;
  std::string output;
  std::string truth;
  std::string help;  // set when only help was asked for
};

Result<CommandLine> ParseCommandLine(int argc, char** argv) {
  CommandLine line;
  std::string size, scenario, compression, buffer_size;
  po::options_description description("Options");
  auto add = description.add_options();
  add("size", po::value(&size)->default_value("64MiB"), "size when uncompressed; KiB, MiB, GiB");
  add("seed", po::value(&line.options.seed)->default_value(1), "same seed and size, same bytes");
  add("output,o", po::value(&line.output), "file to write; replaced if it exists");
  add("truth", po::value(&line.truth), "JSON file that says what the trace holds");
  add("scenario", po::value(&scenario)->default_value("mixed"), "mixed, clr, build or switches");
  add("compress", po::value(&compression)->default_value("none"), "none or xpress");
  add("buffer-size", po::value(&buffer_size)->default_value("64KiB"), "size of a buffer");
  add("cpus", po::value(&line.options.processors)->default_value(8), "processors");
  add("help,h", "this text");
  po::variables_map values;
  try {
    po::store(po::parse_command_line(argc, argv, description), values);
    po::notify(values);
  } catch (const std::exception& error) {
    return Status::InvalidArgument(error.what());
  }
  if (values.count("help") != 0) {
    std::ostringstream text;
    text << "Usage: etwpipe-tracegen [options] -o FILE\n\nWrites a synthetic .etl trace, the same for the same options."
         << "\nExample: etwpipe-tracegen --size 1GiB --seed 1 -o sample.etl --truth sample.json\n\n"
         << description;
    line.help = text.str();
    return line;
  }
  if (line.output.empty()) return Status::InvalidArgument("-o FILE is missing");
  const auto total = ParseSize(size);
  if (!total.ok()) return total.status();
  line.options.size = *total;
  const auto buffer = ParseSize(buffer_size);
  if (!buffer.ok()) return buffer.status();
  line.options.buffer_size = static_cast<uint32_t>(std::min<uint64_t>(*buffer, UINT32_MAX));
  const auto parsed_scenario = ParseScenario(scenario);
  if (!parsed_scenario.ok()) return parsed_scenario.status();
  line.options.scenario = *parsed_scenario;
  const auto parsed_compression = ParseCompression(compression);
  if (!parsed_compression.ok()) return parsed_compression.status();
  line.options.compression = *parsed_compression;
  return line;
}

Status WriteText(const std::string& path, const std::string& text) {
  auto file = OutputFile::Create(path, true, OutputFile::Stdout::kStream);
  if (!file.ok()) return file.status();
  ETWPIPE_RETURN_IF_ERROR((*file)->Append(std::as_bytes(std::span(text))));
  return (*file)->Commit();
}

Status Run(int argc, char** argv) {
  const auto line = ParseCommandLine(argc, argv);
  if (!line.ok()) return line.status();
  if (!line->help.empty()) {
    std::cout << line->help;
    return {};
  }
  const double started = MonotonicSeconds();
  const auto truth = GenerateToFile(line->options, line->output);
  if (!truth.ok()) return truth.status();
  const double seconds = MonotonicSeconds() - started;
  fmt::print(stderr,
             "Wrote trace: file={}, bytes={}, events={}, kinds={}, mean_record={:.1f}, seconds={:.2f}, MB/s={:.0f}\n",
             line->output, truth->file_size, truth->events(), truth->kinds.size(),
             static_cast<double>(truth->record_bytes()) / static_cast<double>(truth->events()), seconds,
             static_cast<double>(truth->file_size) / 1e6 / seconds);
  return line->truth.empty() ? Status() : WriteText(line->truth, ToJson(*truth));
}

}  // namespace
}  // namespace etwpipe::tracegen

int main(int argc, char** argv) {
  const etwpipe::Status status = etwpipe::tracegen::Run(argc, argv);
  if (status.ok()) return 0;
  fmt::print(stderr, "etwpipe-tracegen: {}\n", status.message());
  return static_cast<int>(status.code());
}
