#include "formats/etwp/frame.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>

#include "pipeline/byte_reader.h"

namespace etwpipe::etwp {
namespace {

constexpr size_t kMinRead = 64 * 1024;

uint64_t Checksum(std::span<const std::byte> body) { return XXH3_64bits(body.data(), body.size()); }

// Protobuf tag that a frame body can begin with: the magic, or a length-delimited field 9 to 15.
bool PlausibleBody(std::byte first) {
  const auto tag = std::to_integer<uint32_t>(first);
  return tag == 0x09 || (tag >= 0x4A && tag <= 0x7A && (tag & 7) == 2);
}

struct Prefix {
  uint32_t sync = 0;
  uint32_t length = 0;
  uint64_t checksum = 0;
};

Prefix LoadPrefix(const std::byte* bytes) {
  return {LoadAt<uint32_t>(bytes, 0), LoadAt<uint32_t>(bytes, 4), LoadAt<uint64_t>(bytes, 8)};
}

// Whether parsing makes at most `left` messages, strings and byte strings, which is taken off it. Each takes memory
// however few bytes it has. Malformed bytes are the parser's business.
bool HasFewParts(const google::protobuf::Descriptor& type, std::span<const std::byte> bytes, uint64_t& left) {
  using google::protobuf::internal::WireFormatLite;
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                                            static_cast<int>(bytes.size()));
  for (uint32_t tag = in.ReadTag(); tag != 0; tag = in.ReadTag()) {
    if (WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      if (!WireFormatLite::SkipField(&in, tag)) return true;
      continue;
    }
    uint32_t length = 0;
    if (!in.ReadVarint32(&length)) return true;
    const auto begin = static_cast<size_t>(in.CurrentPosition());
    if (length > bytes.size() - begin) return true;
    if (left == 0) return false;
    --left;
    const auto* field = type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
    const auto* inner = field == nullptr ? nullptr : field->message_type();
    if (inner != nullptr && !HasFewParts(*inner, bytes.subspan(begin, length), left)) return false;
    in.Skip(static_cast<int>(length));
  }
  return true;
}

std::string Parse(std::span<const std::byte> bytes, v1::Frame& frame) {
  uint64_t left = kMaxFrameParts;
  // A part takes two bytes at least.
  if (bytes.size() > kMaxFrameParts && !HasFewParts(*v1::Frame::descriptor(), bytes, left)) {
    return "its message has too many parts";
  }
  return frame.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ? "" : "its message cannot be parsed";
}

// Puts the message that a packed frame holds in its place; the reason if there is none.
std::string Unpack(v1::Frame& frame) {
  const std::string content = std::move(*frame.mutable_packed()->mutable_content());
  const size_t length = frame.packed().length();
  if (length > kMaxContent) return fmt::format("it declares {} bytes of packed message", length);
  if (ZSTD_getFrameContentSize(content.data(), content.size()) != length) {
    return "its packed message states another size than declared";
  }
  std::string message(length, '\0');
  const size_t inflated = ZSTD_decompress(message.data(), message.size(), content.data(), content.size());
  if (ZSTD_isError(inflated) || inflated != length) return "its packed message does not inflate";
  v1::Frame inner;
  if (auto reason = Parse(std::as_bytes(std::span(message)), inner); !reason.empty()) return reason;
  if (inner.has_packed() || inner.has_block() || inner.has_restore() || inner.has_prefix())
    return "it packs what may not be packed";
  inner.set_magic(frame.magic());
  inner.set_format_version(frame.format_version());
  inner.set_min_reader_version(frame.min_reader_version());
  frame.Swap(&inner);
  return {};
}

// Parses a body whose checksum is right; the reason if it is no message of ours.
std::string ParseBody(std::span<const std::byte> body, v1::Frame& frame) {
  frame.Clear();
  if (auto reason = Parse(body, frame); !reason.empty()) return reason;
  return frame.has_packed() ? Unpack(frame) : std::string();
}

}  // namespace

Result<std::vector<std::byte>> MakeFrame(const v1::Frame& body) {
  const size_t length = body.ByteSizeLong();
  if (length > kMaxFrameBody) return Status::Internal(fmt::format("an archive frame of {} bytes is too long", length));
  std::vector<std::byte> frame(kFramePrefix + length);
  const auto message = std::span(frame).subspan(kFramePrefix);
  if (!body.SerializeToArray(message.data(), static_cast<int>(length))) {
    return Status::Internal("an archive frame cannot be serialised");
  }
  StoreAt<uint32_t>(frame.data(), 0, kSyncWord);
  StoreAt<uint32_t>(frame.data(), 4, static_cast<uint32_t>(length));
  StoreAt<uint64_t>(frame.data(), 8, Checksum(message));
  return frame;
}

