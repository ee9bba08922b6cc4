#include "formats/facts/image_lives.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace etwpipe::facts {
namespace {

constexpr uint64_t kLastAddress = std::numeric_limits<uint64_t>::max();

uint64_t LastOf(const ImageRecord& record) {
  return record.size - 1 > kLastAddress - record.base ? kLastAddress : record.base + (record.size - 1);
}

// Providers write one file in several ways: \SystemRoot\System32\ntdll.dll, \Windows\System32\ntdll.dll.
bool IsSameImage(const ImageInstance& image, const ImageRecord& record) {
  return image.base == record.base && image.last() == LastOf(record) &&
         EqualNames(LastPart(image.file_name), LastPart(record.file_name));
}

}  // namespace

ImageLives::ImageLives(std::vector<ImageInstance>& out, int64_t begin, int64_t tolerance)
    : out_(out), tolerance_(tolerance), ended_{{0, begin}} {}

void ImageLives::Add(const ImageRecord& record, const PdbIdentity* pdb) {
  const auto open = open_.find(record.base);
  if (record.kind == ImageRecord::Kind::kUnload) {
    if (open != open_.end()) {
      Learn(out_[open->second], record, pdb);
      unloaded_[record.base] = open->second;
      Close(open, record.timestamp);
      return;
    }
    if (AlreadyUnloaded(record)) return;
    CloseOverlapping(record.base, LastOf(record), record.timestamp);
    const int64_t from = LastEnd(record.base, LastOf(record));
    if (from >= record.timestamp) {
      // Nothing fits in between. One part instead of many keeps the next question short.
      SetEnd(record.base, LastOf(record), record.timestamp);
      return;
    }
    Begin(record, from);
    Learn(out_.back(), record, pdb);
    unloaded_[record.base] = out_.size() - 1;
    Close(open_.find(record.base), record.timestamp);
    return;
  }
  if (open != open_.end() && IsSameImage(out_[open->second], record)) {
    Learn(out_[open->second], record, pdb);
    return;
  }
  CloseOverlapping(record.base, LastOf(record), record.timestamp);
  const bool loaded = record.kind == ImageRecord::Kind::kLoad;
  Begin(record, loaded ? record.timestamp : LastEnd(record.base, LastOf(record)));
  Learn(out_.back(), record, pdb);
}

void ImageLives::End(int64_t time) {
  for (const auto& [base, index] : open_) out_[index].unload = time;
  open_.clear();
}

void ImageLives::CloseOverlapping(uint64_t first, uint64_t last, int64_t time) {
  auto after = open_.upper_bound(last);
  while (after != open_.begin()) {
    const auto image = std::prev(after);
    if (out_[image->second].last() < first) break;
    after = Close(image, time);
  }
}

ImageLives::Open::iterator ImageLives::Close(Open::iterator image, int64_t time) {
  ImageInstance& instance = out_[image->second];
  instance.unload = time;
  SetEnd(instance.base, instance.last(), time);
  return open_.erase(image);
}

void ImageLives::Begin(const ImageRecord& record, int64_t from) {
  ImageInstance& image = out_.emplace_back();
  image.pid = record.pid;
  image.base = record.base;
  image.size = LastOf(record) - record.base + 1;
  image.load = from;
  open_[record.base] = out_.size() - 1;
}

void ImageLives::Learn(ImageInstance& image, const ImageRecord& record, const PdbIdentity* pdb) {
  if (image.file_name.empty()) image.file_name = record.file_name;
  if (image.time_date_stamp == 0) image.time_date_stamp = record.time_date_stamp;
  if (pdb != nullptr && !image.pdb.known()) image.pdb = *pdb;
}

bool ImageLives::AlreadyUnloaded(const ImageRecord& record) const {
  const auto before = unloaded_.find(record.base);
  return before != unloaded_.end() && IsSameImage(out_[before->second], record) &&
         record.timestamp - out_[before->second].unload <= tolerance_;
}

int64_t ImageLives::LastEnd(uint64_t first, uint64_t last) const {
  int64_t latest = std::numeric_limits<int64_t>::min();
  for (auto part = std::prev(ended_.upper_bound(first)); part != ended_.end() && part->first <= last; ++part) {
    latest = std::max(latest, part->second);
  }
  return latest;
}

void ImageLives::SetEnd(uint64_t first, uint64_t last, int64_t time) {
  SplitAt(first);
  if (last != kLastAddress) SplitAt(last + 1);
  const auto part = ended_.find(first);
  part->second = time;
  ended_.erase(std::next(part), last == kLastAddress ? ended_.end() : ended_.find(last + 1));
}

void ImageLives::SplitAt(uint64_t address) {
  const auto part = std::prev(ended_.upper_bound(address));
  if (part->first != address) ended_.emplace(address, part->second);
}

}  // namespace etwpipe::facts
