#include "formats/facts/symbol_table.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>

namespace etwpipe::facts {
namespace {

constexpr uint64_t kLastAddress = std::numeric_limits<uint64_t>::max();

}  // namespace

bool SymbolTable::Builder::Add(const Symbol& symbol, std::string_view name) {
  if (symbols_.size() == limits_.symbols || limits_.name_bytes - names_.size() < name.size()) {
    ++dropped_;
    return false;
  }
  symbols_.push_back(symbol);
  symbols_.back().name = static_cast<uint32_t>(name_ends_.size());
  names_ += name;
  name_ends_.push_back(static_cast<uint32_t>(names_.size()));
  return true;
}

void SymbolTable::Builder::AddRange(uint64_t address, uint64_t size, std::string_view name) {
  const uint64_t last = size - 1 > kLastAddress - address ? kLastAddress : address + (size - 1);
  Add({address, last, 0, true}, name);
}

void SymbolTable::Builder::AddPlace(uint64_t address, std::string_view name) {
  Add({address, kLastAddress, 0, false}, name);
}

// A sweep over the addresses where a symbol begins or has ended; of those that reach over a place the heap's top
// counts.
SymbolTable SymbolTable::Builder::Build() {
  const auto rank = [](const Symbol& symbol) { return std::tie(symbol.range, symbol.name); };
  std::sort(symbols_.begin(), symbols_.end(), [&](const Symbol& a, const Symbol& b) {
    return a.begin != b.begin ? a.begin < b.begin : rank(a) < rank(b);
  });
  uint64_t next = kLastAddress;
  for (auto symbol = symbols_.rbegin(); symbol != symbols_.rend(); ++symbol) {
    const auto after = symbol == symbols_.rbegin() ? symbol : symbol - 1;
    if (after->begin > symbol->begin) next = after->begin - 1;
    if (!symbol->range) symbol->last = next;
  }
  std::vector<uint64_t> places;
  for (const Symbol& symbol : symbols_) {
    places.push_back(symbol.begin);
    if (symbol.last != kLastAddress) places.push_back(symbol.last + 1);
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());

  SymbolTable table;
  const auto below = [&](const Symbol* a, const Symbol* b) { return rank(*a) < rank(*b); };
  std::priority_queue<const Symbol*, std::vector<const Symbol*>, decltype(below)> alive(below);
  auto symbol = symbols_.begin();
  for (const uint64_t place : places) {
    for (; symbol != symbols_.end() && symbol->begin == place; ++symbol) alive.push(&*symbol);
    while (!alive.empty() && alive.top()->last < place) alive.pop();
    Piece piece{place, 0, kNoName};
    if (!alive.empty()) piece = {place, alive.top()->begin, alive.top()->name};
    if (table.pieces_.empty() || table.pieces_.back().name != piece.name) table.pieces_.push_back(piece);
  }
  table.names_ = std::move(names_);
  table.name_ends_ = std::move(name_ends_);
  return table;
}

std::string_view SymbolTable::NameOf(uint32_t name) const {
  const uint32_t begin = name == 0 ? 0 : name_ends_[name - 1];
  return std::string_view(names_).substr(begin, name_ends_[name] - begin);
}

std::optional<NativeSymbol> SymbolTable::Find(uint64_t address) const {
  const auto after = std::upper_bound(pieces_.begin(), pieces_.end(), address,
                                      [](uint64_t wanted, const Piece& piece) { return wanted < piece.begin; });
  if (after == pieces_.begin()) return std::nullopt;
  const Piece& piece = *(after - 1);
  if (piece.name == kNoName) return std::nullopt;
  return NativeSymbol{NameOf(piece.name), address - piece.start};
}

}  // namespace etwpipe::facts
