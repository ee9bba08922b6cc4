// The constant part of record headers: what makes two events of one kind, and how a header is put together again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "formats/etwp/payload_layout.h"
#include "pipeline/event.h"
#include "proto/archive.pb.h"

namespace etwpipe::etwp {

/// Kind number of records that are kept whole.
constexpr uint32_t kRawKind = 0;

/// A record header with holes, and what is known of the payload behind it (v1::Kind). Knows no record layout of its own
/// once made: a reader needs only the slots.
class RecordTemplate {
 public:
  static constexpr size_t kMaxHeader = 256;
  static constexpr size_t kFields = v1::Slot::Field_ARRAYSIZE;

  /// The template of kind 0: nothing is constant.
  RecordTemplate() { slots_.fill(kNoSlot); }

  /// The template of a record, by its own header bytes (etl-format.md section 2). A record whose header does not say
  /// its size or timestamp as the row has them gets the template of kind 0.
  static RecordTemplate FromRow(const EventHeader& row);
  /// From the archive; nullopt if the slots do not fit the header.
  static std::optional<RecordTemplate> FromProto(const v1::Kind& kind);
  void ToProto(v1::Kind& kind) const;

  std::span<const std::byte> header() const { return std::span(header_).first(size_); }
  size_t header_size() const { return size_; }
  bool extended() const { return extended_; }
  bool raw() const { return size_ == 0; }
  bool has(v1::Slot::Field field) const { return slots_[static_cast<size_t>(field)] != kNoSlot; }
  /// Offset of a slot; only if has().
  size_t slot(v1::Slot::Field field) const { return slots_[static_cast<size_t>(field)]; }

  /// How payloads of the kind fall into fields; null where that is not known.
  const PayloadLayout* layout() const { return layout_.get(); }
  void set_layout(std::shared_ptr<const PayloadLayout> layout) { layout_ = std::move(layout); }

  /// Equal ones describe the same kind.
  uint64_t Hash() const;
  friend bool operator==(const RecordTemplate& a, const RecordTemplate& b);

 private:
  static constexpr uint16_t kNoSlot = 0xFFFF;

  void Start(std::span<const std::byte> header);
  void MakeRaw();
  void AddSlot(v1::Slot::Field field, size_t offset);

  std::array<std::byte, kMaxHeader> header_;  // only the first size_ bytes mean anything
  std::array<uint16_t, kFields> slots_;
  uint16_t size_ = 0;
  bool extended_ = false;
  std::shared_ptr<const PayloadLayout> layout_;
};

/// Bytes a slot of that field takes; 0 for fields this version does not know.
size_t SlotWidth(v1::Slot::Field field);

}  // namespace etwpipe::etwp
