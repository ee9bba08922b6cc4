#include "formats/schema/decoder.h"

#include <algorithm>
#include <cstring>

#include "pipeline/byte_reader.h"

namespace etwpipe::schema {
namespace {

using Bytes = std::span<const std::byte>;

// Bytes of one element: where its value begins and ends, and where the next thing begins.
struct Extents {
  size_t value = 0;
  size_t value_size = 0;
  size_t next = 0;
};

// For small payloads of schemas with nested structs.
constexpr size_t kSpareSteps = 64;

// SID_MAX_SUB_AUTHORITIES of Windows.
constexpr uint8_t kMaxSubAuthorities = 15;

// The outcome of measuring: kComplete means there are Extents.
using Measured = DecodeOutcome;

size_t Utf16End(Bytes bytes, size_t begin) {
  for (size_t at = begin; at + 2 <= bytes.size(); at += 2) {
    if (LoadAt<uint16_t>(bytes.data(), at) == 0) return at;
  }
  return bytes.size();
}

size_t NarrowEnd(Bytes bytes, size_t begin) {
  const void* end = begin < bytes.size() ? std::memchr(bytes.data() + begin, 0, bytes.size() - begin) : nullptr;
  return end == nullptr ? bytes.size() : static_cast<size_t>(static_cast<const std::byte*>(end) - bytes.data());
}

uint64_t NumberAt(InType in, Bytes value) {
  const std::byte* p = value.data();
  switch (in) {
    case InType::kInt8: return static_cast<uint64_t>(int64_t{LoadAt<int8_t>(p)});
    case InType::kInt16: return static_cast<uint64_t>(int64_t{LoadAt<int16_t>(p)});
    case InType::kInt32: return static_cast<uint64_t>(int64_t{LoadAt<int32_t>(p)});
    default: break;
  }
  switch (value.size()) {
    case 1: return LoadAt<uint8_t>(p);
    case 2: return LoadAt<uint16_t>(p);
    case 4: return LoadAt<uint32_t>(p);
    case 8: return LoadAt<uint64_t>(p);
    default: return 0;
  }
}

// Walks the properties of one event.
class Walk {
 public:
  Walk(const EventSchema& schema, Bytes payload, uint32_t pointer_size, std::vector<uint64_t>& numbers,
       std::vector<Token>* tokens)
      : schema_(schema), payload_(payload), pointer_size_(pointer_size), numbers_(numbers), tokens_(tokens) {
    max_steps_ = 4 * (payload.size() + schema.properties.size()) + kSpareSteps;
    numbers_.assign(schema.properties.size(), 0);
  }

  size_t position() const { return at_; }
  /// True once a string ended with the payload instead of a terminator.
  bool unterminated() const { return unterminated_; }

  // Properties [begin, end) of the event or of a struct. On anything but kComplete the tokens of what is not whole are
  // taken back by the caller.
  DecodeOutcome Range(size_t begin, size_t end, int depth) {
    for (size_t i = begin; i < end; ++i) {
      const size_t mark = tokens_ == nullptr ? 0 : tokens_->size();
      const size_t start = at_;
      const DecodeOutcome outcome = One(i, depth);
      if (outcome == DecodeOutcome::kComplete) continue;
      if (depth == 0) {
        // A struct or array that is cut keeps nothing: half of one would look whole.
        if (tokens_ != nullptr) tokens_->resize(mark);
        at_ = start;
        if (outcome == DecodeOutcome::kShort && start == payload_.size() && schema_.properties[i].optional) {
          return DecodeOutcome::kComplete;
        }
      }
      return outcome;
    }
    return DecodeOutcome::kComplete;
  }

  DecodeOutcome One(size_t index, int depth) {
    const Property& property = schema_.properties[index];
    if (property.count == Extent::kNone) return Element(index, property, depth);
    size_t count = property.count_value;
    const bool rest = property.count == Extent::kRest;
    if (property.count == Extent::kField) {
      const uint64_t wanted = numbers_[property.count_value];
      if (wanted > 0xFFFF) return DecodeOutcome::kBad;
      count = static_cast<size_t>(wanted);
    } else if (property.count == Extent::kPrefix16) {
      if (payload_.size() - at_ < 2) return DecodeOutcome::kShort;
      count = LoadAt<uint16_t>(payload_.data(), at_);
      at_ += 2;
    }
    const size_t array = tokens_ == nullptr ? 0 : tokens_->size();
    if (!Emit(TokenKind::kArrayBegin, index, at_, rest ? 0 : count)) return DecodeOutcome::kBad;
    size_t done = 0;
    while (rest ? at_ < payload_.size() : done < count) {
      const size_t before = at_;
      const size_t mark = tokens_ == nullptr ? 0 : tokens_->size();
      const DecodeOutcome outcome = Element(index, property, depth);
      // What is left over of an array to the end is left over of the event.
      if (rest && outcome == DecodeOutcome::kShort) {
        if (tokens_ != nullptr) tokens_->resize(mark);
        at_ = before;
        break;
      }
      if (outcome != DecodeOutcome::kComplete) return outcome;
      ++done;
      if (rest && at_ == before) break;
    }
    if (tokens_ != nullptr && rest) (*tokens_)[array].size = static_cast<uint16_t>(done);
    return Emit(TokenKind::kArrayEnd, index, at_, 0) ? DecodeOutcome::kComplete : DecodeOutcome::kBad;
  }

