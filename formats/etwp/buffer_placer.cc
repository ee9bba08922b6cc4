#include "formats/etwp/buffer_placer.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "formats/etl/layout.h"
#include "formats/xca/xca.h"
#include "formats/xca/xpress_encoder.h"
#include "pipeline/byte_reader.h"
#include "pipeline/event.h"

namespace etwpipe::etwp {
namespace {

constexpr size_t kZeroBytes = 64 << 10;

// For files without compressed buffers: every buffer goes to its old offset.
class DirectPlacer : public BufferPlacer {
 public:
  DirectPlacer(OutputFile& out, uint64_t size, WrittenHash& hash)
      : out_(out), size_(size), hash_(hash), zeros_(kZeroBytes) {}

  Status Place(const RestoreBuffers::Buffer& buffer, std::span<const std::byte> image) override {
    const uint64_t offset = buffer.file_offset;
    if (image.size() != buffer.file_size || offset > size_ || image.size() > size_ - offset) {
      return Status::Input(fmt::format("buffer {} does not fit the file it came from", buffer.ordinal));
    }
    while (out_.size() < offset) {
      const auto step = std::min<uint64_t>(offset - out_.size(), zeros_.size());
      ETWPIPE_RETURN_IF_ERROR(out_.Append(std::span(zeros_).first(step)));
    }
    const auto inside = std::min<uint64_t>(out_.size() - offset, image.size());
    if (inside > 0) ETWPIPE_RETURN_IF_ERROR(out_.WriteAt(offset, image.first(inside)));
    ETWPIPE_RETURN_IF_ERROR(out_.Append(image.subspan(inside)));
    return hash_.Add(offset, image);
  }
  Status Finish() override { return {}; }

 private:
  OutputFile& out_;
  uint64_t size_;
  WrittenHash& hash_;
  std::vector<std::byte> zeros_;
};

// For files with compressed buffers, whose sizes change: buffers are compressed into a spool file as they come, then
// copied in the order of the original.
class SpoolPlacer : public BufferPlacer {
 public:
  SpoolPlacer(OutputFile& out, std::unique_ptr<OutputFile> spool, bool xpress, ImagesHash& images)
      : out_(out), spool_(std::move(spool)), xpress_(xpress), images_(images) {}

  Status Place(const RestoreBuffers::Buffer& buffer, std::span<const std::byte> image) override {
    Piece piece{.file_offset = buffer.file_offset,
                .ordinal = buffer.ordinal,
                .spool_offset = spool_->size(),
                .size = image.size(),
                .image_size = image.size(),
                .compressed = buffer.has(RestoreBuffers::kCompressed)};
    std::span<const std::byte> bytes = image;
    if (piece.compressed) {
      bytes = Compress(image);
      piece.size = bytes.size();
    }
    pieces_.push_back(piece);
    return spool_->Append(bytes);
  }

  Status Finish() override {
    std::sort(pieces_.begin(), pieces_.end());
    std::vector<std::byte> bytes;
    for (const auto& piece : pieces_) {
      bytes.resize(piece.size);
      ETWPIPE_RETURN_IF_ERROR(spool_->ReadAt(piece.spool_offset, bytes));
      ETWPIPE_RETURN_IF_ERROR(AddHash(piece, bytes));
      ETWPIPE_RETURN_IF_ERROR(out_.Append(bytes));
    }
    return {};
  }

 private:
  struct Piece {
    uint64_t file_offset = 0;
    uint64_t ordinal = 0;
    uint64_t spool_offset = 0;
    size_t size = 0;        // in the file
    size_t image_size = 0;  // inflated
    bool compressed = false;

    friend auto operator<=>(const Piece&, const Piece&) = default;
  };

  // The buffer as it stands in a file: compressed if that makes it smaller, otherwise plain and without the flag.
  std::span<const std::byte> Compress(std::span<const std::byte> image) {
    const auto data = image.subspan(etl::buffer::kHeaderSize);
    packed_.resize(image.size());
    std::copy_n(image.begin(), etl::buffer::kHeaderSize, packed_.begin());
    const size_t packed = xpress_ && !data.empty()
                              ? xca::XpressEncode(data, std::span(packed_).subspan(etl::buffer::kHeaderSize), encoder_)
                              : 0;
    const bool smaller = packed != 0 && packed < data.size();
    const size_t size = etl::buffer::kHeaderSize + (smaller ? packed : data.size());
    StoreAt<uint32_t>(packed_.data(), etl::buffer::kBufferSize, static_cast<uint32_t>(size));
    if (!smaller) {
      std::copy(data.begin(), data.end(), packed_.begin() + etl::buffer::kHeaderSize);
      const auto flags = LoadAt<uint16_t>(packed_.data(), etl::buffer::kFlag);
      StoreAt<uint16_t>(packed_.data(), etl::buffer::kFlag,
                        static_cast<uint16_t>(flags & ~unsigned{etl::buffer::kFlagCompressed}));
    }
    return std::span(packed_).first(size);
  }

