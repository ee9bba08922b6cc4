#include "formats/facts/method_lives.h"

#include <algorithm>
#include <unordered_set>

namespace etwpipe::facts {
namespace {

using Kind = MethodRecord::Kind;

MethodSource SourceOf(Kind kind) {
  switch (kind) {
    case Kind::kUnload: return MethodSource::kUnload;
    case Kind::kRundownStart: return MethodSource::kRundownStart;
    case Kind::kRundownEnd: return MethodSource::kRundownEnd;
    case Kind::kJittingStarted: return MethodSource::kJitting;
    case Kind::kEntryPoint: return MethodSource::kEntryPoint;
    case Kind::kStub: return MethodSource::kStub;
    case Kind::kLoad:
    case Kind::kModuleUnload: break;
  }
  return MethodSource::kLoad;
}

}  // namespace

bool HasRange(const MethodVersion& version, bool is_32bit) {
  if (version.size == 0) return false;
  const uint64_t last = is_32bit ? 0xFFFFFFFF : ~uint64_t{0};
  return version.size <= last - CodeAddress(version.start_address, is_32bit);
}

size_t MethodLives::KeyHash::operator()(const Key& key) const {
  return static_cast<size_t>((key.method_id * 31 + key.start + key.rejit_id * 17) * 0x9E3779B97F4A7C15u >> 7);
}

bool MethodLives::SameRuntime(const MethodVersion& version, const MethodRecord& record) {
  return !version.clr_instance || !record.clr_instance || version.clr_instance == record.clr_instance;
}

MethodVersion MethodLives::FromRecord(const MethodRecord& record) const {
  MethodVersion version;
  version.pid = record.pid;
  version.clr_instance = record.clr_instance;
  version.method_id = CodeAddress(record.method_id, span_.is_32bit);
  version.module_id = CodeAddress(record.module_id, span_.is_32bit);
  version.start_address = CodeAddress(record.start_address, span_.is_32bit);
  version.rejit_id = record.rejit_id;
  version.size = record.size;
  version.token = record.token;
  version.flags = record.flags;
  version.learnt = SourceOf(record.kind);
  version.names = record.names;
  return version;
}

uint32_t MethodLives::Latest(const MethodRecord& record) const {
  const auto found = latest_.find({CodeAddress(record.method_id, span_.is_32bit),
                                   CodeAddress(record.start_address, span_.is_32bit), record.rejit_id});
  return found == latest_.end() || !SameRuntime(out_[found->second], record) ? kNone : found->second;
}

uint32_t MethodLives::Open(MethodVersion version, int64_t from) {
  const auto number = static_cast<uint32_t>(out_.size());
  version.from = from;
  version.to = span_.end;
  if (HasRange(version, span_.is_32bit)) open_[Start(version)] = number;
  if (version.module_id != 0) of_module_[version.module_id].push_back(number);
  latest_[{version.method_id, version.start_address, version.rejit_id}] = number;
  out_.push_back(version);
  return number;
}

void MethodLives::Close(uint32_t number, int64_t time) {
  MethodVersion& version = out_[number];
  if (const auto place = open_.find(Start(version)); place != open_.end() && place->second == number) {
    open_.erase(place);
    MarkEnded(Start(version), End(version), time);
  }
  version.to = std::max(version.from, time);
}

// The open ranges are disjoint, so those in the way stand side by side.
void MethodLives::CloseOverlaps(const MethodVersion& version, int64_t time) {
  if (!HasRange(version, span_.is_32bit)) return;
  auto place = open_.upper_bound(Start(version));
  if (place != open_.begin() && End(out_[std::prev(place)->second]) > Start(version)) --place;
  while (place != open_.end() && place->first < End(version)) {
    const uint32_t number = place->second;
    ++place;
    Close(number, time);
  }
}

// Times only grow, so the new piece replaces what it covers.
void MethodLives::MarkEnded(uint64_t start, uint64_t end, int64_t time) {
  auto place = ended_.upper_bound(start);
  if (place != ended_.begin()) {
    const auto before = std::prev(place);
    const EndedPiece piece = before->second;
    if (piece.end > start) {
      if (piece.end > end) ended_[end] = piece;
      before->second.end = start;
      if (before->first == start) ended_.erase(before);
    }
  }
  place = ended_.lower_bound(start);
  while (place != ended_.end() && place->first < end) {
    if (place->second.end > end) {
      ended_[end] = place->second;
      ended_.erase(place);
      break;
    }
    place = ended_.erase(place);
  }
  ended_[start] = {end, time};
}

// Rule 5. A version that begins here covers these pieces, so the next that overlaps it meets one piece in their place.
int64_t MethodLives::LowerBound(const MethodVersion& version, int64_t time) const {
  int64_t bound = std::min(span_.start, time);
  if (!HasRange(version, span_.is_32bit)) return bound;
  auto place = ended_.upper_bound(Start(version));
  if (place != ended_.begin() && std::prev(place)->second.end > Start(version)) --place;
  for (; place != ended_.end() && place->first < End(version); ++place) bound = std::max(bound, place->second.time);
  return bound;
}

// Whether the record speaks of the code that is open. A load of another size is of code that took its place.
bool MethodLives::Continues(uint32_t number, const MethodVersion& told, Kind kind) const {
  if (number == kNone || !IsOpen(number)) return false;
  const MethodVersion& version = out_[number];
  return kind != Kind::kLoad || version.size == told.size || version.size == 0 || told.size == 0;
}

void MethodLives::Learn(uint32_t number, const MethodVersion& told, int64_t time) {
  if (IsOpen(number) && out_[number].size == 0 && told.size != 0) {
    CloseOverlaps(told, time);
    out_[number].size = told.size;
    out_[number].from = std::max(out_[number].from, LowerBound(told, time));
    if (HasRange(told, span_.is_32bit)) open_[Start(told)] = number;
  }
  MethodVersion& version = out_[number];
  if (!version.named()) version.names = told.names;
  if (!version.clr_instance) version.clr_instance = told.clr_instance;
  if (version.module_id == 0) version.module_id = told.module_id;
  if (version.token == 0) version.token = told.token;
  if (version.flags == 0) version.flags = told.flags;
}

void MethodLives::Add(const MethodRecord& record) {
  const int64_t time = record.timestamp;
  if (record.kind == Kind::kModuleUnload) {
    const auto found = of_module_.find(CodeAddress(record.module_id, span_.is_32bit));
    if (found == of_module_.end()) return;
    for (const uint32_t number : found->second) {
      if (IsOpen(number)) Close(number, time);
    }
    of_module_.erase(found);
    return;
  }
  if (SourceOf(record.kind) >= MethodSource::kJitting) {
    late_.push_back(record);
    return;
  }
  const MethodVersion told = FromRecord(record);
  uint32_t number = Latest(record);
  const bool closed = number != kNone && !IsOpen(number);
  if (record.kind == Kind::kUnload && closed) {
    Learn(number, told, time);
    return;
  }
  if (Continues(number, told, record.kind)) {
    Learn(number, told, time);
  } else {
    CloseOverlaps(told, time);
    if (number != kNone && IsOpen(number)) Close(number, time);
    number = Open(told, record.kind == Kind::kLoad ? time : LowerBound(told, time));
  }
  switch (record.kind) {
    case Kind::kLoad: ++out_[number].loads; break;
    case Kind::kRundownEnd: out_[number].alive_at_end = true; break;
    case Kind::kUnload: Close(number, time); break;
    default: break;
  }
}

void MethodLives::Finish() {
  for (const MethodRecord& record : late_) {
    if (record.kind == Kind::kEntryPoint && Latest(record) == kNone) Open(FromRecord(record), record.timestamp);
  }
  if (late_.empty()) return;
  std::unordered_set<uint64_t> known;
  for (size_t number = first_; number < out_.size(); ++number) known.insert(out_[number].method_id);
  for (const MethodRecord& record : late_) {
    const MethodVersion told = FromRecord(record);
    if (record.kind != Kind::kEntryPoint && known.insert(told.method_id).second) Open(told, record.timestamp);
  }
}

}  // namespace etwpipe::facts