  // The value of the one element of a property at the current place.
  std::optional<Bytes> Here(size_t index) {
    Extents extents;
    if (!Step() || Measure(schema_.properties[index], extents) != DecodeOutcome::kComplete) return std::nullopt;
    return payload_.subspan(extents.value, extents.value_size);
  }
  void MoveTo(size_t offset) { at_ = offset; }

 private:
  // False when a hostile schema makes more of the payload than there is. Pads count: they are work without tokens.
  bool Step() { return ++steps_ <= max_steps_; }

  bool Emit(TokenKind kind, size_t property, size_t offset, size_t size) {
    if (!Step()) return false;
    if (tokens_ != nullptr) {
      tokens_->push_back(
          {kind, static_cast<uint16_t>(property), static_cast<uint16_t>(offset), static_cast<uint16_t>(size)});
    }
    return true;
  }

  DecodeOutcome Element(size_t index, const Property& property, int depth) {
    if (property.in == InType::kStruct) {
      if (depth >= EventSchema::kMaxDepth) return DecodeOutcome::kBad;
      if (!Emit(TokenKind::kStructBegin, index, at_, 0)) return DecodeOutcome::kBad;
      const size_t begin = property.first_member;
      const DecodeOutcome outcome = Range(begin, begin + property.member_count, depth + 1);
      if (outcome != DecodeOutcome::kComplete) return outcome;
      return Emit(TokenKind::kStructEnd, index, at_, 0) ? DecodeOutcome::kComplete : DecodeOutcome::kBad;
    }
    Extents extents;
    const Measured measured = Measure(property, extents);
    if (measured != DecodeOutcome::kComplete) return measured;
    const bool in_bounds =
        property.in == InType::kPad ? Step() : Emit(TokenKind::kValue, index, extents.value, extents.value_size);
    if (!in_bounds) return DecodeOutcome::kBad;
    if (extents.value_size <= 8 && extents.value_size > 0) {
      numbers_[index] = NumberAt(property.in, payload_.subspan(extents.value, extents.value_size));
    }
    at_ = extents.next;
    return DecodeOutcome::kComplete;
  }

  // Sets a value of `size` bytes that begins `prefix` bytes further on.
  Measured Plain(size_t prefix, uint64_t size, Extents& extents) const {
    const size_t left = payload_.size() - at_;
    if (prefix > left || size > left - prefix) return DecodeOutcome::kShort;
    extents = {at_ + prefix, static_cast<size_t>(size), at_ + prefix + static_cast<size_t>(size)};
    return DecodeOutcome::kComplete;
  }

  // The length that the schema states, in units of the type; false if it makes no sense.
  bool StatedLength(const Property& property, uint64_t& length) const {
    length = property.length == Extent::kFixed ? property.length_value : numbers_[property.length_value];
    return length <= 0xFFFF;
  }

  Measured Measure(const Property& property, Extents& extents) {
    const uint32_t fixed = FixedSize(property.in, pointer_size_);
    const size_t left = payload_.size() - at_;
    if (fixed != 0 && property.length == Extent::kNone) return Plain(0, fixed, extents);
    switch (property.in) {
      case InType::kNull: return Plain(0, 0, extents);
      case InType::kUnicodeString:
      case InType::kAnsiString: return Text(property, extents);
      case InType::kUnicodeChar:
      case InType::kAnsiChar:
      case InType::kBinary:
      case InType::kPad: return Sized(property, fixed == 2 ? 2 : 1, extents);
      case InType::kCountedUtf16:
      case InType::kCountedAnsi:
      case InType::kCountedBinary:
      case InType::kCountedString:
      case InType::kCountedAnsiString:
      case InType::kReversedCountedString:
      case InType::kReversedCountedAnsiString: {
        if (left < 2) return DecodeOutcome::kShort;
        auto size = LoadAt<uint16_t>(payload_.data(), at_);
        if (property.in == InType::kReversedCountedString || property.in == InType::kReversedCountedAnsiString) {
          size = static_cast<uint16_t>(size << 8 | size >> 8);
        }
        return Plain(2, size, extents);
      }
      case InType::kHexDump:
        if (left < 4) return DecodeOutcome::kShort;
        return Plain(4, LoadAt<uint32_t>(payload_.data(), at_), extents);
      case InType::kRestUtf16:
      case InType::kRestAnsi:
        if (property.length == Extent::kFixed || property.length == Extent::kField) {
          return Sized(property, property.in == InType::kRestUtf16 ? 2 : 1, extents);
        }
        return Plain(0, property.in == InType::kRestUtf16 ? left & ~size_t{1} : left, extents);
      case InType::kSid: return Sid(0, extents);
      case InType::kWbemSid: {
        if (left < 4) return DecodeOutcome::kShort;
        if (LoadAt<uint32_t>(payload_.data(), at_) == 0) {
          // No token: four bytes stand for an empty SID.
          extents = {at_ + 4, 0, at_ + 4};
          return DecodeOutcome::kComplete;
        }
        return Sid(size_t{2} * pointer_size_, extents);
      }
      default: break;
    }
    // A fixed type with a length of its own: manifests may repeat the natural one.
    if (fixed != 0) return Plain(0, fixed, extents);
    return DecodeOutcome::kBad;
  }

