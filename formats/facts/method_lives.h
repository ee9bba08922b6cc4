// From the records of one process to its code versions and their lives: the rules of semantics.md 7.2.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "formats/facts/method_version.h"

namespace etwpipe::facts {

/// What a code address stands for when it is looked up: 32-bit processes may write theirs sign-extended.
constexpr uint64_t CodeAddress(uint64_t address, bool is_32bit) { return is_32bit ? address & 0xFFFFFFFF : address; }

/// Whether the version covers addresses: it has a size and its range does not wrap.
bool HasRange(const MethodVersion& version, bool is_32bit);

/// Takes the records of one process instance in the order of time and appends versions. No two versions of it that
/// cover the same address live at the same time, but for the tick where one ends and the next begins. What
/// semantics.md 7.2 leaves open:
///
/// - Rundown that speaks of addresses where other code is still open closes that code, as a load does (rule 6): its
///   unload was lost.
/// - A record without size, or with a range that wraps, makes a version that is found by its id only.
/// - An unload of what is closed already adds nothing; verbose and short records of one event are one.
/// - MethodJittingStarted, R2RGetEntryPoint and ILStubGenerated make a version only of what has no other.
///
/// Time: logarithmic in the number of versions for each record, amortised.
class MethodLives {
 public:
  struct Span {
    int64_t start = 0;  ///< of the process, raw ticks
    int64_t end = 0;
    bool is_32bit = false;
  };

  MethodLives(std::vector<MethodVersion>& out, const Span& span) : out_(out), first_(out.size()), span_(span) {}

  void Add(const MethodRecord& record);
  /// After the last record.
  void Finish();

 private:
  struct Key {
    uint64_t method_id;
    uint64_t start;
    uint64_t rejit_id;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  struct EndedPiece {
    uint64_t end = 0;  // of the addresses
    int64_t time = 0;
  };
  static constexpr uint32_t kNone = 0xFFFFFFFF;

  bool IsOpen(uint32_t version) const { return out_[version].to == span_.end; }
  uint64_t Start(const MethodVersion& version) const { return CodeAddress(version.start_address, span_.is_32bit); }
  uint64_t End(const MethodVersion& version) const { return Start(version) + version.size; }
  static bool SameRuntime(const MethodVersion& version, const MethodRecord& record);

  MethodVersion FromRecord(const MethodRecord& record) const;
  uint32_t Latest(const MethodRecord& record) const;
  uint32_t Open(MethodVersion version, int64_t from);
  void Close(uint32_t version, int64_t time);
  void CloseOverlaps(const MethodVersion& version, int64_t time);
  void MarkEnded(uint64_t start, uint64_t end, int64_t time);
  int64_t LowerBound(const MethodVersion& version, int64_t time) const;
  bool Continues(uint32_t version, const MethodVersion& told, MethodRecord::Kind kind) const;
  void Learn(uint32_t version, const MethodVersion& told, int64_t time);

  std::vector<MethodVersion>& out_;
  size_t first_;
  Span span_;
  std::unordered_map<Key, uint32_t, KeyHash> latest_;
  std::map<uint64_t, uint32_t> open_;     // by start: versions with a range that are open; they do not overlap
  std::map<uint64_t, EndedPiece> ended_;  // by start: when code last ended there; pieces do not overlap
  std::unordered_map<uint64_t, std::vector<uint32_t>> of_module_;
  std::vector<MethodRecord> late_;  // records that only fill gaps
};

}  // namespace etwpipe::facts
