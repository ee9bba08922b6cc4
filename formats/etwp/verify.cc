#include "formats/etwp/verify.h"

#include <fmt/format.h>
#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <bitset>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "formats/etwp/block_decoder.h"
#include "formats/etwp/block_indexer.h"
#include "formats/etwp/frame.h"
#include "formats/etwp/ordered_tasks.h"
#include "formats/etwp/record_rows.h"
#include "formats/etwp/restore_section.h"
#include "formats/etwp/statistics.h"

namespace etwpipe::etwp {
namespace {

using Level = VerifyFinding::Level;
using google::protobuf::util::MessageDifferencer;

// Which ids were seen: bits in pages, since ids of one buffer lie close together.
class IdSet {
 public:
  static constexpr size_t kMaxPages = size_t{1} << 19;  // 256 MiB

  // False if it was there already. Once the set is full(), ids of new pages are not looked at.
  bool Add(uint64_t id) {
    const uint64_t page = id / kPageIds;
    auto found = pages_.find(page);
    if (found == pages_.end()) {
      if (pages_.size() == kMaxPages) {
        full_ = true;
        return true;
      }
      found = pages_.emplace(page, std::make_unique<std::bitset<kPageIds>>()).first;
    }
    auto bit = (*found->second)[id % kPageIds];
    const bool fresh = !bit;
    bit = true;
    return fresh;
  }
  bool full() const { return full_; }

 private:
  static constexpr size_t kPageIds = 4096;
  std::unordered_map<uint64_t, std::unique_ptr<std::bitset<kPageIds>>> pages_;
  bool full_ = false;
};

// One check: the first thing that is wrong, and how many more there are.
class Check {
 public:
  explicit Check(std::string name) : name_(std::move(name)) {}

  void Complain(std::string text, Level level = Level::kError) {
    if (level == Level::kError ? errors_++ == 0 : errors_ == 0 && notes_++ == 0) text_ = std::move(text);
  }
  VerifyFinding Finding(std::string ok_text) const {
    if (errors_ > 1) return {name_, Level::kError, fmt::format("{}; {} more", text_, errors_ - 1)};
    if (errors_ == 1) return {name_, Level::kError, text_};
    if (notes_ > 0) return {name_, Level::kNote, text_};
    return {name_, Level::kOk, std::move(ok_text)};
  }

 private:
  std::string name_;
  std::string text_;
  uint64_t errors_ = 0;
  uint64_t notes_ = 0;
};

// A frame on its way: read in order, decoded on any thread, looked at in order.
struct FrameTask {
  ReadFrame frame;
  BlockNames names;
  std::optional<DecodeError> error;
  BlockDecoder decoder;
  DecodedBlock decoded;  // of a block
  RestoreBuffers parts;  // of a restore frame

  bool needs_decoding() const { return frame.body.has_block() || frame.body.has_restore(); }
  void Decode() {
    if (error) return;
    if (frame.body.has_block()) error = decoder.Decode(frame.body.block(), names, decoded);
    if (frame.body.has_restore()) error = DecodeRestore(frame.body.restore(), parts);
  }
};

class Verifier {
 public:
  Verifier(Archive& archive, int threads, const CancelToken* cancel)
      : archive_(archive), threads_(threads), cancel_(cancel) {}

  Result<std::vector<VerifyFinding>> Run(const Diagnostics& opening) {
    for (const auto& entry : opening.entries()) {
      (entry.id == DiagnosticId::kArchiveTruncated ? end_ : frames_).Complain(entry.text);
    }
    Diagnostics damage;
    ETWPIPE_RETURN_IF_ERROR(LookAtFrames(damage));
    for (const auto& range : damage.ranges()) {
      frames_.Complain(fmt::format("{} (at {}, {} bytes)", range.reason, range.place.offset, range.place.length));
    }
    CheckPrefixAndIndexEnd();
    CheckCounts();
    CheckStatistics();
    return Findings();
  }

