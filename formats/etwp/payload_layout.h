// How the payloads of a kind fall into fields, kept in the dictionary so that a reader needs no schemas
// (FORMAT.md, "Layouts").
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "formats/schema/event_schema.h"
#include "proto/archive.pb.h"

namespace etwpipe::etwp {

/// Fields of one kind of payload, in the order of the bytes. Immutable once made.
struct PayloadLayout {
  static constexpr size_t kMaxFields = 1024;
  static constexpr size_t kMaxFileFields = size_t{1} << 18;  ///< of all layouts of a file
  static constexpr int kMaxDepth = 8;
  static constexpr uint32_t kMaxContexts = 65535;

  using Shape = v1::LayoutField::Shape;
  using Extent = v1::LayoutField::Extent;
  using Text = v1::LayoutField::Text;

  struct Field {
    Shape shape = v1::LayoutField::SHAPE_UNKNOWN;
    uint8_t width = 0;  ///< bytes of a number; of a unit of `length`
    Text text = v1::LayoutField::TEXT_NONE;
    Extent count = v1::LayoutField::EXTENT_ONE;
    uint16_t count_value = 0;
    Extent length = v1::LayoutField::EXTENT_ONE;
    uint16_t length_value = 0;
    uint16_t members = 0;   ///< structs: how many of the next fields are theirs, those of inner structs included
    uint32_t context = 0;   ///< fields of one context, in whatever kind, hold the same sort of value
    bool repeated = false;  ///< it, or a struct it is in, is an array; follows from the rest
    bool pair = false;  ///< it and the next one, in no struct, are arrays of numbers with as many elements; follows too

    bool number() const { return shape == v1::LayoutField::SHAPE_NUMBER; }
    bool is_struct() const { return shape == v1::LayoutField::SHAPE_STRUCT; }
    friend bool operator==(const Field&, const Field&) = default;
  };
  std::vector<Field> fields;
  uint16_t key = 0;  ///< 1 + the field that tells rows apart, 0 for none

  /// Contexts are hashes of the fields' names. Null for a schema without fields or with more than a layout may have.
  static std::shared_ptr<const PayloadLayout> FromSchema(const schema::EventSchema& schema, uint32_t pointer_size);
  /// nullopt if it is none.
  static std::optional<PayloadLayout> FromProto(const v1::Layout& layout);
  void ToProto(v1::Layout& layout) const;
  uint64_t Hash() const { return hash_; }

  friend bool operator==(const PayloadLayout& a, const PayloadLayout& b) {
    return a.key == b.key && a.fields == b.fields;
  }

 private:
  bool Finish();

  uint64_t hash_ = 0;  // of a layout that was changed since it was made, that of the one before
};

/// What a field may cost: a walk over a payload takes at most this many steps by the time `bytes` of it are done, so
/// that no layout makes work out of nothing.
constexpr uint64_t AllowedSteps(uint64_t bytes) { return 4 * bytes + 64; }

}  // namespace etwpipe::etwp
