// What fields are predicted from: the same while a block is written and read (FORMAT.md, "Predictions").
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "formats/etwp/payload_layout.h"

namespace etwpipe::etwp {

/// ColumnDirectory.prediction of a column of fields.
enum Prediction : uint32_t {
  kNoPrediction = 0,
  kFromLast = 1,          ///< the last value of the context; in an array the element before in the same payload
  kFromRow = 2,           ///< the value in the row with the same key
  kFromTimestamp = 3,     ///< the timestamp of the event
  kFromPrevious = 4,      ///< the timestamp of the event before on the processor
  kFromTid = 5,           ///< the thread that the event names or else the last one named on its processor
  kFromPid = 6,           ///< its process
  kPaired = 7,            ///< with the next field, which is such an array too: elements in turn (FORMAT.md, "Pairs")
  kFromNearest = 8,       ///< the value in the row with the largest key below this one's
  kFromEnd = 9,           ///< the last value of the context plus that of the next field's: where what was last ended
  kFromField = 16,        ///< this and above: the value of field n - 16 of the same payload
  kFromProcessor = 2048,  ///< and above: of field n - 2048 in the payload before of the kind on the processor
};

/// Whether it came after the others, so that who writes it names v1::ENCODING_PREDICTIONS.
constexpr bool IsLaterPrediction(uint32_t prediction) { return prediction == kFromEnd || prediction >= kFromProcessor; }

/// What the header of an event says, for predictions of its payload.
struct HeaderFacts {
  uint64_t timestamp = 0;
  uint64_t previous_timestamp = 0;  ///< of the event before on the processor, 0 for the first of the block
  uint64_t tid = 0;
  uint64_t pid = 0;
  uint16_t cpu = 0;
};

/// From keys to places, by open addressing. Places are below 2^32 - 1.
class KeyIndex {
 public:
  static constexpr uint32_t kNone = 0xFFFFFFFF;

  /// The place of the key; kNone if it has none.
  uint32_t Find(uint64_t key) const {
    if (entries_.empty()) return kNone;
    for (size_t at = SlotOf(key);; at = (at + 1) & (entries_.size() - 1)) {
      if (entries_[at].place == kNone || entries_[at].key == key) return entries_[at].place;
    }
  }
  /// `key` must have none yet.
  void Add(uint64_t key, uint32_t place);

 private:
  struct Entry {
    uint64_t key = 0;
    uint32_t place = kNone;
  };
  size_t SlotOf(uint64_t key) const {
    const uint64_t mixed = (key ^ key >> 32) * 0x9E3779B97F4A7C15u;
    return static_cast<size_t>(mixed >> 32) & (entries_.size() - 1);
  }
  void Put(uint64_t key, uint32_t place);

  std::vector<Entry> entries_;  // a power of two of them, at most half of them taken
  size_t count_ = 0;
};

/// Key of what is kept by kind of a block and processor.
constexpr uint64_t KindOnProcessor(size_t kind, uint16_t cpu) { return uint64_t{kind} << 16 | cpu; }

/// Memory of values by context and by key. Starts anew with each block.
class PredictionState {
 public:
  /// Rows hold at most this many values together, and as many are kept per processor.
  static constexpr size_t kMaxRowValues = size_t{1} << 22;

  /// What is kept: writers look at everything, readers at what UseRows() and UseLast() name.
  enum class Keep : uint8_t { kAll, kUsed };
  /// `layouts`: one per kind of the block, null where it has none. They must outlive the block.
  void Start(std::span<const PayloadLayout* const> layouts, Keep keep);

  uint64_t last(uint32_t context) const { return last_[context]; }
  /// The row of the key in a payload of `kind`, made if it is new; empty if there is no room. Valid until the next
  /// call.
  std::span<uint64_t> Row(size_t kind, uint64_t key);
  /// The row with the largest key below that one; empty if there is none.
  std::span<const uint64_t> Below(size_t kind, uint64_t key) const;
  /// The values by field of the payload before of the kind on the processor: zeros if there is none, made if it is new;
  /// empty if there is no room. Valid until the next call.
  std::span<uint64_t> OnProcessor(size_t kind, uint16_t cpu);
  /// Whether a row was left out.
  bool overflowed() const { return overflowed_; }
  /// Rows of the kind's table are used, with `nearest` also those below. Before Prepare().
  void UseRows(size_t kind, bool nearest) {
    KeyTable& table = tables_[kinds_[kind].table];
    table.used = true;
    table.ordered |= nearest;
  }
  /// last() of the context is used. Before Prepare().
  void UseLast(uint32_t context) { last_used_[context] = true; }
  /// Before the first payload.
  void Prepare();
  bool used(size_t kind) const { return tables_[kinds_[kind].table].used; }
  bool ordered(size_t kind) const { return tables_[kinds_[kind].table].ordered; }
  /// Where a row keeps the field of a kind that has a key.
  size_t slot(size_t kind, size_t field) const { return kinds_[kind].slots[field]; }
  /// After a payload: its values by field, of those outside arrays. Tables count from 1 here.
  void Update(size_t kind, std::span<const uint64_t> values, std::span<uint64_t> row);

 private:
  struct KeyTable {
    size_t stride = 0;
    bool used = false;
    bool ordered = false;
    KeyIndex rows;                        // key to the place in values
    std::map<uint64_t, uint32_t> sorted;  // the same; if `ordered`
    std::vector<uint64_t> values;
  };
  struct Kind {
    const PayloadLayout* layout = nullptr;
    size_t table = 0;
    std::vector<size_t> slots;  // per field
    // What Update() carries over: field, and context or slot.
    std::vector<std::pair<uint32_t, uint32_t>> lasts;
    std::vector<std::pair<uint32_t, uint32_t>> rows;
  };
  std::vector<uint64_t> last_;  // by context
  std::vector<bool> last_used_;
  std::vector<Kind> kinds_;
  std::vector<KeyTable> tables_;
  KeyIndex processor_rows_;  // by kind and processor, to the place in processor_values_
  std::vector<uint64_t> processor_values_;
  size_t row_values_ = 0;
  bool overflowed_ = false;
};

/// The bits of a number of `width` bytes.
constexpr uint64_t WidthMask(size_t width) { return width >= 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * width) - 1; }
/// What an element of a pair of arrays is told from: the last element that was no marker. The three largest numbers are
/// markers, as offsets that are none have them.
struct PairState {
  static constexpr uint64_t kMarkers = 3;
  uint64_t previous = 0;

  uint64_t Pack(uint64_t value, size_t width);
  uint64_t Unpack(uint64_t code, size_t width);
};

/// A difference of two such numbers as it stands in a column.
constexpr uint64_t PackDifference(uint64_t difference, size_t width) {
  const int shift = static_cast<int>(64 - 8 * width);
  const auto wide = static_cast<uint64_t>(static_cast<int64_t>(difference << shift) >> shift);
  return wide << 1 ^ (wide >> 63 != 0 ? ~uint64_t{0} : 0);
}

inline uint64_t PairState::Pack(uint64_t value, size_t width) {
  const uint64_t below = WidthMask(width) - value;
  if (below < kMarkers) return below;
  const uint64_t code = kMarkers + PackDifference(value - previous, width);
  previous = value;
  return code;
}
inline uint64_t PairState::Unpack(uint64_t code, size_t width) {
  if (code < kMarkers) return WidthMask(width) - code;
  code -= kMarkers;
  previous = (previous + (code >> 1 ^ ((code & 1) != 0 ? ~uint64_t{0} : 0))) & WidthMask(width);
  return previous;
}

}  // namespace etwpipe::etwp
