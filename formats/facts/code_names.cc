#include "formats/facts/code_names.h"

#include <fmt/format.h>

#include <iterator>

namespace etwpipe::facts {
namespace {

// Names kept; some hundred bytes each.
constexpr size_t kMaxNames = 1 << 19;

void AppendSymbol(const NativeSymbol& symbol, std::string& text) {
  text += symbol.name;
  if (symbol.offset != 0) fmt::format_to(std::back_inserter(text), "+0x{:x}", symbol.offset);
}

}  // namespace

CodeNames::CodeNames(const TraceContext& trace, const SymbolFiles* symbols)
    : methods_(trace.facts->Get<MethodTable>()), images_(trace.facts->Get<ImageTable>()), symbols_(symbols) {}

const std::string& CodeNames::NameOf(uint32_t pid, uint64_t address, int64_t time) {
  if (names_ >= kMaxNames) Forget();
  if (const MethodVersion* method = methods_ == nullptr ? nullptr : methods_->FindAddress(pid, address, time).method) {
    const auto [known, added] = methods_named_.try_emplace(method);
    if (added) {
      ++names_;
      known->second = FullName(*method);
      if (!known->second.empty() && !method->module().empty()) {
        known->second.insert(0, std::string(method->module()) + "!");
      }
    }
    if (!known->second.empty()) return known->second;
  }
  if (const ImageInstance* image = images_ == nullptr ? nullptr : images_->FindAddress(pid, address, time)) {
    return NameIn(*image, address);
  }
  if (!HasPerfMapName(pid, address)) scratch_ = fmt::format("0x{:x}", address);
  return scratch_;
}

const std::string& CodeNames::NameIn(const ImageInstance& image, uint64_t address) {
  const auto [known, added] = images_named_.try_emplace(&image);
  if (added) known->second.symbols = SymbolsOf(image);
  // Addresses of 32-bit processes may be sign-extended.
  const uint64_t offset = address >= image.base && address - image.base < image.size
                              ? address - image.base
                              : (address - image.base) & 0xFFFFFFFF;
  std::string& name = known->second.names[offset];
  if (!name.empty()) return name;
  ++names_;
  name = image.name;
  name += '!';
  const SymbolTable* symbols = known->second.symbols;
  const auto symbol = symbols == nullptr ? std::nullopt : symbols->Find(offset);
  symbol ? AppendSymbol(*symbol, name) : void(fmt::format_to(std::back_inserter(name), "+0x{:x}", offset));
  return name;
}

const SymbolTable* CodeNames::SymbolsOf(const ImageInstance& image) const {
  if (symbols_ == nullptr) return nullptr;
  SymbolRequest request;
  request.image = image.name;
  // The symbols of IL say nothing of the code that was made of it.
  if (image.pdb.known() && !image.pdb.il) {
    request.pdb = image.pdb.name;
    request.pdb_guid = image.pdb.guid;
    request.pdb_age = image.pdb.age;
  }
  return symbols_->ForImage(request);
}

bool CodeNames::HasPerfMapName(uint32_t pid, uint64_t address) {
  if (symbols_ == nullptr) return false;
  const auto [map, added] = perf_maps_.try_emplace(pid);
  if (added) map->second = symbols_->ForProcess(pid);
  const auto symbol = map->second == nullptr ? std::nullopt : map->second->Find(address);
  if (!symbol) return false;
  scratch_.clear();
  AppendSymbol(*symbol, scratch_);
  return true;
}

void CodeNames::Forget() {
  methods_named_.clear();
  images_named_.clear();
  names_ = 0;
}

}  // namespace etwpipe::facts
