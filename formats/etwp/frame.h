// Frames of an .etwp file: how they are cut, checked, and found again after damage (design.md section 11).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pipeline/diagnostics.h"
#include "pipeline/platform.h"
#include "pipeline/status.h"
#include "proto/archive.pb.h"

namespace etwpipe::etwp {

constexpr uint32_t kFormatVersion = 2;
constexpr uint32_t kMinReaderVersion = 2;
constexpr uint64_t kFileMagic = 0x0A1A50545745AB89;
constexpr uint64_t kTailMagic = 0x0A444E4550545745;
constexpr uint32_t kSyncWord = 0x50574589;

constexpr size_t kFramePrefix = 16;  ///< sync word, length, checksum
constexpr size_t kTailSize = 32;
constexpr uint32_t kMaxContent = 64u << 20;    ///< inflated bytes of a frame's columns
constexpr uint32_t kMaxFrameParts = 1u << 21;  ///< messages, strings and byte strings of a body, all levels together
constexpr uint32_t kMaxFrameBody = kMaxContent + (4u << 20);

/// The whole frame for `body`: prefix and serialised message. Fails if the body is too long for a frame.
Result<std::vector<std::byte>> MakeFrame(const v1::Frame& body);

/// The same with the body packed where that makes it smaller. For all frames but blocks and restore frames, which
/// compress their columns themselves.
Result<std::vector<std::byte>> MakePackedFrame(const v1::Frame& body);

/// The checksum in the prefix of a frame that MakeFrame() made.
uint64_t LoadFrameChecksum(std::span<const std::byte> frame);

/// The 32 bytes at the end of a file.
struct Tail {
  uint64_t index_offset = 0;
  uint32_t index_length = 0;    ///< of the whole frame
  uint64_t index_checksum = 0;  ///< the one in its prefix
};
std::vector<std::byte> MakeTail(const Tail& tail);
/// nullopt if the bytes are no tail.
std::optional<Tail> ParseTail(std::span<const std::byte> bytes);

/// Whether a file that starts with these bytes (16 are enough) is an archive.
bool LooksLikeArchive(std::span<const std::byte> start);

/// One frame as read. `body` owns the message; `place` is where the frame stands, prefix included.
struct ReadFrame {
  DiagnosticPlace place;
  uint64_t checksum = 0;
  v1::Frame body;
};

/// Reads the frame at `offset`. The text says why there is none; empty when there is one. A Status only when the file
/// cannot be read.
Result<std::string> ReadFrameAt(const InputFile& file, uint64_t offset, uint32_t length, ReadFrame& frame);

/// Walks frames from sync word to sync word, in ascending order only, so that it works on a stream too. Damage is
/// reported and passed over. The work to find the next frame after damage is bounded.
class FrameWalker {
 public:
  /// `file` must live as long. `start`: bytes at the start of a stream that were read already.
  explicit FrameWalker(const InputFile& file, std::vector<std::byte> start = {})
      : file_(file), window_(std::move(start)) {}

  /// The next good frame; false at the end of the file. Damage in front of it goes to `diagnostics` (may be null).
  Result<bool> Next(ReadFrame& frame, Diagnostics* diagnostics);
  /// True once the tail was met: the file is whole up to its end.
  bool saw_tail() const { return saw_tail_; }
  /// Bytes from the start of the file to the next frame.
  uint64_t position() const { return base_ + begin_; }

 private:
  enum class Check : uint8_t { kFrame, kTail, kBad, kEnd };

  Status Load(size_t count);
  std::span<const std::byte> loaded() const { return std::span(window_).subspan(begin_); }
  Result<Check> CheckHere(ReadFrame& frame, std::string& reason);
  Status FindSync();

  const InputFile& file_;
  std::vector<std::byte> window_;  // bytes of the file from base_ on; those before begin_ are done
  size_t begin_ = 0;
  uint64_t base_ = 0;
  bool at_end_ = false;  // the window reaches the end of the file
  bool saw_tail_ = false;
  uint64_t search_budget_ = uint64_t{1} << 32;  // bytes that may be hashed in search of a frame
};

}  // namespace etwpipe::etwp