 private:
  Status LookAtFrames(Diagnostics& damage) {
    FrameWalker walker(*archive_.file());
    OrderedTasks<FrameTask> tasks(threads_);
    const auto look_at_first = [&] {
      auto task = tasks.Take();
      Look(*task);
      task->error.reset();
      tasks.GiveBack(std::move(task));
    };
    while (true) {
      if (cancel_ != nullptr && cancel_->cancelled()) return Status::Cancelled();
      auto task = tasks.Spare();
      const auto more = walker.Next(task->frame, &damage);
      if (!more.ok()) return more.status();
      if (!*more) break;
      // Blocks need the dictionaries before them, so this is done in order.
      if (task->frame.body.has_dictionary()) LookAtDictionary(task->frame);
      if (task->frame.body.has_block()) {
        const v1::Block& block = task->frame.body.block();
        if (block.first_event() == 0) first_columns_ = block.columns();
        if (NeedsPrefix(block.columns())) ETWPIPE_RETURN_IF_ERROR(FindPrefix());
        task->error = FindNames(block, names_, task->names);
      }
      const bool costly = task->needs_decoding();
      tasks.Begin(
          std::move(task), [](FrameTask& one) { one.Decode(); }, costly);
      if (tasks.full()) look_at_first();
    }
    while (!tasks.empty()) look_at_first();
    return {};
  }

  // That of the first block, or else the copy.
  Status FindPrefix() {
    needs_prefix_ = true;
    if (names_.prefix() != nullptr) return {};
    BlockPrefix prefix;
    if (!first_columns_ || MakePrefix(*first_columns_, prefix)) {
      ETWPIPE_RETURN_IF_ERROR(archive_.FindPrefix());
      prefix = archive_.dictionary().prefix();
    }
    names_.set_prefix(std::move(prefix));
    return {};
  }

  void Look(const FrameTask& task) {
    ++frame_count_;
    const ReadFrame& frame = task.frame;
    switch (frame.body.body_case()) {
      case v1::Frame::kHeader: LookAtHeader(frame); break;
      case v1::Frame::kBlock: LookAtBlock(task); break;
      case v1::Frame::kRestore: LookAtRestore(task); break;
      case v1::Frame::kPrefix: LookAtPrefix(frame); break;
      case v1::Frame::kDictionary:
      case v1::Frame::kIndex:
      case v1::Frame::kStatistics:
      case v1::Frame::kTrailer: break;
      default: frames_.Complain(fmt::format("a frame of an unknown kind stands at {}", frame.place.offset));
    }
  }

  void LookAtHeader(const ReadFrame& frame) {
    ++headers_;
    if ((frame.place.offset == 0) != (frame.body.magic() == kFileMagic)) {
      header_.Complain(fmt::format("the magic of the frame at {} is out of place", frame.place.offset));
    }
    if (!MessageDifferencer::Equals(frame.body.header(), archive_.header())) {
      header_.Complain(fmt::format("the copy at {} differs", frame.place.offset));
    }
  }

  void LookAtDictionary(const ReadFrame& frame) {
    const auto& dictionary = frame.body.dictionary();
    if (const auto fault = names_.Add(dictionary); !fault.empty()) {
      dictionary_.Complain(fmt::format("the dictionary at {}: {}", frame.place.offset, fault));
    }
    if (!dictionary.complete()) {
      entries_ += static_cast<uint64_t>(dictionary.kinds_size() + dictionary.annotations_size());
      return;
    }
    ++complete_;
    if (static_cast<uint64_t>(dictionary.kinds_size() + dictionary.annotations_size()) != entries_) {
      dictionary_.Complain(
          fmt::format("the complete dictionary at {} has other entries than the ones before it", frame.place.offset));
    }
  }

  void LookAtBlock(const FrameTask& task) {
    const ReadFrame& frame = task.frame;
    const v1::Block& block = frame.body.block();
    const auto complain = [&](const std::string& what) {
      blocks_.Complain(fmt::format("the block at {}: {}", frame.place.offset, what));
    };
    ++block_count_;
    if (block.first_event() != events_)
      complain(fmt::format("starts with event {}, not {}", block.first_event(), events_));
    events_ = block.first_event() + block.events();
    LookAtEntry(frame);
    if (task.error) return complain(task.error->reason);
    int64_t low = task.decoded.rows.front().timestamp;
    int64_t high = low;
    for (const auto& row : task.decoded.rows) {
      low = std::min(low, row.timestamp);
      high = std::max(high, row.timestamp);
      if (!ids_.Add(row.instance_id)) {
        id_check_.Complain(
            fmt::format("id {} occurs twice, again in the block at {}", row.instance_id, frame.place.offset));
      }
    }
    if (low != block.min_timestamp() || high != block.max_timestamp())
      complain("states another time range than it has");
    CountRows(task.decoded);
    LookAtKinds(frame, task.decoded);
    LookAtSummary(frame, task);
  }

