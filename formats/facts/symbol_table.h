// Names of native code by address: what one symbol file says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etwpipe::facts {

/// A symbol that an address lies in.
struct NativeSymbol {
  std::string_view name;  ///< lives as long as the table
  uint64_t offset = 0;    ///< bytes from its start
};

/// Immutable; addresses are whatever the file counts in: of the image's base, or of the process.
class SymbolTable {
 public:
  /// Bounds for hostile files.
  struct Limits {
    size_t symbols = size_t{1} << 22;
    size_t name_bytes = size_t{1} << 28;
  };

  class Builder {
   public:
    Builder() = default;
    explicit Builder(const Limits& limits) : limits_(limits) {}

    /// Code of `size` bytes, at least 1; a range that wraps ends at the last address. Where two overlap the later
    /// counts.
    void AddRange(uint64_t address, uint64_t size, std::string_view name);
    /// A place with a name: it reaches to the next symbol, and any range counts more.
    void AddPlace(uint64_t address, std::string_view name);
    /// Symbols beyond the limits.
    uint64_t dropped() const { return dropped_; }
    SymbolTable Build();

   private:
    friend class SymbolTable;
    struct Symbol {
      uint64_t begin = 0;
      uint64_t last = 0;   // address
      uint32_t name = 0;   // in the names
      bool range = false;  // of a known size
    };
    bool Add(const Symbol& symbol, std::string_view name);

    Limits limits_;
    std::vector<Symbol> symbols_;
    std::string names_;
    std::vector<uint32_t> name_ends_;
    uint64_t dropped_ = 0;
  };

  std::optional<NativeSymbol> Find(uint64_t address) const;
  bool empty() const { return pieces_.empty(); }
  /// Bytes of memory, about.
  size_t bytes() const { return pieces_.size() * sizeof(Piece) + names_.size() + name_ends_.size() * 4; }

 private:
  static constexpr uint32_t kNoName = 0xFFFFFFFF;
  // From here to the next piece everything has this symbol.
  struct Piece {
    uint64_t begin = 0;
    uint64_t start = 0;  // of the symbol
    uint32_t name = kNoName;
  };

  std::string_view NameOf(uint32_t name) const;

  std::vector<Piece> pieces_;  // by begin
  std::string names_;
  std::vector<uint32_t> name_ends_;
};

}  // namespace etwpipe::facts
