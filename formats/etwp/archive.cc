#include "formats/etwp/archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "formats/etwp/trace_header.h"

namespace etwpipe::etwp {
namespace {

constexpr int kMaxIndexParts = 1 << 20;

BlockSummary Summarise(const v1::Block& block) {
  return {block.first_event(),
          block.events(),
          block.record_bytes(),
          block.min_timestamp(),
          block.max_timestamp(),
          {block.kinds().begin(), block.kinds().end()},
          nullptr};
}

BlockSummary Summarise(const v1::BlockEntry& entry) {
  return {entry.first_event(),
          entry.events(),
          entry.record_bytes(),
          entry.min_timestamp(),
          entry.max_timestamp(),
          {entry.kinds().begin(), entry.kinds().end()},
          &entry};
}

DiagnosticPlace PlaceOf(const v1::FrameEntry& entry) { return {entry.offset(), entry.length()}; }

}  // namespace

bool LooksLikeArchive(const InputFile& file) {
  std::array<std::byte, kTailSize> bytes;
  auto count = file.ReadAt(0, bytes);
  if (count.ok() && LooksLikeArchive(std::span(bytes).first(*count))) return true;
  if (file.size() < kTailSize) return false;
  count = file.ReadAt(file.size() - kTailSize, bytes);
  return count.ok() && ParseTail(std::span(bytes).first(*count));
}

Result<std::shared_ptr<Archive>> Archive::Open(std::shared_ptr<InputFile> file, Diagnostics* diagnostics,
                                               std::vector<std::byte> start) {
  std::shared_ptr<Archive> archive(new Archive());
  archive->file_ = std::move(file);
  ETWPIPE_RETURN_IF_ERROR(archive->ReadFirstFrame(std::move(start)));
  if (!archive->file_->sequential()) {
    ETWPIPE_RETURN_IF_ERROR(archive->ReadEnd(diagnostics));
    if (!archive->has_index_) ETWPIPE_RETURN_IF_ERROR(archive->ScanFrames());
  }
  if (!archive->has_header_) {
    return Status::Input(fmt::format("{}: not readable as an archive: {}, and there is no second copy of its header",
                                     archive->file_->path(), archive->first_frame_fault_));
  }
  // Without an index the walk over the frames meets the damage and reports it.
  if (!archive->first_frame_fault_.empty() && archive->has_index_ && diagnostics != nullptr) {
    diagnostics->Add(DiagnosticId::kArchiveFrameBad, {0, archive->after_first_frame_}, archive->first_frame_fault_);
  }
  return archive;
}

Status Archive::ReadFirstFrame(std::vector<std::byte> start) {
  if (!file_->sequential() && !LooksLikeArchive(*file_)) {
    return Status::Input(fmt::format("{}: not an .etwp archive", file_->path()));
  }
  auto walker = std::make_unique<FrameWalker>(*file_, std::move(start));
  ReadFrame frame;
  auto read = walker->Next(frame, nullptr);
  if (!read.ok()) return read.status();
  if (file_->sequential()) stream_ = std::move(walker);
  if (!*read || frame.place.offset != 0) {
    first_frame_fault_ = "its first frame is damaged";
    return {};
  }
  after_first_frame_ = frame.place.length;
  if (frame.body.magic() != kFileMagic) {
    return Status::Input(fmt::format("{}: not an .etwp archive: its first frame has another magic", file_->path()));
  }
  if (frame.body.min_reader_version() > kFormatVersion) {
    return Status::Input(
        fmt::format("{}: written in archive format {}, which needs a reader of version {}; this program reads up to "
                    "version {}: use a newer etwpipe",
                    file_->path(), frame.body.format_version(), frame.body.min_reader_version(), kFormatVersion));
  }
  if (!frame.body.has_header()) {
    first_frame_fault_ = "its first frame holds no trace header";
    return {};
  }
  return TakeHeader(frame.body.header());
}

Status Archive::TakeHeader(const v1::TraceHeader& header) {
  if (const auto reason = ReadTraceHeader(header, info_); !reason.empty()) {
    return Status::Input(fmt::format("{}: the archive's header makes no sense: {}", file_->path(), reason));
  }
  info_.file_size = file_->size();
  header_ = header;
  has_header_ = true;
  return {};
}

// The index in one piece; the text says why there is none.
Result<std::string> Archive::ReadIndex(const Tail& tail) {
  ReadFrame frame;
  auto fault = ReadFrameAt(*file_, tail.index_offset, tail.index_length, frame);
  if (!fault.ok() || !fault->empty()) return fault;
  if (!frame.body.has_index() || !frame.body.index().final()) return std::string("the tail points at no index");
  if (frame.checksum != tail.index_checksum) return std::string("the index is not the one the tail names");
  v1::Index last = std::move(*frame.body.mutable_index());
  if (last.parts_size() > kMaxIndexParts) return std::string("the index has too many parts");
  v1::Index whole;
  for (const auto& entry : last.parts()) {
    fault = ReadFrameAt(*file_, entry.offset(), entry.length(), frame);
    if (!fault.ok()) return fault;
    if (!fault->empty()) return "a part of the index is damaged: " + *fault;
    if (!frame.body.has_index() || frame.body.index().final()) return std::string("a part of the index is no part");
    // Parts stand before each other, so no part is read twice and their total is bounded by the file.
    if (entry.offset() >= tail.index_offset) return std::string("a part of the index stands behind it");
    if (whole.parts_size() > 0 && entry.offset() <= whole.parts(whole.parts_size() - 1).offset()) {
      return std::string("the parts of the index are out of order");
    }
    *whole.add_parts() = entry;
    whole.mutable_blocks()->MergeFrom(frame.body.index().blocks());
    whole.mutable_restores()->MergeFrom(frame.body.index().restores());
    whole.mutable_dictionaries()->MergeFrom(frame.body.index().dictionaries());
  }
  whole.MergeFrom(last);
  uint64_t events = 0;
  uint64_t end = 0;
  for (const auto& entry : whole.blocks()) {
    if (entry.first_event() != events || entry.frame().offset() < end) {
      return std::string("the blocks of the index are out of order");
    }
    events += entry.events();
    end = entry.frame().offset() + entry.frame().length();
  }
  const auto ascend = [](const auto& entries) {
    uint64_t begin = 0;
    return std::all_of(entries.begin(), entries.end(), [&](const v1::FrameEntry& entry) {
      const bool behind = entry.offset() >= begin;
      begin = entry.offset() + entry.length();
      return behind;
    });
  };
  // So that no frame is read twice.
  if (!ascend(whole.restores()) || !ascend(whole.dictionaries())) {
    return std::string("the frames of the index are out of order");
  }
  if (events != whole.events() || whole.block_count() != static_cast<uint64_t>(whole.blocks_size())) {
    return std::string("the counts of the index contradict its blocks");
  }
  index_ = std::move(whole);
  has_index_ = true;
  return std::string();
}

Status Archive::ReadEnd(Diagnostics* diagnostics) {
  const auto lost = [&](std::string_view reason) {
    if (diagnostics != nullptr) diagnostics->Add(DiagnosticId::kArchiveTruncated, {file_->size(), 0}, reason);
    return Status();
  };
  std::array<std::byte, kTailSize> bytes;
  if (file_->size() < kTailSize) return lost("the file is shorter than an archive's tail");
  const auto count = file_->ReadAt(file_->size() - kTailSize, bytes);
  if (!count.ok()) return count.status();
  const auto tail = ParseTail(std::span(bytes).first(*count));
  if (!tail) return lost("the archive lacks its end; blocks are read one after another");
  const auto fault = ReadIndex(*tail);
  if (!fault.ok()) return fault.status();
  if (!fault->empty()) {
    return lost(fmt::format("the index cannot be used: {}; blocks are read one after another", *fault));
  }

  ReadFrame frame;
  const auto read = [&](const v1::FrameEntry& entry, std::string_view what) -> Result<bool> {
    const auto wrong = ReadFrameAt(*file_, entry.offset(), entry.length(), frame);
    if (!wrong.ok()) return wrong.status();
    if (!wrong->empty() && diagnostics != nullptr) {
      diagnostics->Add(DiagnosticId::kArchiveFrameBad, PlaceOf(entry), fmt::format("{}: {}", what, *wrong));
    }
    return wrong->empty();
  };
  const auto trailer = read(index_.trailer(), "the trailer");
  if (!trailer.ok()) return trailer.status();
  if (*trailer && frame.body.has_trailer()) {
    trailer_ = std::move(*frame.body.mutable_trailer());
    info_.next_injected = std::max<uint64_t>(1, trailer_->next_injected());
  }
  if (index_.has_statistics()) {
    const auto statistics = read(index_.statistics(), "the statistics");
    if (!statistics.ok()) return statistics.status();
    if (*statistics && frame.body.has_statistics()) {
      statistics_ = std::move(*frame.body.mutable_statistics());
    } else if (*statistics && diagnostics != nullptr) {
      diagnostics->Add(DiagnosticId::kArchiveFrameBad, PlaceOf(index_.statistics()),
                       "the index says statistics where none stand");
    }
  }
  const auto header = read(index_.header(), "the second copy of the header");
  if (!header.ok()) return header.status();
  if (!has_header_ && *header && frame.body.has_header()) {
    ETWPIPE_RETURN_IF_ERROR(TakeHeader(frame.body.header()));
    if (trailer_) info_.next_injected = std::max<uint64_t>(1, trailer_->next_injected());
  }
  return ReadDictionaries(diagnostics);
}

// The complete dictionary, or if it is damaged the ones between the blocks.
Status Archive::ReadDictionaries(Diagnostics* diagnostics) {
  const auto add = [&](const v1::FrameEntry& entry) -> Result<bool> {
    ReadFrame frame;
    auto fault = ReadFrameAt(*file_, entry.offset(), entry.length(), frame);
    if (!fault.ok()) return fault.status();
    std::string reason = *fault;
    if (reason.empty() && !frame.body.has_dictionary()) reason = "the index says dictionary where none stands";
    if (reason.empty()) reason = dictionary_.Add(frame.body.dictionary());
    if (!reason.empty() && diagnostics != nullptr) {
      diagnostics->Add(DiagnosticId::kArchiveFrameBad, PlaceOf(entry), fmt::format("a dictionary: {}", reason));
    }
    return reason.empty();
  };
  const auto complete = add(index_.dictionary());
  if (!complete.ok()) return complete.status();
  info_.embedded_schemas = dictionary_.schemas();
  info_.annotations = dictionary_.annotations();
  dictionary_complete_ = *complete;
  if (dictionary_complete_) return {};
  for (const auto& entry : index_.dictionaries()) {
    const auto added = add(entry);
    if (!added.ok()) return added.status();
  }
  return {};
}

// Without an index: what blocks need may stand behind them. Whoever walks over the frames tells of damage.
Status Archive::ScanFrames() {
  FrameWalker frames(*file_);
  ReadFrame frame;
  while (true) {
    const auto more = frames.Next(frame, nullptr);
    if (!more.ok()) return more.status();
    if (!*more) break;
    if (!has_header_ && frame.body.has_header()) ETWPIPE_RETURN_IF_ERROR(TakeHeader(frame.body.header()));
    if (frame.body.has_dictionary()) (void)dictionary_.Add(frame.body.dictionary());
    if (frame.body.has_prefix()) (void)TakePrefix(frame.body.prefix());
  }
  info_.embedded_schemas = dictionary_.schemas();
  info_.annotations = dictionary_.annotations();
  return {};
}

Status Archive::CheckUnread(Diagnostics* diagnostics) const {
  const auto check = [&](const auto& entries, std::string_view what, auto is_one) -> Status {
    for (const auto& entry : entries) {
      ReadFrame frame;
      auto fault = ReadFrameAt(*file_, entry.offset(), entry.length(), frame);
      if (!fault.ok()) return fault.status();
      if (fault->empty() && !is_one(frame.body)) *fault = "it is another frame";
      if (fault->empty() || diagnostics == nullptr) continue;
      diagnostics->Add(DiagnosticId::kArchiveFrameBad, PlaceOf(entry), fmt::format("{}: {}", what, *fault));
    }
    return {};
  };
  ETWPIPE_RETURN_IF_ERROR(check(index_.restores(), "a restore frame, which events do not need",
                                [](const v1::Frame& frame) { return frame.has_restore(); }));
  if (index_.has_prefix()) {
    ETWPIPE_RETURN_IF_ERROR(check(std::array{index_.prefix()}, "the copy of the first block's columns",
                                  [](const v1::Frame& frame) { return frame.has_prefix(); }));
  }
  return dictionary_complete_ ? check(index_.dictionaries(), "a dictionary, of which there is a copy",
                                      [](const v1::Frame& frame) { return frame.has_dictionary(); })
                              : Status();
}

// The first good one stays.
bool Archive::TakePrefix(const v1::Columns& columns) {
  if (dictionary_.prefix() != nullptr) return true;
  BlockPrefix prefix;
  if (MakePrefix(columns, prefix)) return false;
  dictionary_.set_prefix(std::move(prefix));
  return true;
}

Status Archive::FindPrefix() {
  if (std::exchange(prefix_sought_, true)) return {};
  if (first_columns_ && TakePrefix(*first_columns_)) return {};
  first_columns_.reset();
  ReadFrame frame;
  if (has_index_) {
    const auto take = [&](const v1::FrameEntry& entry) -> Result<bool> {
      const auto fault = ReadFrameAt(*file_, entry.offset(), entry.length(), frame);
      if (!fault.ok()) return fault.status();
      if (!fault->empty()) return false;
      if (frame.body.has_block()) return TakePrefix(frame.body.block().columns());
      return frame.body.has_prefix() && TakePrefix(frame.body.prefix());
    };
    const auto taken = index_.blocks_size() > 0 ? take(index_.blocks(0).frame()) : Result<bool>(false);
    if (!taken.ok() || *taken || !index_.has_prefix()) return taken.status();
    return take(index_.prefix()).status();
  }
  return {};
}

BlockWalker::BlockWalker(Archive& archive, Diagnostics* diagnostics)
    : archive_(archive), diagnostics_(diagnostics), frames_(std::move(archive.stream_)) {
  if (frames_ == nullptr) frames_ = std::make_unique<FrameWalker>(*archive.file_);
}

void BlockWalker::Report(DiagnosticId id, DiagnosticPlace place, std::string_view reason) const {
  if (diagnostics_ != nullptr) diagnostics_->Add(id, place, reason);
}

// Whether the block comes in its order and all its names are known.
Result<bool> BlockWalker::Accept(ReadBlock& block) {
  if (block.block().first_event() < next_event_) {
    Report(DiagnosticId::kArchiveFrameBad, block.place,
           fmt::format("a block starts with event {}, after event {}", block.block().first_event(), next_event_));
    return false;
  }
  if (NeedsPrefix(block.block().columns())) ETWPIPE_RETURN_IF_ERROR(archive_.FindPrefix());
  if (const auto error = FindNames(block.block(), archive_.dictionary_, block.names)) {
    Report(error->id, block.place, error->reason);
    return false;
  }
  next_event_ = block.block().first_event() + block.block().events();
  return true;
}

Result<std::unique_ptr<ReadBlock>> BlockWalker::Next(const SkipBlock& skip) {
  return archive_.has_index() ? NextByIndex(skip) : NextBySync(skip);
}

Result<std::unique_ptr<ReadBlock>> BlockWalker::NextByIndex(const SkipBlock& skip) {
  const v1::Index& index = archive_.index_;
  while (next_entry_ < index.blocks_size()) {
    const auto& entry = index.blocks(next_entry_++);
    position_ = entry.frame().offset() + entry.frame().length();
    if (skip && skip(Summarise(entry))) continue;
    auto block = std::make_unique<ReadBlock>();
    block->place = PlaceOf(entry.frame());
    const auto fault = ReadFrameAt(*archive_.file_, entry.frame().offset(), entry.frame().length(), block->frame);
    if (!fault.ok()) return fault.status();
    if (!fault->empty()) {
      Report(DiagnosticId::kArchiveFrameBad, block->place, "a block: " + *fault);
      continue;
    }
    if (!block->frame.body.has_block() || block->block().first_event() != entry.first_event() ||
        block->block().events() != entry.events()) {
      Report(DiagnosticId::kArchiveFrameBad, block->place, "a block is not the one that the index names");
      continue;
    }
    const auto accepted = Accept(*block);
    if (!accepted.ok()) return accepted.status();
    if (*accepted) return block;
  }
  position_ = archive_.file_->size();
  return std::unique_ptr<ReadBlock>();
}

Result<std::unique_ptr<ReadBlock>> BlockWalker::NextBySync(const SkipBlock& skip) {
  while (!ended_) {
    auto block = std::make_unique<ReadBlock>();
    const auto more = frames_->Next(block->frame, diagnostics_);
    if (!more.ok()) return more.status();
    position_ = frames_->position();
    if (!*more) {
      ended_ = true;
      // A file was told apart when it was opened; of a stream the end is known only here.
      if (archive_.file_->sequential() && !frames_->saw_tail()) {
        Report(DiagnosticId::kArchiveTruncated, {position_, 0}, "the stream ends without an archive's end");
      }
      break;
    }
    v1::Frame& body = block->frame.body;
    block->place = block->frame.place;
    switch (body.body_case()) {
      case v1::Frame::kDictionary:
        if (const auto fault = archive_.dictionary_.Add(body.dictionary()); !fault.empty()) {
          Report(DiagnosticId::kArchiveFrameBad, block->place, "a dictionary: " + fault);
        }
        break;
      case v1::Frame::kPrefix: archive_.TakePrefix(body.prefix()); break;
      case v1::Frame::kTrailer: trailer_ = std::move(*body.mutable_trailer()); break;
      case v1::Frame::kBlock: {
        if (body.block().first_event() == 0) archive_.first_columns_ = body.block().columns();
        if (skip && skip(Summarise(body.block()))) break;
        const auto accepted = Accept(*block);
        if (!accepted.ok()) return accepted.status();
        if (*accepted) return block;
        break;
      }
      default: break;
    }
  }
  return std::unique_ptr<ReadBlock>();
}

}  // namespace etwpipe::etwp