  Status AddHash(const Piece& piece, std::span<const std::byte> bytes) {
    const auto header = bytes.first(std::min(bytes.size(), etl::buffer::kHeaderSize));
    auto data = bytes.subspan(header.size());
    if (piece.size != piece.image_size) {
      inflated_.resize(piece.image_size - header.size());
      if (!xca::Decode(xca::Format::kXpress, data, inflated_).ok()) {
        return Status::Internal(fmt::format("compressing buffer {} failed", piece.ordinal));
      }
      data = inflated_;
    }
    images_.Add(piece.file_offset, HashImage(header, data, piece.compressed));
    return {};
  }

  OutputFile& out_;
  std::unique_ptr<OutputFile> spool_;
  bool xpress_;
  ImagesHash& images_;
  xca::XpressEncoder encoder_;
  std::vector<std::byte> packed_;
  std::vector<std::byte> inflated_;
  std::vector<Piece> pieces_;
};

class ComparingPlacer : public BufferPlacer {
 public:
  ComparingPlacer(const InputFile& original, xca::Format format) : original_(original), format_(format) {}

  Status Place(const RestoreBuffers::Buffer& buffer, std::span<const std::byte> image) override {
    covered_.emplace_back(buffer.file_offset, buffer.file_size);
    if (buffer.file_size > kMaxBufferBytes && buffer.file_size != image.size()) {
      return Status::Input(fmt::format("buffer {} takes impossible {} bytes", buffer.ordinal, buffer.file_size));
    }
    stored_.resize(buffer.file_size);
    const auto count = original_.ReadAt(buffer.file_offset, stored_);
    if (!count.ok()) return count.status();
    if (*count < stored_.size()) return Differs(buffer, fmt::format("the original ends in it, at byte {}", *count));
    std::span<const std::byte> expected = stored_;
    if (buffer.has(RestoreBuffers::kCompressed) && !buffer.has(RestoreBuffers::kRaw)) {
      if (!Inflate(image.size())) return Differs(buffer, "it does not inflate in the original");
      expected = inflated_;
    }
    if (expected.size() != image.size()) {
      return Differs(buffer, fmt::format("{} bytes in the original, {} here", expected.size(), image.size()));
    }
    const auto [at, same] = std::mismatch(expected.begin(), expected.end(), image.begin());
    if (at == expected.end()) return {};
    return Differs(buffer, fmt::format("byte {} is {:#04x} in the original and {:#04x} here", at - expected.begin(),
                                       std::to_integer<int>(*at), std::to_integer<int>(*same)));
  }

  Status Finish() override {
    std::sort(covered_.begin(), covered_.end());
    uint64_t end = 0;
    for (const auto& [offset, size] : covered_) {
      if (offset != end) break;
      end += size;
    }
    if (end == original_.size()) return {};
    return {StatusCode::kAnswerNo,
            fmt::format("byte {} of the original is in no buffer of the archive, or in several", end)};
  }

 private:
  static Status Differs(const RestoreBuffers::Buffer& buffer, std::string_view how) {
    return {StatusCode::kAnswerNo,
            fmt::format("buffer {}, at byte {} of the original: {}", buffer.ordinal, buffer.file_offset, how)};
  }

  // Header as it stands in the file, then the data.
  bool Inflate(size_t size) {
    if (stored_.size() < etl::buffer::kHeaderSize || size < etl::buffer::kHeaderSize) return false;
    inflated_.resize(size);
    std::copy_n(stored_.begin(), etl::buffer::kHeaderSize, inflated_.begin());
    return xca::Decode(format_, std::span<const std::byte>(stored_).subspan(etl::buffer::kHeaderSize),
                       std::span(inflated_).subspan(etl::buffer::kHeaderSize))
        .ok();
  }

  const InputFile& original_;
  xca::Format format_;
  std::vector<std::pair<uint64_t, uint64_t>> covered_;  // (offset, size)
  std::vector<std::byte> stored_;
  std::vector<std::byte> inflated_;
};

}  // namespace

std::unique_ptr<BufferPlacer> MakeComparingPlacer(const InputFile& original, xca::Format format) {
  return std::make_unique<ComparingPlacer>(original, format);
}

std::unique_ptr<BufferPlacer> MakeDirectPlacer(OutputFile& out, uint64_t size, WrittenHash& hash) {
  return std::make_unique<DirectPlacer>(out, size, hash);
}

std::unique_ptr<BufferPlacer> MakeSpoolPlacer(OutputFile& out, std::unique_ptr<OutputFile> spool, bool xpress,
                                              ImagesHash& images) {
  return std::make_unique<SpoolPlacer>(out, std::move(spool), xpress, images);
}

}  // namespace etwpipe::etwp
