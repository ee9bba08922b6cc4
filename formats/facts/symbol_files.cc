#include "formats/facts/symbol_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace etwpipe::facts {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxEntries = 1 << 20;
constexpr size_t kMaxBytes = size_t{2} << 30;

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

std::string_view FileName(std::string_view path) { return path.substr(path.find_last_of("\\/") + 1); }

std::string_view Stem(std::string_view name) { return name.substr(0, name.rfind('.')); }

// As Breakpad writes it.
std::string IdOf(const SymbolRequest& request) {
  if (!request.pdb_guid) return {};
  std::string id = ToString(*request.pdb_guid);
  std::erase(id, '-');
  id += fmt::format("{:x}", request.pdb_age);
  for (char& c : id) c = c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c;
  return id;
}

}  // namespace

Result<std::unique_ptr<SymbolFiles>> SymbolFiles::Open(const std::vector<std::string>& paths) {
  auto files = std::make_unique<SymbolFiles>();
  for (const std::string& path : paths) {
    const Status status = files->Add(path);
    if (!status.ok()) return status;
  }
  return files;
}

Status SymbolFiles::Add(const Path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
      if (entries_.size() == kMaxEntries) {
        ++problems_;
        break;
      }
      entries_.emplace(Lower(entry->path().filename().string()), entry->path());
    }
    if (error) return Status::Input(fmt::format("{}: cannot list the folder: {}", path.string(), error.message()));
    return {};
  }
  auto file = ReadSymbolFile(path);
  if (!file.ok()) return file.status();
  problems_ += file->bad_lines + file->dropped;
  bytes_ += file->table.bytes();
  if (!PerfMapProcess(path.filename().string())) given_.push_back(path);
  entries_.emplace(Lower(path.filename().string()), path);
  loaded_[path] = std::make_unique<SymbolFile>(std::move(*file));
  return {};
}

const SymbolFile* SymbolFiles::Load(const Path& path) const {
  const auto [found, added] = loaded_.try_emplace(path);
  if (!added) return found->second.get();
  auto file = ReadSymbolFile(path);
  if (!file.ok() || bytes_ + file->table.bytes() > kMaxBytes) {
    ++problems_;
    return nullptr;
  }
  problems_ += file->bad_lines + file->dropped;
  bytes_ += file->table.bytes();
  found->second = std::make_unique<SymbolFile>(std::move(*file));
  return found->second.get();
}

// Names come from the trace: they are only compared with what a folder holds, never made into paths.
const SymbolFile* SymbolFiles::FindInStore(std::string_view pdb, const std::string& id) const {
  const std::string wanted = Lower(Stem(pdb)) + ".sym";
  const auto [first, last] = entries_.equal_range(Lower(pdb));
  for (auto entry = first; entry != last; ++entry) {
    for (const std::string& name : {id, Lower(id)}) {
      std::error_code error;
      for (fs::directory_iterator at(entry->second / name, error), end; !error && at != end; at.increment(error)) {
        if (Lower(at->path().filename().string()) != wanted) continue;
        if (const SymbolFile* file = Load(at->path())) return file;
      }
    }
  }
  return nullptr;
}

const SymbolFile* SymbolFiles::FindByName(std::string_view name, const std::string& id) const {
  for (const std::string& wanted : {Lower(Stem(name)) + ".sym", Lower(name) + ".sym"}) {
    const auto [first, last] = entries_.equal_range(wanted);
    for (auto entry = first; entry != last; ++entry) {
      std::error_code error;
      if (!fs::is_regular_file(entry->second, error)) continue;
      const SymbolFile* file = Load(entry->second);
      if (file != nullptr && (id.empty() || file->id == id)) return file;
    }
  }
  return nullptr;
}

// The module of a file has the name that its own file may have lost.
const SymbolFile* SymbolFiles::FindGiven(std::string_view name, const std::string& id) const {
  for (const Path& path : given_) {
    const SymbolFile* given = Load(path);
    if (Lower(Stem(given->name)) == Lower(Stem(name)) && (id.empty() || given->id == id)) return given;
  }
  return nullptr;
}

const SymbolTable* SymbolFiles::ForImage(const SymbolRequest& request) const {
  const std::lock_guard lock(mutex_);
  const std::string id = IdOf(request);
  const std::string_view pdb = FileName(request.pdb);
  const std::string_view image = FileName(request.image);
  const SymbolFile* file = nullptr;
  if (!id.empty()) {
    for (const Path& path : given_) {
      const SymbolFile* given = Load(path);
      if (given->id == id) return &given->table;
    }
    if (!pdb.empty()) file = FindInStore(pdb, id);
  }
  if (file == nullptr) file = FindGiven(pdb.empty() ? image : pdb, id);
  if (file == nullptr && !pdb.empty()) file = FindByName(pdb, id);
  if (file == nullptr && !image.empty()) file = FindByName(image, id);
  return file == nullptr ? nullptr : &file->table;
}

const SymbolTable* SymbolFiles::ForProcess(uint32_t pid) const {
  const std::lock_guard lock(mutex_);
  const auto [first, last] = entries_.equal_range(fmt::format("perf-{}.map", pid));
  for (auto entry = first; entry != last; ++entry) {
    if (const SymbolFile* file = Load(entry->second)) return &file->table;
  }
  return nullptr;
}

}  // namespace etwpipe::facts
