#include "formats/etwp/payload_splitter.h"

#include <cstring>

#include "pipeline/byte_reader.h"

namespace etwpipe::etwp {
namespace {

using v1::LayoutField;

// SID_MAX_SUB_AUTHORITIES of Windows.
constexpr uint8_t kMaxSubAuthorities = 15;
constexpr size_t kSidHeader = 8;
constexpr uint64_t kMaxCount = 0xFFFF;

uint64_t LoadNumber(const std::byte* from, size_t width) {
  switch (width) {
    case 1: return LoadAt<uint8_t>(from);
    case 2: return LoadAt<uint16_t>(from);
    case 4: return LoadAt<uint32_t>(from);
    default: return LoadAt<uint64_t>(from);
  }
}

}  // namespace

bool PayloadSplitter::Split(const PayloadLayout& layout, std::span<const std::byte> payload) {
  layout_ = &layout;
  payload_ = payload;
  values_.clear();
  numbers_.assign(layout.fields.size(), 0);
  at_ = 0;
  steps_ = 0;
  return Range(0, layout.fields.size());
}

bool PayloadSplitter::Range(size_t begin, size_t end) {
  for (size_t i = begin; i < end; i += 1 + size_t{layout_->fields[i].members}) {
    const auto& field = layout_->fields[i];
    // Most fields are single numbers: Elements() would do the same.
    const bool single = field.number() && field.count == LayoutField::EXTENT_ONE;
    if (!(single ? Step() && Number(i, field.width) : Elements(i))) return false;
  }
  return true;
}

bool PayloadSplitter::Number(size_t index, size_t width) {
  if (width > payload_.size() - at_) return false;
  const uint64_t number = LoadNumber(payload_.data() + at_, width);
  numbers_[index] = number;
  values_.push_back({static_cast<uint16_t>(index), FieldValue::What::kNumber, 0, number});
  at_ += width;
  return true;
}

bool PayloadSplitter::Elements(size_t index) {
  const auto& field = layout_->fields[index];
  if (!Step()) return false;
  uint64_t count = 0;
  switch (field.count) {
    case LayoutField::EXTENT_FIXED: count = field.count_value; break;
    case LayoutField::EXTENT_FIELD: count = numbers_[field.count_value]; break;
    case LayoutField::EXTENT_PREFIX16:
      if (payload_.size() - at_ < 2) return false;
      count = LoadAt<uint16_t>(payload_.data(), at_);
      at_ += 2;
      break;
    case LayoutField::EXTENT_REST: break;
    default: return One(index);
  }
  if (count > kMaxCount) return false;
  size_t count_at = SIZE_MAX;
  if (field.count == LayoutField::EXTENT_PREFIX16 || field.count == LayoutField::EXTENT_REST) {
    count_at = values_.size();
    values_.push_back({static_cast<uint16_t>(index), FieldValue::What::kCount, 0, count});
  }
  const auto element = [&] {
    return field.is_struct() ? Step() && Range(index + 1, index + 1 + field.members) : Step() && One(index);
  };
  if (field.count != LayoutField::EXTENT_REST) {
    for (uint64_t i = 0; i < count; ++i) {
      if (!element()) return false;
    }
    return true;
  }
  // What is left over of an array to the end is left over of the payload.
  while (at_ < payload_.size() && count < kMaxCount) {
    const size_t before = at_;
    const size_t mark = values_.size();
    const uint64_t steps = steps_;
    if (!element() || at_ == before) {
      at_ = before;
      values_.erase(values_.begin() + static_cast<ptrdiff_t>(mark), values_.end());
      steps_ = steps;
      break;
    }
    ++count;
  }
  values_[count_at].number = count;
  return true;
}

bool PayloadSplitter::Bytes(size_t index, size_t prefix, size_t size, size_t suffix) {
  const size_t left = payload_.size() - at_;
  if (prefix > left || size > left - prefix || suffix > left - prefix - size) return false;
  values_.push_back(
      {static_cast<uint16_t>(index), FieldValue::What::kBytes, static_cast<uint32_t>(size), at_ + prefix});
  at_ += prefix + size + suffix;
  return true;
}

bool PayloadSplitter::One(size_t index) {
  const auto& field = layout_->fields[index];
  const size_t left = payload_.size() - at_;
  const std::byte* here = payload_.data() + at_;
  switch (field.shape) {
    case LayoutField::SHAPE_NUMBER: return Number(index, field.width);
    case LayoutField::SHAPE_BYTES: {
      uint64_t length = field.length_value;
      size_t prefix = 0;
      if (field.length == LayoutField::EXTENT_FIELD) {
        length = numbers_[field.length_value];
      } else if (field.length == LayoutField::EXTENT_PREFIX16) {
        if (left < 2) return false;
        length = LoadAt<uint16_t>(here);
        prefix = 2;
      } else if (field.length == LayoutField::EXTENT_REST) {
        length = left / field.width;
      }
      if (length > kMaxCount) return false;
      return Bytes(index, prefix, length * field.width, 0);
    }
    case LayoutField::SHAPE_TEXT16:
      for (size_t at = 0; at + 2 <= left; at += 2) {
        if (LoadAt<uint16_t>(here, at) == 0) return Bytes(index, 0, at, 2);
      }
      return false;
    case LayoutField::SHAPE_TEXT8: {
      const void* end = left == 0 ? nullptr : std::memchr(here, 0, left);
      return end != nullptr && Bytes(index, 0, static_cast<size_t>(static_cast<const std::byte*>(end) - here), 1);
    }
    case LayoutField::SHAPE_COUNTED16: return left >= 2 && Bytes(index, 2, LoadAt<uint16_t>(here), 0);
    case LayoutField::SHAPE_COUNTED16_SWAPPED:
      return left >= 2 && Bytes(index, 2, LoadAt<uint8_t>(here) * size_t{256} + LoadAt<uint8_t>(here, 1), 0);
    case LayoutField::SHAPE_COUNTED32: return left >= 4 && Bytes(index, 4, LoadAt<uint32_t>(here), 0);
    case LayoutField::SHAPE_SID:
    case LayoutField::SHAPE_WBEM_SID: {
      size_t prefix = 0;
      if (field.shape == LayoutField::SHAPE_WBEM_SID) {
        if (left < 4) return false;
        if (LoadAt<uint32_t>(here) == 0) return Bytes(index, 0, 4, 0);
        prefix = size_t{2} * field.width;
      }
      if (left < prefix + kSidHeader) return false;
      const auto count = LoadAt<uint8_t>(here, prefix + 1);
      return count <= kMaxSubAuthorities && Bytes(index, 0, prefix + kSidHeader + size_t{4} * count, 0);
    }
    default: return false;
  }
}

}  // namespace etwpipe::etwp
