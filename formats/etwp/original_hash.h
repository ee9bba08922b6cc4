// SHA-256 of the recording that an archive is made of.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "formats/etwp/sha256.h"
#include "pipeline/platform.h"
#include "pipeline/status.h"

namespace etwpipe::etwp {

/// Hashes the original in step with the writing, so that the work falls beside the compression of later blocks.
class OriginalHash {
 public:
  explicit OriginalHash(std::shared_ptr<InputFile> file) : file_(std::move(file)), bytes_(kReadBytes) {}

  /// Hashes the next `count` bytes, or what is left.
  Status Advance(uint64_t count) {
    uint64_t left = std::min(count, file_->size() - position_);
    while (left > 0) {
      const auto part = std::span(bytes_).first(std::min<uint64_t>(left, bytes_.size()));
      const auto read = file_->ReadAt(position_, part);
      if (!read.ok()) return read.status();
      if (*read == 0) break;
      hash_.Update(part.first(*read));
      position_ += *read;
      left -= *read;
    }
    return {};
  }
  /// Up to where it is hashed.
  uint64_t position() const { return position_; }
  /// The SHA-256 of what was hashed, as Sha256::Finish(). Once.
  std::string Finish() { return hash_.Finish(); }

 private:
  static constexpr size_t kReadBytes = 256 << 10;

  std::shared_ptr<InputFile> file_;
  std::vector<std::byte> bytes_;
  Sha256 hash_;
  uint64_t position_ = 0;
};

}  // namespace etwpipe::etwp
