#include "tools/output_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options/value_semantic.hpp>
#include <filesystem>

#include "formats/etl/etl_sink.h"
#include "formats/etwp/etwp_sink.h"
#include "tools/common_options.h"
#include "tools/csv_tables_sink.h"
#include "tools/print_sink.h"

namespace etwpipe {
namespace {

namespace po = boost::program_options;

const std::vector<std::string>& Formats() {
  static const std::vector<std::string> formats = {"etl", "etwp", "ndjson", "csv"};
  return formats;
}

std::string ExtensionOf(const std::string& path) {
  // A folder of tables may be named with a slash behind it.
  std::string_view name = path;
  while (name.ends_with('/')) name.remove_suffix(1);
  std::string extension = std::filesystem::path(name).extension().string();
  if (!extension.empty()) extension.erase(0, 1);
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return extension;
}

}  // namespace

void OutputOptions::Add(po::options_description& options) {
  options.add_options()  //
      ("output,o", po::value(&path)->value_name("OUTPUT"),
       "the file to write (csv: a folder with a table per kind of event); - is standard output")(
          "to", po::value(&to)->value_name("etl|etwp|ndjson|csv"), "output format (default: by OUTPUT's extension)")  //
      ("compress", po::value(&compress)->value_name("auto|none|xpress"),
       "buffers of an .etl (default: auto, as the input)")                                           //
      ("level", po::value(&level)->value_name("fast|default|max"), "how hard to compress an .etwp")  //
      ("layout", po::value(&layout)->value_name("columns|rows"),
       "what an .etwp is made of; rows: plain messages for other readers, larger, without annotations")  //
      ("block-size", po::value(&block_kib)->value_name("KIB"),
       "KiB of events per block of an .etwp, at most 32768 (default: 4096, at level max 16384); smaller blocks are "
       "faster "
       "to read in part and take more room")  //
      ("normalize", po::bool_switch(&normalize),
       "leave out of an .etwp what only restoring the original bit for bit needs")                       //
      ("no-ids", po::bool_switch(&no_ids), "write no EventInstanceIds into an .etl")                     //
      ("keep-paths", po::bool_switch(&keep_paths), "store the names of the source files in the output")  //
      ("embed-schemas", po::bool_switch(&embed_schemas),
       "store in an .etl or .etwp the schemas of its events, so that it decodes without manifests")  //
      ("force", po::bool_switch(&force), "overwrite OUTPUT if it exists");
}

Status OutputOptions::Check() {
  ETWPIPE_RETURN_IF_ERROR(CheckChoice("--compress", compress, {"auto", "none", "xpress"}));
  ETWPIPE_RETURN_IF_ERROR(CheckChoice("--level", level, {"fast", "default", "max"}));
  ETWPIPE_RETURN_IF_ERROR(CheckChoice("--layout", layout, {"columns", "rows"}));
  if (to.empty()) {
    to = path == "-" ? std::string() : ExtensionOf(path);
  } else {
    ETWPIPE_RETURN_IF_ERROR(CheckChoice("--to", to, Formats()));
  }
  if (layout == "rows" && to != "etwp") {
    return Status::InvalidArgument(fmt::format("--layout: only an .etwp has one; this is {}", to));
  }
  if (normalize && to != "etwp") {
    return Status::InvalidArgument(fmt::format("--normalize: only for an .etwp; this is {}: leave it out", to));
  }
  if (level != "default" && to != "etwp") {
    return Status::InvalidArgument(fmt::format("--level: only for an .etwp; this is {}: leave it out", to));
  }
  if (block_kib != 0 && to != "etwp") {
    return Status::InvalidArgument(fmt::format("--block-size: only for an .etwp; this is {}: leave it out", to));
  }
  if (block_kib < 0 || block_kib > etwp::kMaxBlockBytes / 1024) {
    return Status::InvalidArgument(
        fmt::format("--block-size {}: must be 1 to {} KiB", block_kib, etwp::kMaxBlockBytes / 1024));
  }
  std::error_code ignored;
  const std::filesystem::file_status there = std::filesystem::status(path, ignored);
  if (path != "-" && exists(there) && is_other(there)) {
    return Status::Output(
        fmt::format("{}: not a regular file; write to standard output instead: -o - > {}", path, path));
  }
  if (embed_schemas && (to == "ndjson" || to == "csv")) {
    return Status::InvalidArgument(fmt::format("--embed-schemas: {} holds no schemas; use it with etl or etwp", to));
  }
  if (std::find(Formats().begin(), Formats().end(), to) != Formats().end()) return {};
  return Status::InvalidArgument(fmt::format("{}: no format by this name; give --to {}",
                                             path == "-" ? "standard output" : path, fmt::join(Formats(), "|")));
}

std::unique_ptr<Sink> OutputOptions::MakeSink(const std::string& spool_dir, std::shared_ptr<InputFile> original,
                                              std::function<std::string()> schemas, OutputCheck check) const {
  if (to == "etl") {
    etl::EtlSinkOptions options;
    options.path = path;
    options.force = force;
    options.spool_dir = spool_dir;
    options.compress = compress == "none"     ? etl::Compress::kNone
                       : compress == "xpress" ? etl::Compress::kXpress
                                              : etl::Compress::kAuto;
    options.write_ids = !no_ids;
    options.schemas = std::move(schemas);
    options.check = std::move(check);
    options.keep_paths = keep_paths;
    return std::make_unique<etl::EtlSink>(options);
  }
  if (to == "etwp") {
    etwp::EtwpSinkOptions options;
    options.path = path;
    options.force = force;
    options.spool_dir = spool_dir;
    options.original = std::move(original);
    options.level = level == "fast" ? etwp::Level::kFast : level == "max" ? etwp::Level::kMax : etwp::Level::kDefault;
    options.layout = layout == "rows" ? etwp::Layout::kRows : etwp::Layout::kColumns;
    options.normalize = normalize;
    options.block_bytes = static_cast<uint32_t>(block_kib * 1024);
    options.schemas = std::move(schemas);
    options.check = std::move(check);
    options.keep_paths = keep_paths;
    return std::make_unique<etwp::EtwpSink>(options);
  }
  if (to == "csv" && path != "-") return std::make_unique<CsvTablesSink>(path, force);
  PrintSinkOptions options;
  options.path = path;
  options.force = force;
  options.format = to == "csv" ? PrintFormat::kCsv : PrintFormat::kNdjson;
  return std::make_unique<PrintSink>(options);
}

}  // namespace etwpipe
