#include "pipeline/registry.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <string>

namespace etwpipe {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Levenshtein distance without regard to case.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = diagonal + (Lower(a[i - 1]) == Lower(b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replace});
    }
  }
  return row[b.size()];
}

bool ContainsIgnoringCase(std::string_view text, std::string_view part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [](char x, char y) { return Lower(x) == Lower(y); }) != text.end();
}

}  // namespace

void Registry::Add(Entry entry) {
  assert(Find(entry.info.name) == nullptr);
  const auto place = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& other) { return other.info.name > entry.info.name; });
  entries_.insert(place, std::move(entry));
}

const Registry::Entry* Registry::Find(std::string_view name) const {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.info.name == name; });
  return found == entries_.end() ? nullptr : &*found;
}

std::vector<std::string> NearNames(std::string_view wanted, const std::vector<std::string>& known) {
  std::vector<std::pair<size_t, std::string>> scored;
  for (const auto& name : known) {
    const bool contains = wanted.size() >= 3 && ContainsIgnoringCase(name, wanted);
    const size_t distance = contains ? 0 : EditDistance(wanted, name);
    if (distance <= std::max<size_t>(2, wanted.size() / 3)) scored.emplace_back(distance, name);
  }
  std::stable_sort(scored.begin(), scored.end());
  std::vector<std::string> near;
  for (const auto& [distance, name] : scored) {
    if (near.size() == 3) break;
    near.push_back(name);
  }
  return near;
}

}  // namespace etwpipe
