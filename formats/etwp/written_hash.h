// SHA-256 of a file in step with its writing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "formats/etwp/sha256.h"
#include "pipeline/platform.h"
#include "pipeline/status.h"

namespace etwpipe::etwp {

/// Hashes what is written in any order. Most of it comes in order and is hashed while it is at hand; what does not is
/// read back when its turn comes.
class WrittenHash {
 public:
  /// `out` outlives this.
  explicit WrittenHash(const OutputFile& out) : out_(out), bytes_(kReadBytes) {}

  /// After `bytes` were written at `offset`, which must not change any more. kInput if they come before what is hashed.
  Status Add(uint64_t offset, std::span<const std::byte> bytes);
  /// The SHA-256 of the whole file, as 32 bytes; empty if the library failed. Once.
  Result<std::string> Finish();

 private:
  static constexpr size_t kReadBytes = 256 << 10;

  Status ReadBack(uint64_t end);

  const OutputFile& out_;
  Sha256 hash_;
  uint64_t position_ = 0;               // up to where it is hashed
  std::map<uint64_t, uint64_t> ahead_;  // what is written beyond: begin to end
  std::vector<std::byte> bytes_;
};

}  // namespace etwpipe::etwp
