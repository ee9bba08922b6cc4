// Cuts a payload into the fields of its layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "formats/etwp/payload_layout.h"

namespace etwpipe::etwp {

/// A number, the bytes of a value, or how many elements an array has that says so itself.
struct FieldValue {
  enum class What : uint8_t { kNumber, kBytes, kCount };

  uint16_t field;
  What what;
  uint32_t size;    ///< of the bytes
  uint64_t number;  ///< or where in the payload the bytes begin
};

/// Cuts payloads; keeps its working memory.
class PayloadSplitter {
 public:
  /// Replaces values() by those of `payload`; false if it does not fit the layout. used() tells how much of it they
  /// cover.
  bool Split(const PayloadLayout& layout, std::span<const std::byte> payload);
  std::span<const FieldValue> values() const { return values_; }
  size_t used() const { return at_; }

 private:
  bool Range(size_t begin, size_t end);
  bool Elements(size_t index);
  bool One(size_t index);
  bool Number(size_t index, size_t width);
  bool Bytes(size_t index, size_t prefix, size_t size, size_t suffix);
  bool Step() { return ++steps_ <= AllowedSteps(at_); }

  const PayloadLayout* layout_ = nullptr;
  std::span<const std::byte> payload_;
  std::vector<FieldValue> values_;
  std::vector<uint64_t> numbers_;
  size_t at_ = 0;
  uint64_t steps_ = 0;
};

}  // namespace etwpipe::etwp
