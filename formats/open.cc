#include "formats/open.h"

#include <array>
#include <vector>

#include "formats/etl/etl_source.h"
#include "formats/etwp/etwp_source.h"

namespace etwpipe {
namespace {

template <typename T>
Result<std::unique_ptr<Source>> AsSource(Result<std::unique_ptr<T>> opened) {
  if (!opened.ok()) return opened.status();
  return std::unique_ptr<Source>(std::move(*opened));
}

// Standard input, and its first bytes, which can be those of a trace.
struct RecognisedInput {
  std::shared_ptr<InputFile> stream;
  std::vector<std::byte> start;
  bool archive = false;
};

Result<RecognisedInput> RecogniseInput(const CancelToken* cancel) {
  auto stream = InputFile::OpenStream(cancel);
  if (!stream.ok()) return stream.status();
  RecognisedInput input{std::move(*stream), std::vector<std::byte>(etl::EtlSource::kStartBytes)};
  const auto count = input.stream->ReadAt(0, input.start);
  if (!count.ok()) return count.status();
  input.start.resize(*count);
  input.archive = etwp::LooksLikeArchive(input.start);
  if (!input.archive) ETWPIPE_RETURN_IF_ERROR(etl::EtlSource::CheckStart(input.stream->path(), input.start));
  return input;
}

}  // namespace

Result<std::unique_ptr<Source>> OpenSource(const std::shared_ptr<InputFile>& file, const OpenOptions& options) {
  if (etwp::LooksLikeArchive(*file))
    return AsSource(etwp::EtwpSource::Open(file, {options.diagnostics, {}, options.check_all}));
  return AsSource(etl::EtlSource::Open(file, {options.show_carriers, options.diagnostics}));
}

Result<std::unique_ptr<Source>> OpenSource(const std::string& path, const OpenOptions& options) {
  if (path != "-") {
    auto file = InputFile::Open(path);
    if (!file.ok()) return file.status();
    return OpenSource(*file, options);
  }
  auto input = RecogniseInput(options.cancel);
  if (!input.ok()) return input.status();
  // An .etl needs its end before its beginning makes sense, so it is spooled; an archive is read as it comes.
  if (input->archive && !options.several_passes) {
    return AsSource(
        etwp::EtwpSource::Open(input->stream, {options.diagnostics, std::move(input->start), options.check_all}));
  }
  auto file = InputFile::Open(path, options.spool_dir, input->start, options.cancel);
  if (!file.ok()) return file.status();
  return OpenSource(*file, options);
}

Result<std::shared_ptr<InputFile>> OpenInput(const std::string& path, const OpenOptions& options) {
  if (path != "-") return InputFile::Open(path);
  const auto input = RecogniseInput(options.cancel);
  if (!input.ok()) return input.status();
  return InputFile::Open(path, options.spool_dir, input->start, options.cancel);
}

}  // namespace etwpipe