  Measured Sid(size_t prefix, Extents& extents) const {
    const size_t left = payload_.size() - at_;
    if (left < prefix + 8) return DecodeOutcome::kShort;
    const auto count = LoadAt<uint8_t>(payload_.data(), at_ + prefix + 1);
    if (count > kMaxSubAuthorities) return DecodeOutcome::kBad;
    return Plain(prefix, 8 + 4 * uint64_t{count}, extents);
  }

  Measured Sized(const Property& property, size_t unit, Extents& extents) const {
    const size_t left = payload_.size() - at_;
    if (property.length == Extent::kRest) return Plain(0, left / unit * unit, extents);
    if (property.length == Extent::kPrefix16) {
      if (left < 2) return DecodeOutcome::kShort;
      return Plain(2, uint64_t{LoadAt<uint16_t>(payload_.data(), at_)} * unit, extents);
    }
    if (property.length == Extent::kNone) return Plain(0, unit, extents);
    uint64_t length = 0;
    if (!StatedLength(property, length)) return DecodeOutcome::kBad;
    return Plain(0, length * unit, extents);
  }

  // A string: to its terminator, or as long as stated and then cut at its terminator.
  Measured Text(const Property& property, Extents& extents) {
    const bool wide = property.in == InType::kUnicodeString;
    const size_t unit = wide ? 2 : 1;
    if (property.length != Extent::kNone) {
      const Measured measured = Sized(property, unit, extents);
      if (measured != DecodeOutcome::kComplete) return measured;
      const Bytes inside = payload_.first(extents.value + extents.value_size);
      const size_t end = wide ? Utf16End(inside, extents.value) : NarrowEnd(inside, extents.value);
      extents.value_size = end - extents.value;
      return DecodeOutcome::kComplete;
    }
    const size_t end = wide ? Utf16End(payload_, at_) : NarrowEnd(payload_, at_);
    if (payload_.size() - end < unit) {
      // Without a terminator a string ends with the payload: what is there is shown, and said to be short.
      if (at_ == payload_.size()) return DecodeOutcome::kShort;
      const size_t whole = (payload_.size() - at_) / unit * unit;
      extents = {at_, whole, payload_.size()};
      unterminated_ = true;
      return DecodeOutcome::kComplete;
    }
    extents = {at_, end - at_, end + unit};
    return DecodeOutcome::kComplete;
  }

  const EventSchema& schema_;
  Bytes payload_;
  uint32_t pointer_size_;
  std::vector<uint64_t>& numbers_;
  std::vector<Token>* tokens_;
  size_t at_ = 0;
  size_t steps_ = 0;
  size_t max_steps_ = 0;
  bool unterminated_ = false;
};

// Offsets of tokens are 16 bits, as sizes of records are.
Bytes Bounded(Bytes payload) { return payload.first(std::min<size_t>(payload.size(), 0xFFFF)); }

}  // namespace

DecodeOutcome Decode(const EventSchema& schema, Bytes payload, uint32_t pointer_size, DecodedFields& fields) {
  payload = Bounded(payload);
  fields.tokens.clear();
  Walk walk(schema, payload, pointer_size, fields.numbers_, &fields.tokens);
  fields.outcome = walk.Range(0, schema.top_level, 0);
  fields.consumed = static_cast<uint16_t>(walk.position());
  if (fields.outcome == DecodeOutcome::kComplete && walk.position() < payload.size()) {
    fields.outcome = DecodeOutcome::kExtra;
  }
  if (fields.outcome == DecodeOutcome::kComplete && walk.unterminated()) fields.outcome = DecodeOutcome::kShort;
  return fields.outcome;
}

std::optional<Bytes> FindValue(const EventSchema& schema, size_t property, Bytes payload, uint32_t pointer_size,
                               DecodedFields& scratch) {
  payload = Bounded(payload);
  const uint32_t offset = schema.FixedOffset(property, pointer_size);
  const Property& wanted = schema.properties[property];
  if (offset != EventSchema::kMoves) {
    if (offset > payload.size()) return std::nullopt;
    const uint32_t size = FixedSize(wanted.in, pointer_size);
    if (size != 0 && wanted.length == Extent::kNone) {
      if (payload.size() - offset < size) return std::nullopt;
      return payload.subspan(offset, size);
    }
  }
  Walk walk(schema, payload, pointer_size, scratch.numbers_, nullptr);
  if (offset != EventSchema::kMoves && wanted.length != Extent::kField) {
    walk.MoveTo(offset);
  } else {
    for (size_t i = 0; i < property; ++i) {
      if (walk.One(i, 0) != DecodeOutcome::kComplete) return std::nullopt;
    }
  }
  return walk.Here(property);
}

}  // namespace etwpipe::schema
