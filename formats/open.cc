#include "formats/open.h"

#include <array>
#include <vector>

#include "formats/etl/etl_source.h"
#include "formats/etwp/etwp_source.h"

namespace etwpipe {
namespace {

constexpr size_t kRecogniseBytes = 16;

template <typename T>
Result<std::unique_ptr<Source>> AsSource(Result<std::unique_ptr<T>> opened) {
  if (!opened.ok()) return opened.status();
  return std::unique_ptr<Source>(std::move(*opened));
}

}  // namespace

Result<std::unique_ptr<Source>> OpenSource(const std::shared_ptr<InputFile>& file, const OpenOptions& options) {
  if (etwp::LooksLikeArchive(*file)) return AsSource(etwp::EtwpSource::Open(file, {options.diagnostics, {}}));
  return AsSource(etl::EtlSource::Open(file, {options.show_carriers, options.diagnostics}));
}

Result<std::unique_ptr<Source>> OpenSource(const std::string& path, const OpenOptions& options) {
  if (path != "-") {
    auto file = InputFile::Open(path);
    if (!file.ok()) return file.status();
    return OpenSource(*file, options);
  }
  // An .etl needs its end before its beginning makes sense, so it is spooled; an archive is read as it comes.
  auto stream = InputFile::OpenStream();
  if (!stream.ok()) return stream.status();
  std::vector<std::byte> start(kRecogniseBytes);
  const auto count = (*stream)->ReadAt(0, start);
  if (!count.ok()) return count.status();
  start.resize(*count);
  if (etwp::LooksLikeArchive(start) && !options.several_passes) {
    return AsSource(etwp::EtwpSource::Open(*stream, {options.diagnostics, start}));
  }
  auto file = InputFile::Open(path, options.spool_dir, start);
  if (!file.ok()) return file.status();
  return OpenSource(*file, options);
}

}  // namespace etwpipe
