// The input is a symbol file behind one byte: its lowest bit chooses the form, the others bound the table. Whatever the
// lines say, a symbol that is found reaches its address, and its name is of the text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "formats/facts/symbol_file.h"

namespace etwpipe::facts {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

void Run(uint8_t choice, std::string_view text) {
  SymbolTable::Limits limits;
  limits.symbols = choice >> 1 == 0 ? 1 << 16 : choice >> 1;
  limits.name_bytes = 1 << 16;
  SymbolParser parser((choice & 1) == 0 ? SymbolFormat::kBreakpad : SymbolFormat::kPerfMap, limits);
  const std::string_view all = text;
  size_t lines = 0;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    parser.Line(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++lines;
  }
  const SymbolFile file = parser.Finish();
  Require(file.bad_lines + file.dropped <= lines);
  Require(file.id.size() + file.name.size() <= all.size());
  for (uint64_t address = 0; address < 0x100; ++address) {
    for (const uint64_t place : {address, address << 4, address << 12, ~address}) {
      const auto symbol = file.table.Find(place);
      if (!symbol) continue;
      Require(symbol->offset <= place);
      Require(all.find(symbol->name) != std::string_view::npos);
    }
  }
}

}  // namespace
}  // namespace etwpipe::facts

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  etwpipe::facts::Run(data[0], {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
