#include "formats/etwp/number_codec.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "pipeline/byte_reader.h"

namespace etwpipe::etwp {
namespace {

constexpr size_t kMaxVarint = 10;
constexpr uint64_t kHighBits = 0x8080808080808080;
constexpr size_t kTrialSample = 4096;
constexpr size_t kEstimateSample = 512;
constexpr size_t kSampleParts = 4;
constexpr int kTrialLevel = 3;
// A dictionary must be shorter than that part of the column to be worth a look.
constexpr size_t kMinRepeats = 2;

size_t WidthOf(uint64_t value) { return (static_cast<size_t>(std::bit_width(value | 1)) + 7) / 8; }

std::byte* PutVarint(std::byte* to, uint64_t value) {
  while (value >= 0x80) {
    *to++ = static_cast<std::byte>(value | 0x80);
    value >>= 7;
  }
  *to++ = static_cast<std::byte>(value);
  return to;
}

// Calls put(value) for each value, as it is or as its difference to the one before.
template <typename Put>
void ForEach(std::span<const uint64_t> values, bool delta, Put put) {
  uint64_t previous = 0;
  for (const uint64_t value : values) {
    put(delta ? ZigZag(value - previous) : value);
    previous = value;
  }
}

uint64_t BitsOfAll(std::span<const uint64_t> values, bool delta) {
  uint64_t all = 0;
  ForEach(values, delta, [&](uint64_t value) { all |= value; });
  return all;
}

void WriteVarints(std::span<const uint64_t> values, bool delta, std::vector<std::byte>& to) {
  // Some at a time, or the room for the longest ones of all would have to be cleared first.
  constexpr size_t kAtATime = 100;
  std::byte bytes[kAtATime * kMaxVarint];
  std::byte* at = bytes;
  ForEach(values, delta, [&](uint64_t value) {
    if (at > std::end(bytes) - kMaxVarint) {
      to.insert(to.end(), bytes, at);
      at = bytes;
    }
    at = PutVarint(at, value);
  });
  to.insert(to.end(), bytes, at);
}

void WritePlanes(std::span<const uint64_t> values, bool delta, std::vector<std::byte>& to) {
  const size_t width = WidthOf(BitsOfAll(values, delta));
  to.push_back(static_cast<std::byte>(width));
  const size_t begin = to.size();
  to.resize(begin + width * values.size());
  std::byte* at = to.data() + begin;
  ForEach(values, delta, [&](uint64_t value) {
    for (size_t plane = 0; plane < width; ++plane)
      at[plane * values.size()] = static_cast<std::byte>(value >> 8 * plane);
    ++at;
  });
}

void WriteFixed(std::span<const uint64_t> values, std::vector<std::byte>& to) {
  const size_t width = WidthOf(BitsOfAll(values, false));
  to.push_back(static_cast<std::byte>(width));
  const size_t begin = to.size();
  to.resize(begin + width * values.size());
  std::byte* at = to.data() + begin;
  for (const uint64_t value : values) {
    std::memcpy(at, &value, width);
    at += width;
  }
}

void WriteDictionary(std::span<const uint64_t> values, std::vector<std::byte>& to) {
  std::unordered_map<uint64_t, uint64_t> index;
  std::vector<uint64_t> distinct;
  std::vector<uint64_t> indexes;
  indexes.reserve(values.size());
  for (const uint64_t value : values) {
    const auto [found, added] = index.try_emplace(value, distinct.size());
    if (added) distinct.push_back(value);
    indexes.push_back(found->second);
  }
  const uint64_t count = distinct.size();
  WriteVarints(std::span(&count, 1), false, to);
  WriteFixed(distinct, to);
  WriteVarints(indexes, false, to);
}

// Bytes that an ideal coder of single bytes takes for them.
size_t EntropyOf(std::span<const std::byte> bytes, ByteCounts& counts) {
  for (const std::byte byte : bytes) counts.Add(std::to_integer<uint8_t>(byte));
  return static_cast<size_t>(counts.TakeBits(bytes.size()) / 8) + 1;
}

// The same, each plane by itself.
size_t EntropyOfPlanes(std::span<const uint64_t> values, bool delta, std::array<ByteCounts, 8>& planes) {
  const size_t width = WidthOf(BitsOfAll(values, delta));
  ForEach(values, delta, [&](uint64_t value) {
    for (size_t plane = 0; plane < width; ++plane) planes[plane].Add(static_cast<uint8_t>(value >> 8 * plane));
  });
  double bits = 0;
  for (size_t plane = 0; plane < width; ++plane) bits += planes[plane].TakeBits(values.size());
  return static_cast<size_t>(bits / 8) + 1;
}

}  // namespace

NumberEncoder::NumberEncoder(Effort effort) : effort_(effort), context_(ZSTD_createCCtx(), &ZSTD_freeCCtx) {}

std::vector<std::pair<size_t, size_t>> NumberEncoder::Sample(size_t count) const {
  const size_t whole = effort_ == Effort::kEstimate ? kEstimateSample : kTrialSample;
  if (count <= whole) return {{0, count}};
  const size_t size = whole / kSampleParts;
  std::vector<std::pair<size_t, size_t>> parts;
  for (size_t part = 0; part < kSampleParts; ++part) {
    const size_t begin = (count - size) * part / (kSampleParts - 1);
    parts.emplace_back(begin, begin + size);
  }
  return parts;
}

size_t NumberEncoder::PackedSize(std::span<const std::byte> bytes) {
  if (context_ == nullptr) return bytes.size();
  packed_.resize(ZSTD_compressBound(bytes.size()));
  const size_t size =
      ZSTD_compressCCtx(context_.get(), packed_.data(), packed_.size(), bytes.data(), bytes.size(), kTrialLevel);
  return ZSTD_isError(size) ? bytes.size() : size;
}

size_t NumberEncoder::CostOf(std::span<const std::byte> bytes) {
  return effort_ == Effort::kEstimate ? EntropyOf(bytes, planes_[0]) : PackedSize(bytes);
}

size_t NumberEncoder::Estimate(std::span<const uint64_t> values, bool deltas) {
  const size_t cost = EntropyOfPlanes(values, false, planes_);
  return deltas ? std::min(cost, EntropyOfPlanes(values, true, planes_)) : cost;
}

NumberEncoder::Choice NumberEncoder::Choose(std::span<const uint64_t> values) {
  const bool constant = std::all_of(values.begin(), values.end(), [&](uint64_t v) { return v == values.front(); });
  if (constant) return {v1::ENCODING_CONSTANT, values.front() == 0 ? size_t{0} : size_t{1}};
  const auto parts = Sample(values.size());
  sample_.clear();
  for (const auto& [begin, end] : parts) {
    sample_.insert(sample_.end(), values.begin() + static_cast<ptrdiff_t>(begin),
                   values.begin() + static_cast<ptrdiff_t>(end));
  }
  Choice best{v1::ENCODING_VARINT, SIZE_MAX};
  const auto take = [&](v1::Encoding encoding, size_t cost) {
    if (cost < best.cost) best = {encoding, cost};
  };
  const auto try_out = [&](v1::Encoding encoding) {
    bytes_.clear();
    Write(sample_, encoding, bytes_);
    take(encoding, CostOf(bytes_));
  };
  const bool small = BitsOfAll(sample_, false) < 0x80;
  try_out(v1::ENCODING_VARINT);
  try_out(v1::ENCODING_DELTA_VARINT);
  if (effort_ == Effort::kEstimate) {
    if (!small) take(v1::ENCODING_PLANES, EntropyOfPlanes(sample_, false, planes_));
    take(v1::ENCODING_DELTA_PLANES, EntropyOfPlanes(sample_, true, planes_));
    return best;
  }
  try_out(v1::ENCODING_DELTA_PLANES);
  if (small) return best;
  try_out(v1::ENCODING_PLANES);
  try_out(v1::ENCODING_FIXED);
  if (HasRepeats()) try_out(v1::ENCODING_DICTIONARY);
  return best;
}

NumberEncoder::Choice NumberEncoder::ChooseWhole(std::span<const uint64_t> values) {
  if (values.empty()) return {};
  size_t looked_at = 0;
  for (const auto& [begin, end] : Sample(values.size())) looked_at += end - begin;
  Choice choice = Choose(values);
  choice.cost = choice.cost * values.size() / looked_at;
  return choice;
}

// Whether the values of the sample occur kMinRepeats times on average.
bool NumberEncoder::HasRepeats() {
  // At most half full, so that a search is short.
  distinct_.assign(std::bit_ceil(2 * sample_.size()), 0);
  const size_t mask = distinct_.size() - 1;
  size_t distinct = 0;
  bool zero = false;
  for (const uint64_t value : sample_) {
    if (value == 0) {
      distinct += std::exchange(zero, true) ? 0 : 1;
      continue;
    }
    size_t at = (value ^ value >> 32) * 0x9E3779B97F4A7C15u >> 32 & mask;
    while (distinct_[at] != 0 && distinct_[at] != value) at = (at + 1) & mask;
    if (distinct_[at] != 0) continue;
    distinct_[at] = value;
    if (++distinct * kMinRepeats > sample_.size()) return false;
  }
  return distinct * kMinRepeats <= sample_.size();
}

void NumberEncoder::Write(std::span<const uint64_t> values, v1::Encoding encoding, std::vector<std::byte>& to) {
  switch (encoding) {
    case v1::ENCODING_CONSTANT: WriteVarints(values.first(1), false, to); break;
    case v1::ENCODING_DELTA_VARINT: WriteVarints(values, true, to); break;
    case v1::ENCODING_PLANES: WritePlanes(values, false, to); break;
    case v1::ENCODING_DELTA_PLANES: WritePlanes(values, true, to); break;
    case v1::ENCODING_FIXED: WriteFixed(values, to); break;
    case v1::ENCODING_DICTIONARY: WriteDictionary(values, to); break;
    default: WriteVarints(values, false, to);
  }
}

void NumberCursor::Reset() {
  encoding_ = v1::ENCODING_CONSTANT;
  taken_ = ready_ = 0;
  previous_ = 0;
  at_ = end_ = nullptr;
}

bool NumberCursor::Open(uint32_t encoding, std::span<const std::byte> bytes) {
  Reset();
  encoding_ = encoding;
  at_ = bytes.data();
  end_ = at_ + bytes.size();
  switch (encoding) {
    case v1::ENCODING_CONSTANT: return Varint(previous_) && at_ == end_;
    case v1::ENCODING_VARINT:
    case v1::ENCODING_DELTA_VARINT: return true;
    case v1::ENCODING_PLANES:
    case v1::ENCODING_DELTA_PLANES:
    case v1::ENCODING_FIXED: {
      if (bytes.empty()) return false;
      width_ = std::to_integer<uint8_t>(*at_++);
      if (width_ == 0 || width_ > 8 || (bytes.size() - 1) % width_ != 0) return false;
      stride_ = (bytes.size() - 1) / width_;
      // Planes are read along the first one.
      if (encoding != v1::ENCODING_FIXED) end_ = at_ + stride_;
      return true;
    }
    case v1::ENCODING_DICTIONARY: {
      uint64_t count = 0;
      if (!Varint(count) || at_ == end_) return false;
      width_ = std::to_integer<uint8_t>(*at_++);
      if (width_ == 0 || width_ > 8 || count > static_cast<size_t>(end_ - at_) / width_) return false;
      distinct_ = at_;
      stride_ = count;
      at_ += count * width_;
      return true;
    }
    default: return false;
  }
}

bool NumberCursor::Varint(uint64_t& value) {
  if (at_ == end_) return false;
  const auto byte = std::to_integer<uint64_t>(*at_);
  if (byte >= 0x80) return LongVarint(value);
  ++at_;
  value = byte;
  return true;
}

bool NumberCursor::LongVarint(uint64_t& value) {
  if (static_cast<size_t>(end_ - at_) >= sizeof(uint64_t)) {
    const auto word = LoadAt<uint64_t>(at_, 0);
    if (const uint64_t ends = ~word & kHighBits; ends != 0) {
      // The bytes up to the first without its high bit, then their sevens of bits pushed together in pairs.
      uint64_t bits = word & (ends ^ (ends - 1)) & ~kHighBits;
      bits = (bits & 0x007F007F007F007F) | (bits & 0x7F007F007F007F00) >> 1;
      bits = (bits & 0x00003FFF00003FFF) | (bits & 0x3FFF00003FFF0000) >> 2;
      value = (bits & 0x000000000FFFFFFF) | (bits & 0x0FFFFFFF00000000) >> 4;
      at_ += std::countr_zero(ends) / 8 + 1;
      return true;
    }
  }
  const std::byte* at = at_;
  uint64_t result = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (at == end_) return false;
    const auto byte = std::to_integer<uint64_t>(*at++);
    if (shift == 63 && byte > 1) return false;
    result |= (byte & 0x7F) << shift;
    if (byte < 0x80) {
      at_ = at;
      value = result;
      return true;
    }
  }
  return false;
}