  void CountRows(const DecodedBlock& decoded) {
    part_.Clear();
    for (const auto& from : decoded.rows) {
      EventHeader row;
      ParseRow(decoded.record(from), archive_.info().pointer_size, providers_, row);
      row.timestamp = from.timestamp;
      part_.Add(row);
    }
    statistics_.Add(part_);
    counted_ += decoded.rows.size();
  }

  // Names are the writer's business; counts are those of the events.
  void CheckStatistics() {
    if (!archive_.has_index() || !archive_.index().has_statistics()) return;
    if (archive_.statistics() == nullptr) return statistics_check_.Complain("they cannot be read");
    if (counted_ != archive_.index().events()) {
      return statistics_check_.Complain("not compared: blocks are missing", Level::kNote);
    }
    v1::Statistics counted;
    trace_.info = archive_.info();
    statistics_.AddHeaderRecord(trace_);
    if (!statistics_.Build(trace_, nullptr, counted)) return;
    const auto total = [](const v1::Statistics& statistics) {
      std::map<std::tuple<std::string, std::string, uint32_t, uint32_t, uint32_t>, std::pair<uint64_t, uint64_t>> kinds;
      for (const auto& kind : statistics.kinds()) {
        auto& [count, bytes] = kinds[{kind.header(), kind.provider(), kind.id(), kind.version(), kind.opcode()}];
        count += kind.count();
        bytes += kind.bytes();
      }
      return kinds;
    };
    const v1::Statistics& told = *archive_.statistics();
    if (!ReadStatistics(told)) return statistics_check_.Complain("they make no sense");
    if (total(told) != total(counted)) statistics_check_.Complain("they count other events than there are");
    if (told.has_first_timestamp() != counted.has_first_timestamp() ||
        told.first_timestamp() != counted.first_timestamp() || told.last_timestamp() != counted.last_timestamp()) {
      statistics_check_.Complain("they tell another time range than there is");
    }
  }

  const v1::BlockEntry* EntryOf(const ReadFrame& frame) const {
    const auto& entries = archive_.index().blocks();
    const auto found =
        std::lower_bound(entries.begin(), entries.end(), frame.place.offset,
                         [](const v1::BlockEntry& entry, uint64_t offset) { return entry.frame().offset() < offset; });
    return found != entries.end() && found->frame().offset() == frame.place.offset ? &*found : nullptr;
  }

  void LookAtEntry(const ReadFrame& frame) {
    if (!archive_.has_index()) return;
    const v1::BlockEntry* entry = EntryOf(frame);
    const v1::Block& block = frame.body.block();
    if (entry == nullptr) return index_.Complain(fmt::format("the block at {} is missing", frame.place.offset));
    ++indexed_;
    if (entry->frame().length() != frame.place.length || entry->first_event() != block.first_event() ||
        entry->events() != block.events() || entry->record_bytes() != block.record_bytes() ||
        entry->min_timestamp() != block.min_timestamp() || entry->max_timestamp() != block.max_timestamp() ||
        !std::equal(entry->kinds().begin(), entry->kinds().end(), block.kinds().begin(), block.kinds().end())) {
      index_.Complain(fmt::format("the entry of the block at {} says other things than the block", frame.place.offset));
    }
  }

  void LookAtKinds(const ReadFrame& frame, const DecodedBlock& decoded) {
    const v1::BlockEntry* entry = EntryOf(frame);
    // Rows have no kinds.
    if (entry == nullptr || frame.body.block().has_rows()) return;
    const auto kinds = static_cast<size_t>(frame.body.block().kinds_size());
    std::vector<uint64_t> events(kinds);
    std::vector<uint64_t> bytes(kinds);
    for (const auto& row : decoded.rows) {
      ++events[row.kind];
      bytes[row.kind] += row.size;
    }
    if (!std::equal(events.begin(), events.end(), entry->kind_events().begin(), entry->kind_events().end()) ||
        !std::equal(bytes.begin(), bytes.end(), entry->kind_bytes().begin(), entry->kind_bytes().end())) {
      index_.Complain(fmt::format("the counts per kind of the block at {} are wrong", frame.place.offset));
    }
  }