Result<std::vector<std::byte>> MakePackedFrame(const v1::Frame& body) {
  constexpr int kLevel = 12;
  v1::Frame inner = body;
  inner.clear_magic();
  inner.clear_format_version();
  inner.clear_min_reader_version();
  const std::string message = inner.SerializeAsString();
  if (message.size() > kMaxContent) return MakeFrame(body);
  std::string content(ZSTD_compressBound(message.size()), '\0');
  const size_t size = ZSTD_compress(content.data(), content.size(), message.data(), message.size(), kLevel);
  if (ZSTD_isError(size)) return Status::Internal(fmt::format("zstd: {}", ZSTD_getErrorName(size)));
  if (size >= message.size()) return MakeFrame(body);
  content.resize(size);
  v1::Frame outer;
  outer.set_magic(body.magic());
  outer.set_format_version(body.format_version());
  outer.set_min_reader_version(body.min_reader_version());
  outer.mutable_packed()->set_length(static_cast<uint32_t>(message.size()));
  outer.mutable_packed()->set_content(std::move(content));
  return MakeFrame(outer);
}

uint64_t LoadFrameChecksum(std::span<const std::byte> frame) { return LoadPrefix(frame.data()).checksum; }

std::vector<std::byte> MakeTail(const Tail& tail) {
  std::vector<std::byte> bytes(kTailSize);
  StoreAt<uint64_t>(bytes.data(), 0, tail.index_offset);
  StoreAt<uint32_t>(bytes.data(), 8, tail.index_length);
  StoreAt<uint32_t>(bytes.data(), 12, 0);
  StoreAt<uint64_t>(bytes.data(), 16, tail.index_checksum);
  StoreAt<uint64_t>(bytes.data(), 24, kTailMagic);
  return bytes;
}

std::optional<Tail> ParseTail(std::span<const std::byte> bytes) {
  if (bytes.size() != kTailSize || LoadAt<uint64_t>(bytes.data(), 24) != kTailMagic) return std::nullopt;
  if (LoadAt<uint32_t>(bytes.data(), 12) != 0) return std::nullopt;
  return Tail{LoadAt<uint64_t>(bytes.data(), 0), LoadAt<uint32_t>(bytes.data(), 8), LoadAt<uint64_t>(bytes.data(), 16)};
}

bool LooksLikeArchive(std::span<const std::byte> start) {
  return start.size() >= 4 && LoadAt<uint32_t>(start.data()) == kSyncWord;
}

Result<std::string> ReadFrameAt(const InputFile& file, uint64_t offset, uint32_t length, ReadFrame& frame) {
  if (length < kFramePrefix || length > kFramePrefix + kMaxFrameBody) return std::string("its length is impossible");
  if (offset > file.size() || length > file.size() - offset) return std::string("it lies outside the file");
  std::vector<std::byte> bytes(length);
  const auto count = file.ReadAt(offset, bytes);
  if (!count.ok()) return count.status();
  if (*count < length) return std::string("the file ends inside it");
  const Prefix prefix = LoadPrefix(bytes.data());
  if (prefix.sync != kSyncWord) return std::string("no sync word stands there");
  if (prefix.length != length - kFramePrefix) return std::string("its length differs from the index");
  const auto body = std::span<const std::byte>(bytes).subspan(kFramePrefix);
  if (Checksum(body) != prefix.checksum) return std::string("its checksum is wrong");
  frame.place = {offset, length};
  frame.checksum = prefix.checksum;
  return ParseBody(body, frame.body);
}

// Makes at least `count` bytes of the window available unless the file ends before.
Status FrameWalker::Load(size_t count) {
  if (window_.size() - begin_ >= count || at_end_) return {};
  window_.erase(window_.begin(), window_.begin() + static_cast<ptrdiff_t>(begin_));
  base_ += begin_;
  begin_ = 0;
  const size_t have = window_.size();
  size_t wanted = std::max(count, kMinRead);
  // A length that the file itself declares is not believed before its bytes are there.
  while (have < wanted && window_.size() < wanted) {
    const size_t at = window_.size();
    const size_t step = std::min(wanted - at, std::max(at, kMinRead));
    window_.resize(at + step);
    const auto read = file_.ReadAt(base_ + at, std::span(window_).subspan(at));
    if (!read.ok()) return read.status();
    window_.resize(at + *read);
    if (*read < step) {
      at_end_ = true;
      break;
    }
  }
  return {};
}