// What makes no sense ends the values before it, and is met again by the next call.
size_t NumberCursor::Varints() {
  size_t count = 0;
  while (count < kAtATime) {
    // Mostly small numbers come in a row.
    if (kAtATime - count >= 8 && static_cast<size_t>(end_ - at_) >= 8 && (LoadAt<uint64_t>(at_, 0) & kHighBits) == 0) {
      for (size_t i = 0; i < 8; ++i) values_[count + i] = std::to_integer<uint64_t>(at_[i]);
      count += 8;
      at_ += 8;
      continue;
    }
    if (!Varint(values_[count])) break;
    ++count;
  }
  return count;
}

size_t NumberCursor::Planes() {
  const size_t count = std::min<size_t>(kAtATime, static_cast<size_t>(end_ - at_));
  if (count == kAtATime) {
    // Into memory that nothing else names, so that many are joined at once.
    uint64_t values[kAtATime];
    const std::byte* from = at_;
    for (size_t i = 0; i < kAtATime; ++i) values[i] = std::to_integer<uint64_t>(from[i]);
    for (size_t plane = 1; plane < width_; ++plane) {
      from += stride_;
      for (size_t i = 0; i < kAtATime; ++i) values[i] |= std::to_integer<uint64_t>(from[i]) << 8 * plane;
    }
    std::copy_n(values, kAtATime, values_);
  } else {
    for (size_t i = 0; i < count; ++i) {
      values_[i] = 0;
      for (size_t plane = 0; plane < width_; ++plane) {
        values_[i] |= std::to_integer<uint64_t>(at_[plane * stride_ + i]) << 8 * plane;
      }
    }
  }
  at_ += count;
  return count;
}

