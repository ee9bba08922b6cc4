// The symbol files that a user gave, found for an image or a process.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/facts/symbol_file.h"
#include "pipeline/guid.h"
#include "pipeline/status.h"

namespace etwpipe::facts {

/// What symbols of an image are found by.
struct SymbolRequest {
  std::string_view image;  ///< file name: ntdll.dll
  std::string_view pdb;    ///< file name or path; empty if unknown
  std::optional<Guid> pdb_guid;
  uint32_t pdb_age = 0;
};

/// Files are read when they are first asked for and then kept; any thread may ask. What is kept is bounded: files
/// beyond are as if they were not there.
class SymbolFiles {
 public:
  /// Each path is a symbol file, read now, or a folder, which is listed. An error names the path.
  static Result<std::unique_ptr<SymbolFiles>> Open(const std::vector<std::string>& paths);

  /// The symbols of an image, or null; addresses count from its base. A file of the same PDB (GUID and age) comes
  /// first, then one named like the PDB or the image. Where both have an identity these must be equal. Case of names
  /// does not matter. In a folder: `<pdb>/<GUIDAGE>/<name>.sym`, the layout of Breakpad's stores, and `<name>.sym` or
  /// `<name>.pdb.sym`. What an answer points to lives as long as this object.
  const SymbolTable* ForImage(const SymbolRequest& request) const;
  /// The symbols of `perf-<pid>.map`, or null; addresses are those of the process.
  const SymbolTable* ForProcess(uint32_t pid) const;

  /// Lines that made no sense, symbols beyond the bounds and files that could not be read or kept, since the last call.
  uint64_t TakeProblems() const { return problems_.exchange(0); }

 private:
  using Path = std::filesystem::path;
  // Entries by their name in lower case.
  using Listing = std::multimap<std::string, Path, std::less<>>;

  Status Add(const Path& path);
  const SymbolFile* Load(const Path& path) const;
  const SymbolFile* FindInStore(std::string_view pdb, const std::string& id) const;
  const SymbolFile* FindGiven(std::string_view name, const std::string& id) const;
  const SymbolFile* FindByName(std::string_view name, const std::string& id) const;

  std::vector<Path> given_;  // Breakpad files named one by one
  Listing entries_;          // of the folders, and the files named one by one

  mutable std::mutex mutex_;
  mutable std::map<Path, std::unique_ptr<SymbolFile>> loaded_;  // null: not usable
  mutable size_t bytes_ = 0;
  mutable std::atomic<uint64_t> problems_{0};
};

}  // namespace etwpipe::facts
