#include "formats/schema/manifest_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "formats/schema/manifest.h"
#include "formats/schema/schema_text.h"

namespace etwpipe::schema {
namespace {

namespace fs = std::filesystem;

std::string LowerExtension(const fs::path& path) {
  std::string extension = path.extension().string();
  for (char& c : extension) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return extension;
}

Result<std::string> ReadWhole(const fs::path& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string bytes;
  char block[65536];
  while (file) {
    file.read(block, sizeof block);
    bytes.append(block, static_cast<size_t>(file.gcount()));
    if (bytes.size() > kMaxManifestBytes) {
      return Status::InvalidArgument(
          fmt::format("{}: larger than the {} MiB a manifest may have", path.string(), kMaxManifestBytes >> 20));
    }
  }
  if (!file.eof()) {
    return Status::InvalidArgument(
        fmt::format("{}: cannot open: {}", path.string(), errno == 0 ? "it cannot be read" : std::strerror(errno)));
  }
  return bytes;
}

Status LoadFile(const fs::path& path, ManifestFiles& files) {
  const Result<std::string> bytes = ReadWhole(path);
  if (!bytes.ok()) return bytes.status();
  if (LowerExtension(path) == ".schema") {
    auto parsed = ParseSchemaText(*bytes, path.string(), SchemaOrigin::kManifestFile);
    if (!parsed.ok()) return parsed.status();
    files.schemas.insert(files.schemas.end(), parsed->begin(), parsed->end());
    return {};
  }
  auto parsed = ParseManifest(*bytes, path.string(), SchemaOrigin::kManifestFile);
  if (!parsed.ok()) return parsed.status();
  files.schemas.insert(files.schemas.end(), parsed->schemas.begin(), parsed->schemas.end());
  files.problems.insert(files.problems.end(), parsed->problems.begin(), parsed->problems.end());
  return {};
}

Status LoadFolder(const fs::path& folder, ManifestFiles& files) {
  std::vector<fs::path> found;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string extension = LowerExtension(entry->path());
    if (extension != ".man" && extension != ".xml" && extension != ".schema") continue;
    std::error_code ignored;
    // A pipe of such a name would block.
    if (entry->is_regular_file(ignored)) found.push_back(entry->path());
  }
  if (error) return Status::InvalidArgument(fmt::format("{}: cannot open: {}", folder.string(), error.message()));
  std::sort(found.begin(), found.end());
  for (const fs::path& path : found) {
    if (const Status status = LoadFile(path, files); !status.ok()) {
      files.problems.push_back("skipped " + std::string(status.message()));
    }
  }
  return {};
}

}  // namespace

Result<ManifestFiles> LoadManifestFiles(const std::vector<std::string>& paths, const char* environment) {
  ManifestFiles files;
  for (const std::string& path : paths) {
    std::error_code ignored;
    ETWPIPE_RETURN_IF_ERROR(fs::is_directory(path, ignored) ? LoadFolder(path, files) : LoadFile(path, files));
  }
  std::string_view rest = environment == nullptr ? std::string_view() : std::string_view(environment);
  while (!rest.empty()) {
    const size_t colon = std::min(rest.find(':'), rest.size());
    const std::string folder(rest.substr(0, colon));
    rest.remove_prefix(std::min(colon + 1, rest.size()));
    if (folder.empty()) continue;
    if (const Status status = LoadFolder(folder, files); !status.ok()) {
      files.problems.push_back("ETWPIPE_MANIFEST_PATH: " + std::string(status.message()));
    }
  }
  return files;
}

}  // namespace etwpipe::schema
