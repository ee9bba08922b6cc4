// The words that instrumentation manifests use without declaring them: types, and the names that begin with "win:".
// Source: Microsoft's winmeta.xml and its pages on InputType and OutputType; the "trace:" types are those that
// TRACE_EVENT_INFO has beyond them (TDH_INTYPE).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "formats/schema/property.h"

namespace etwpipe::schema {

/// What an inType stands for.
struct ManifestType {
  InType in = InType::kNull;
  OutType out = OutType::kDefault;  ///< unless there is an outType
  uint16_t length = 0;              ///< of binary, unless it is stated; 0: it must be stated
};

/// The type of an inType="..."; nullopt if there is none of that name. Case does not matter.
std::optional<ManifestType> ManifestTypeOf(std::string_view name);

/// How an outType="..." shows values of type `in`: kDefault where that is how they are shown anyway. nullopt if there
/// is no outType of that name.
std::optional<OutType> ManifestOutTypeOf(std::string_view name, InType in);

/// Names and their values, found either way; the first of two equal ones counts.
class NameTable {
 public:
  NameTable() = default;
  NameTable(std::initializer_list<std::pair<std::string_view, uint64_t>> entries) {
    for (const auto& [name, value] : entries) Add(std::string(name), value);
  }
  void Add(const std::string& name, uint64_t value) {
    values_.emplace(name, value);
    names_.emplace(value, name);
  }
  std::optional<uint64_t> ValueOf(const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }
  /// Empty if the value has no name.
  std::string NameOf(uint64_t value) const {
    const auto found = names_.find(value);
    return found == names_.end() ? std::string() : found->second;
  }

 private:
  std::unordered_map<std::string, uint64_t> values_;
  std::unordered_map<uint64_t, std::string> names_;
};

/// win:Start and the like. They live for ever.
const NameTable& WinOpcodes();
const NameTable& WinLevels();
const NameTable& WinKeywords();

/// A decimal or 0x number, blanks around it allowed; nullopt for anything else and beyond 64 bits.
std::optional<uint64_t> ManifestNumber(std::string_view text);

/// The text without "win:" before it.
std::string WithoutPrefix(const std::string& name);

}  // namespace etwpipe::schema