size_t NumberCursor::Fixed() {
  const size_t count = std::min<size_t>(kAtATime, static_cast<size_t>(end_ - at_) / width_);
  for (size_t i = 0; i < count; ++i) {
    values_[i] = 0;
    std::memcpy(&values_[i], at_, width_);
    at_ += width_;
  }
  return count;
}

bool NumberCursor::Refill() {
  size_t count = 0;
  switch (encoding_) {
    case v1::ENCODING_CONSTANT:
      count = kAtATime;
      std::fill_n(values_, count, previous_);
      break;
    case v1::ENCODING_VARINT:
    case v1::ENCODING_DELTA_VARINT: count = Varints(); break;
    case v1::ENCODING_PLANES:
    case v1::ENCODING_DELTA_PLANES: count = Planes(); break;
    case v1::ENCODING_FIXED: count = Fixed(); break;
    case v1::ENCODING_DICTIONARY: {
      count = Varints();
      for (size_t i = 0; i < count; ++i) {
        const uint64_t index = values_[i];
        if (index >= stride_) {
          // No value comes after this, nor an end.
          count = i;
          encoding_ = v1::ENCODING_UNKNOWN;
          at_ = end_ - 1;
          break;
        }
        values_[i] = 0;
        std::memcpy(&values_[i], distinct_ + index * width_, width_);
      }
      break;
    }
    default: break;
  }
  if (encoding_ == v1::ENCODING_DELTA_VARINT || encoding_ == v1::ENCODING_DELTA_PLANES) {
    for (size_t i = 0; i < count; ++i) values_[i] = previous_ += UnZigZag(values_[i]);
  }
  taken_ = 0;
  ready_ = static_cast<uint8_t>(count);
  return count > 0;
}

}  // namespace etwpipe::etwp