Result<FrameWalker::Check> FrameWalker::CheckHere(ReadFrame& frame, std::string& reason) {
  ETWPIPE_RETURN_IF_ERROR(Load(kTailSize));
  if (loaded().empty()) return Check::kEnd;
  if (loaded().size() >= kTailSize && ParseTail(loaded().first(kTailSize))) {
    ETWPIPE_RETURN_IF_ERROR(Load(kTailSize + 1));
    if (loaded().size() == kTailSize) return Check::kTail;
  }
  if (loaded().size() < kFramePrefix) {
    reason = "the file ends inside a frame";
    return Check::kBad;
  }
  const Prefix prefix = LoadPrefix(loaded().data());
  if (prefix.sync != kSyncWord) {
    reason = "no sync word where a frame should start";
    return Check::kBad;
  }
  if (prefix.length > kMaxFrameBody) {
    reason = "a frame declares an impossible length";
    return Check::kBad;
  }
  ETWPIPE_RETURN_IF_ERROR(Load(kFramePrefix + prefix.length));
  if (loaded().size() < kFramePrefix + prefix.length) {
    reason = "the file ends inside a frame";
    return Check::kBad;
  }
  const auto body = loaded().subspan(kFramePrefix, prefix.length);
  if (Checksum(body) != prefix.checksum) {
    reason = "the checksum of a frame is wrong";
    return Check::kBad;
  }
  frame.place = {position(), kFramePrefix + prefix.length};
  frame.checksum = prefix.checksum;
  reason = ParseBody(body, frame.body);
  begin_ += kFramePrefix + prefix.length;
  return reason.empty() ? Check::kFrame : Check::kBad;
}

// Moves to the next place after a damaged one where a whole frame or the tail stands, or to the end of the file.
Status FrameWalker::FindSync() {
  while (true) {
    ETWPIPE_RETURN_IF_ERROR(Load(kTailSize));
    const auto bytes = loaded();
    if (bytes.size() < kFramePrefix) break;
    if (bytes.size() == kTailSize && at_end_ && ParseTail(bytes)) return {};
    const Prefix prefix = LoadPrefix(bytes.data());
    if (prefix.sync == kSyncWord && prefix.length <= kMaxFrameBody && bytes.size() > kFramePrefix &&
        PlausibleBody(bytes[kFramePrefix])) {
      const size_t size = kFramePrefix + prefix.length;
      if (search_budget_ < size) break;
      search_budget_ -= size;
      ETWPIPE_RETURN_IF_ERROR(Load(size));
      if (loaded().size() >= size && Checksum(loaded().subspan(kFramePrefix, prefix.length)) == prefix.checksum) {
        return {};
      }
    }
    const auto rest = loaded().subspan(1);
    const void* found = std::memchr(rest.data(), static_cast<int>(kSyncWord & 0xFF), rest.size());
    const size_t left = loaded().size();
    const size_t step =
        found == nullptr ? left : static_cast<size_t>(static_cast<const std::byte*>(found) - loaded().data());
    // The tail has no sync word: the place where it would start is not stepped over.
    const size_t limit = at_end_ ? (left > kTailSize ? left - kTailSize : left) : left - (kTailSize - 1);
    begin_ += std::min(step, limit);
  }
  begin_ = window_.size();
  // What is left unread when the budget is gone counts as damaged as well.
  while (!at_end_) {
    ETWPIPE_RETURN_IF_ERROR(Load(kMinRead));
    begin_ = window_.size();
  }
  return {};
}

Result<bool> FrameWalker::Next(ReadFrame& frame, Diagnostics* diagnostics) {
  while (!saw_tail_) {
    std::string reason;
    const uint64_t start = position();
    const auto check = CheckHere(frame, reason);
    if (!check.ok()) return check.status();
    switch (*check) {
      case Check::kFrame: return true;
      case Check::kTail: saw_tail_ = true; return false;
      case Check::kEnd: return false;
      case Check::kBad: break;
    }
    // The first byte is passed over unless the frame as a whole already was.
    if (position() == start) {
      ++begin_;
      ETWPIPE_RETURN_IF_ERROR(FindSync());
    }
    const bool cut = at_end_ && loaded().empty();
    if (diagnostics != nullptr) {
      diagnostics->Add(cut ? DiagnosticId::kArchiveTruncated : DiagnosticId::kArchiveFrameBad,
                       {start, position() - start}, reason);
    }
  }
  return false;
}

}  // namespace etwpipe::etwp
