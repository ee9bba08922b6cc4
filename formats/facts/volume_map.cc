#include "formats/facts/volume_map.h"

#include <algorithm>

namespace etwpipe::facts {
namespace {

constexpr std::string_view kMup = R"(\Device\Mup\)";
constexpr std::string_view kSystemRoot = R"(\SystemRoot\)";
constexpr std::string_view kDosDevices = R"(\??\)";

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 'a' - 'A') : c; }

bool HasPrefix(std::string_view name, std::string_view prefix) {
  if (name.size() < prefix.size() || !EqualNames(name.substr(0, prefix.size()), prefix)) return false;
  return prefix.empty() || prefix.back() == '\\' || name.size() == prefix.size() || name[prefix.size()] == '\\';
}

// \Device\Mup\;LanmanRedirector\;Z:0123\server\share and \Device\Mup\DfsClient\;Z:0123\server\share name the provider
// and the drive of the connection before the server.
std::string_view WithoutRedirector(std::string_view rest) {
  const auto next_part = [](std::string_view path) {
    const size_t slash = path.find('\\');
    return slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
  };
  const std::string_view second = next_part(rest);
  if (!second.empty() && second.front() == ';') return next_part(second);
  if (!rest.empty() && rest.front() == ';') return second;
  return rest;
}

}  // namespace

bool EqualNames(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return Lower(x) == Lower(y); });
}

std::string_view LastPart(std::string_view path) { return path.substr(path.find_last_of("\\/") + 1); }

bool VolumeMap::Add(std::string_view nt, std::string_view dos) {
  if (nt.empty()) return true;
  if (mappings_.size() == kMaxMappings) return false;
  const auto place = std::find_if(mappings_.begin(), mappings_.end(),
                                  [&](const auto& mapping) { return mapping.first.size() < nt.size(); });
  mappings_.emplace(place, nt, dos);
  return true;
}

void VolumeMap::SetWindowsFolder(std::string_view folder) {
  windows_ = folder;
  if (!windows_.empty() && windows_.back() != '\\') windows_.push_back('\\');
}

std::string VolumeMap::ToDos(std::string_view nt) const {
  if (HasPrefix(nt, kMup)) return R"(\\)" + std::string(WithoutRedirector(nt.substr(kMup.size())));
  for (const auto& [prefix, dos] : mappings_) {
    if (HasPrefix(nt, prefix)) return dos + std::string(nt.substr(prefix.size()));
  }
  if (HasPrefix(nt, kDosDevices)) return std::string(nt.substr(kDosDevices.size()));
  if (windows_.size() > 2 && windows_[1] == ':') {
    if (HasPrefix(nt, kSystemRoot)) return windows_ + std::string(nt.substr(kSystemRoot.size()));
    // Drivers are loaded by names that lack the drive.
    if (HasPrefix(nt, std::string_view(windows_).substr(2))) return windows_.substr(0, 2) + std::string(nt);
  }
  return std::string(nt);
}

}  // namespace etwpipe::facts