  // What filters go by when they pass over a block.
  void LookAtSummary(const ReadFrame& frame, const FrameTask& task) {
    const v1::BlockEntry* entry = EntryOf(frame);
    if (entry == nullptr || !entry->summarised() || frame.body.block().has_rows()) return;
    rows_.clear();
    for (const auto& row : task.decoded.rows) {
      rows_.push_back({task.decoded.record(row).data(), row.instance_id, row.timestamp, task.names.kinds[row.kind],
                       frame.body.block().kinds(row.kind), row.size, row.cpu, ExtendedSize(task, row)});
    }
    v1::BlockEntry expected = *entry;
    expected.set_summarised(false);
    expected.clear_cpus();
    expected.clear_pids();
    expected.clear_many_pids();
    expected.clear_stack_records();
    expected.clear_min_stack_timestamp();
    expected.clear_max_stack_timestamp();
    indexer_.Summarise(rows_, expected);
    if (!MessageDifferencer::Equals(expected, *entry)) {
      index_.Complain(
          fmt::format("processors, process ids or stacks of the block at {} are other ones", frame.place.offset));
    }
  }

  // Bytes between the header of a record and its payload.
  uint16_t ExtendedSize(const FrameTask& task, const DecodedBlock::Row& row) {
    const RecordTemplate& kind = *task.names.kinds[row.kind];
    if (!kind.extended()) return 0;
    EventHeader header;
    ParseRow(task.decoded.record(row), archive_.info().pointer_size, providers_, header);
    const bool fits = header.extended_begin == kind.header_size() && header.payload_begin >= header.extended_begin;
    return fits ? static_cast<uint16_t>(header.payload_begin - header.extended_begin) : uint16_t{0};
  }

  void LookAtPrefix(const ReadFrame& frame) {
    ++prefixes_;
    BlockPrefix copy;
    const auto error = MakePrefix(frame.body.prefix(), copy);
    if (error || names_.prefix() == nullptr || *copy != *names_.prefix()) {
      blocks_.Complain(fmt::format("the copy of the first one's columns at {} {}", frame.place.offset,
                                   error ? "cannot be used: " + error->reason : "differs"));
    }
    const auto& entry = archive_.index().prefix();
    if (archive_.has_index() && (entry.offset() != frame.place.offset || entry.length() != frame.place.length)) {
      index_.Complain(fmt::format("the copy of the first block's columns at {} is missing", frame.place.offset));
    }
  }

  void LookAtRestore(const FrameTask& task) {
    const ReadFrame& frame = task.frame;
    const v1::Restore& restore = frame.body.restore();
    if (restore.first_buffer() != buffers_) {
      restore_.Complain(fmt::format("the restore frame at {} starts with buffer {}, not {}", frame.place.offset,
                                    restore.first_buffer(), buffers_));
    }
    buffers_ = restore.first_buffer() + restore.buffers();
    ++restore_frames_;
    if (task.error) {
      return restore_.Complain(fmt::format("the restore frame at {}: {}", frame.place.offset, task.error->reason));
    }
    for (const auto& buffer : task.parts.buffers) {
      restored_events_ += buffer.records;
      covered_.emplace_back(buffer.file_offset, buffer.file_size);
    }
  }

  void CheckPrefixAndIndexEnd() {
    const uint64_t prefixes = needs_prefix_ ? 1 : 0;
    if (prefixes_ != prefixes) {
      blocks_.Complain(fmt::format("{} good copies of the first one's columns instead of {}", prefixes_, prefixes));
    }
    if (!archive_.has_index()) return;
    if (indexed_ != static_cast<uint64_t>(archive_.index().blocks_size())) {
      index_.Complain(
          fmt::format("it lists {} blocks, {} of them stand where it says", archive_.index().blocks_size(), indexed_));
    }
    if (restore_frames_ != static_cast<uint64_t>(archive_.index().restores_size())) {
      index_.Complain(
          fmt::format("it lists {} restore frames, there are {}", archive_.index().restores_size(), restore_frames_));
    }
    if (archive_.index().has_prefix() != needs_prefix_) {
      index_.Complain("it does not say rightly whether there is a copy of the first block's columns");
    }
    if (headers_ != 2) header_.Complain(fmt::format("{} good copies instead of 2", headers_));
    if (complete_ != 1) dictionary_.Complain(fmt::format("{} good complete copies instead of 1", complete_));
  }

