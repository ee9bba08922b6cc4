// One symbol file: Breakpad's text form or the map that a JIT writes for perf.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "formats/facts/symbol_table.h"
#include "pipeline/status.h"

namespace etwpipe::facts {

enum class SymbolFormat : uint8_t {
  kBreakpad,  ///< MODULE, FUNC and PUBLIC records; addresses count from the image's base
  kPerfMap,   ///< lines of start, size and name; addresses of the process
};

struct SymbolFile {
  std::string id;    ///< of a Breakpad module: 32 hex digits of the PDB's GUID and its age in hex, upper case
  std::string name;  ///< of a Breakpad module: foo.pdb
  SymbolTable table;
  uint64_t bad_lines = 0;  ///< that make no sense or are longer than 64 KiB
  uint64_t dropped = 0;    ///< symbols beyond the limits
};

/// Takes a file line by line. Never fails: what makes no sense is counted.
class SymbolParser {
 public:
  explicit SymbolParser(SymbolFormat format, const SymbolTable::Limits& limits = {})
      : format_(format), builder_(limits) {}

  /// Without the line end.
  void Line(std::string_view line);
  void BadLine() { ++file_.bad_lines; }
  SymbolFile Finish();

 private:
  bool Breakpad(std::string_view line);
  bool PerfMap(std::string_view line);

  SymbolFormat format_;
  SymbolTable::Builder builder_;
  SymbolFile file_;
};

/// The process of a perf map: 12 for perf-12.map; nothing for any other name.
std::optional<uint32_t> PerfMapProcess(std::string_view file_name);

/// Reads a file of at most 4 GiB with little memory beside the table. Its name tells a perf map; anything else must
/// begin with a MODULE record.
Result<SymbolFile> ReadSymbolFile(const std::filesystem::path& path, const SymbolTable::Limits& limits = {});

}  // namespace etwpipe::facts
