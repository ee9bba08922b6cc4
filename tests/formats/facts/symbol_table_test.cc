// Names of native code: overlaps, places without a size, bounds.
#include "formats/facts/symbol_table.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace etwpipe::facts {
namespace {

std::string Name(const SymbolTable& table, uint64_t address) {
  const auto symbol = table.Find(address);
  return symbol ? std::string(symbol->name) + "+" + std::to_string(symbol->offset) : "";
}

TEST(SymbolTable, RangesEndAndPlacesReachToTheNext) {
  SymbolTable::Builder builder;
  builder.AddPlace(100, "place");
  builder.AddRange(200, 10, "range");
  builder.AddPlace(205, "inside");
  builder.AddPlace(300, "last");
  const SymbolTable table = builder.Build();
  EXPECT_EQ(Name(table, 99), "");
  EXPECT_EQ(Name(table, 100), "place+0");
  EXPECT_EQ(Name(table, 199), "place+99");
  EXPECT_EQ(Name(table, 200), "range+0");
  EXPECT_EQ(Name(table, 209), "range+9") << "a range counts more than a place";
  EXPECT_EQ(Name(table, 210), "inside+5");
  EXPECT_EQ(Name(table, 300), "last+0");
  EXPECT_EQ(Name(table, std::numeric_limits<uint64_t>::max()), "last+18446744073709551315");
}

TEST(SymbolTable, OuterRangeGoesOnBehindAnInnerOne) {
  SymbolTable::Builder builder;
  builder.AddRange(100, 100, "outer");
  builder.AddRange(120, 10, "inner");
  builder.AddRange(0xFFFFFFFFFFFFFFF0, 0x100, "wraps");
  const SymbolTable table = builder.Build();
  EXPECT_EQ(Name(table, 119), "outer+19");
  EXPECT_EQ(Name(table, 120), "inner+0");
  EXPECT_EQ(Name(table, 130), "outer+30");
  EXPECT_EQ(Name(table, 200), "");
  EXPECT_EQ(Name(table, 0xFFFFFFFFFFFFFFFF), "wraps+15");
  EXPECT_EQ(Name(table, 0), "");
}

TEST(SymbolTable, WhatIsBeyondTheLimitsIsDropped) {
  SymbolTable::Builder builder({2, 5});
  builder.AddPlace(1, "abc");
  builder.AddPlace(2, "def");
  builder.AddPlace(3, "de");
  builder.AddPlace(4, "");
  EXPECT_EQ(builder.dropped(), 2u);
  EXPECT_EQ(Name(builder.Build(), 9), "de+6");
  EXPECT_TRUE(SymbolTable().empty());
  EXPECT_EQ(Name(SymbolTable(), 1), "");
}

TEST(SymbolTable, RandomSymbolsAreThoseOfALinearScan) {
  struct Symbol {
    uint64_t begin, size;
    std::string name;
  };
  for (uint32_t seed = 1; seed <= 100; ++seed) {
    std::mt19937 random(seed);
    std::vector<Symbol> symbols;
    SymbolTable::Builder builder;
    for (int i = 0; i < 40; ++i) {
      const Symbol symbol{random() % 200, random() % 3 == 0 ? 0 : 1 + random() % 60, "s" + std::to_string(i)};
      symbol.size == 0 ? builder.AddPlace(symbol.begin, symbol.name)
                       : builder.AddRange(symbol.begin, symbol.size, symbol.name);
      symbols.push_back(symbol);
    }
    const SymbolTable table = builder.Build();
    for (uint64_t address = 0; address < 300; ++address) {
      const Symbol* best = nullptr;
      uint64_t last_begin = 0;
      for (const Symbol& symbol : symbols) {
        if (symbol.begin <= address) last_begin = std::max(last_begin, symbol.begin);
        if (symbol.size != 0 && symbol.begin <= address && address - symbol.begin < symbol.size) best = &symbol;
      }
      if (best == nullptr) {
        for (const Symbol& symbol : symbols) {
          if (symbol.size == 0 && symbol.begin == last_begin && symbol.begin <= address) best = &symbol;
        }
      }
      const std::string expected = best == nullptr ? "" : best->name + "+" + std::to_string(address - best->begin);
      ASSERT_EQ(Name(table, address), expected) << "seed " << seed << " address " << address;
    }
  }
}

}  // namespace
}  // namespace etwpipe::facts