  void CheckCounts() {
    const v1::Trailer* trailer = archive_.trailer();
    if (trailer == nullptr) {
      counts_.Complain("there is no trailer to compare with");
      restore_.Complain("there is no trailer that says whether the archive is exact");
      return;
    }
    if (trailer->events() != events_ || trailer->blocks() != block_count_) {
      counts_.Complain(fmt::format("the trailer says {} events in {} blocks, there are {} in {}", trailer->events(),
                                   trailer->blocks(), events_, block_count_));
    }
    if (trailer->restore_buffers() != buffers_) {
      restore_.Complain(fmt::format("the trailer says {} buffers, there are {}", trailer->restore_buffers(), buffers_));
    }
    if (!trailer->exact()) {
      restore_.Complain(fmt::format("the archive does not give its original back: {}", trailer->not_exact_reason()),
                        Level::kNote);
      return;
    }
    if (restored_events_ != events_) {
      restore_.Complain(fmt::format("the buffers hold {} events, the blocks {}", restored_events_, events_));
    }
    std::sort(covered_.begin(), covered_.end());
    uint64_t end = 0;
    for (const auto& [offset, size] : covered_) {
      if (offset != end) break;
      end = offset + size;
    }
    if (end != trailer->original_size()) {
      restore_.Complain(fmt::format("the buffers cover {} of {} bytes of the original", end, trailer->original_size()));
    }
  }

  std::vector<VerifyFinding> Findings() {
    if (ids_.full()) id_check_.Complain("too many different ids to compare them all", Level::kNote);
    return {
        end_.Finding("tail and index are there"),
        frames_.Finding(fmt::format("{} frames with right checksums", frame_count_)),
        header_.Finding("both copies are equal"),
        dictionary_.Finding(fmt::format("{} entries, twice", entries_)),
        blocks_.Finding(fmt::format("{} blocks decoded", block_count_)),
        index_.Finding("it says what the blocks say"),
        id_check_.Finding(fmt::format("{} ids, none twice", events_)),
        counts_.Finding(fmt::format("{} events", events_)),
        statistics_check_.Finding(archive_.statistics() == nullptr ? "there are none" : "they count what is there"),
        restore_.Finding(fmt::format("{} buffers cover the original", buffers_)),
    };
  }

  Archive& archive_;
  const int threads_;
  const CancelToken* cancel_;
  Dictionary names_;
  BlockIndexer indexer_;
  std::vector<BlockRow> rows_;
  TraceContext trace_;  // providers of records that are looked at again
  etl::ProviderResolver providers_{*trace_.providers};
  StatisticsBuilder statistics_;
  StatisticsBuilder::Part part_;
  uint64_t counted_ = 0;
  IdSet ids_;
  uint64_t frame_count_ = 0;
  uint64_t headers_ = 0;
  uint64_t entries_ = 0;
  uint64_t complete_ = 0;
  uint64_t block_count_ = 0;
  uint64_t events_ = 0;
  uint64_t indexed_ = 0;
  uint64_t restore_frames_ = 0;
  uint64_t prefixes_ = 0;
  bool needs_prefix_ = false;
  std::optional<v1::Columns> first_columns_;  // of the first block
  uint64_t buffers_ = 0;
  uint64_t restored_events_ = 0;
  std::vector<std::pair<uint64_t, uint64_t>> covered_;
  Check end_{"end"};
  Check frames_{"frames"};
  Check header_{"header"};
  Check dictionary_{"dictionary"};
  Check blocks_{"blocks"};
  Check index_{"index"};
  Check id_check_{"ids"};
  Check counts_{"counts"};
  Check statistics_check_{"statistics"};
  Check restore_{"restore"};
};

}  // namespace

Result<std::vector<VerifyFinding>> VerifyArchive(const std::shared_ptr<InputFile>& file, int threads,
                                                 const CancelToken* cancel) {
  Diagnostics opening;
  const auto archive = Archive::Open(file, &opening);
  if (!archive.ok()) return archive.status();
  return Verifier(**archive, threads, cancel).Run(opening);
}

}  // namespace etwpipe::etwp
