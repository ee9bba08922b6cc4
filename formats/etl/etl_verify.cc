// Walks the file as a reader does, processor by processor, so that damage shows up as the reader's own diagnostics;
// what a reader does not care for (fill, flags, sequence numbers) is looked at buffer by buffer.
#include "formats/etl/etl_verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>

#include "formats/etl/carrier.h"
#include "formats/etl/etl_source.h"
#include "formats/etl/layout.h"
#include "pipeline/byte_reader.h"
#include "pipeline/diagnostics.h"

namespace etwpipe::etl {
namespace {

using Level = VerifyFinding::Level;

// Complaints of one check: how many, and the one with the lowest place in the file.
class Check {
 public:
  Check(std::string name, Level complaint) : name_(std::move(name)), complaint_(complaint) {}

  void Complain(uint64_t offset, std::string text) {
    ++count_;
    if (count_ > 1 && offset > offset_) return;
    offset_ = offset;
    text_ = std::move(text);
  }
  /// Takes over what reading counted.
  void Complain(const Diagnostics& diagnostics, std::initializer_list<DiagnosticId> ids) {
    for (const auto& entry : diagnostics.entries()) {
      if (std::find(ids.begin(), ids.end(), entry.id) == ids.end()) continue;
      Complain(entry.first_offset.value_or(0), entry.text);
      count_ += entry.count - 1;
    }
  }
  bool complained() const { return count_ != 0; }
  VerifyFinding Finding() const {
    if (count_ == 0) return {name_, Level::kOk, {}};
    const std::string more = count_ > 1 ? fmt::format(", and {} more", count_ - 1) : std::string();
    return {name_, complaint_, fmt::format("{} (at {}{})", text_, offset_, more)};
  }

 private:
  std::string name_;
  Level complaint_;
  uint64_t count_ = 0;
  uint64_t offset_ = 0;
  std::string text_;
};

// What is kept of each buffer for the checks over all of them.
struct BufferFacts {
  uint64_t ordinal = 0;
  uint64_t file_offset = 0;
  int64_t sequence = 0;
  uint16_t cpu = 0;
  uint16_t flags = 0;
  bool raw = false;
};

class Verifier {
 public:
  Verifier(EtlSource& source, bool ours) : source_(source), rule_(ours ? Level::kError : Level::kNote) {
    for (const auto& recording : source.context().info.sources) known_sources_[recording.number] = true;
    known_sources_[kInjectedSource] = true;
  }

  Status Run(int threads, Diagnostics& diagnostics, const CancelToken* cancel) {
    auto pass = source_.StartPass({Order::kPerCpu, threads, &diagnostics});
    if (!pass.ok()) return pass.status();
    EventBatch batch;
    while (true) {
      if (cancel != nullptr && cancel->cancelled()) return Status::Cancelled();
      batch.Clear();
      const auto more = (*pass)->Next(batch);
      if (!more.ok()) return more.status();
      if (!*more) break;
      ETWPIPE_RETURN_IF_ERROR((*pass)->Fill(batch));
      for (const auto& buffer : batch.opened) LookAt(*buffer);
      CheckIds(batch);
    }
    std::sort(facts_.begin(), facts_.end(),
              [](const BufferFacts& a, const BufferFacts& b) { return a.ordinal < b.ordinal; });
    CheckFlushMarkers();
    CheckSequences();
    CheckOrder();
    return {};
  }

  std::vector<VerifyFinding> Findings(const Diagnostics& diagnostics) {
    CheckHeader();
    using enum DiagnosticId;
    sizes_.Complain(diagnostics, {kBufferSkipped, kFileTruncated, kTrailingBytes, kFileShrank});
    walk_.Complain(diagnostics, {kRecordBad, kTooManyProviders});
    inflated_.Complain(diagnostics, {kInflateFailed});
    items_.Complain(diagnostics, {kExtendedItemBad});
    order_.Complain(diagnostics, {kTimeStepBack});
    written_.Complain(diagnostics, {kHeaderUnfinalised, kBuffersWrittenDiffers});
    id_map_.Complain(diagnostics, {kIdMapBad, kIdMapMismatch});
    oddities_.Complain(diagnostics, {kUnknownHeader, kSecondFileHeader, kBackgroundBuffer, kSequenceRepeats});
    std::vector<VerifyFinding> findings;
    Check* order = disorder_.complained() ? &disorder_ : &order_;
    for (const Check* check : {&header_, &sizes_, &offset_, &inflated_, &walk_, &items_, order, &written_, &sequence_,
                               &fill_, &flush_, &id_map_, &oddities_}) {
      findings.push_back(check->Finding());
    }
    if (rule_ == Level::kNote) {
      for (auto& finding : findings) {
        if (finding.check == "id-map") finding = {"id-map", Level::kNote, "the file carries no instance ids of ours"};
      }
    }
    return findings;
  }

 private:
  void LookAt(const SourceBuffer& buffer) {
    BufferFacts facts{buffer.ordinal, buffer.file_offset, 0, buffer.cpu, 0, buffer.raw};
    if (!buffer.raw && buffer.image.size() >= buffer::kHeaderSize) {
      facts.sequence = LoadAt<int64_t>(buffer.image.data(), buffer::kSequenceNumber);
      facts.flags = LoadAt<uint16_t>(buffer.image.data(), buffer::kFlag);
      CheckOffset(buffer);
      CheckEnd(buffer);
      CheckFill(buffer);
      if (buffer.ordinal == 0 && LoadAt<uint16_t>(buffer.image.data(), buffer::kType) != buffer::kTypeHeader) {
        header_.Complain(0, "the first buffer is not of type HEADER");
      }
    }
    facts_.push_back(facts);
  }

  void CheckOffset(const SourceBuffer& buffer) {
    const auto offset = LoadAt<uint32_t>(buffer.image.data(), buffer::kOffset);
    const uint32_t limit =
        buffer.compressed ? std::max(source_.log_file_header().buffer_size, buffer.data_end) : buffer.file_size;
    const bool too_large = buffer.compressed && buffer.data_end > source_.log_file_header().buffer_size;
    if (offset >= buffer::kHeaderSize && offset <= limit && !too_large) return;
    offset_.Complain(buffer.file_offset, fmt::format("Offset {} of a buffer of at most {} bytes", offset, limit));
  }

  // The records, padded to 8 bytes, must end where the header says. Buffers without records say nothing.
  void CheckEnd(const SourceBuffer& buffer) {
    if (buffer.records.empty()) return;
    const RecordPlace& last = buffer.records.back();
    const size_t end = last.offset + Align8(last.size);
    if (end == buffer.data_end) return;
    walk_.Complain(buffer.file_offset, fmt::format("records end at {}, the data at {}", end, buffer.data_end));
  }

  void CheckFill(const SourceBuffer& buffer) {
    if (buffer.compressed) return;
    const auto fill =
        std::span<const std::byte>(buffer.image).subspan(std::min<size_t>(buffer.data_end, buffer.image.size()));
    const auto odd = std::count_if(fill.begin(), fill.end(), [](std::byte b) { return b != std::byte{0xFF}; });
    if (odd != 0) fill_.Complain(buffer.file_offset, fmt::format("{} bytes of fill are not 0xFF", odd));
  }

  // Every record of a file of ours has an id of a source that its table names.
  void CheckIds(const EventBatch& batch) {
    for (const auto& row : batch.rows) {
      if (known_sources_[InstanceIdSource(row.instance_id)] || IsCarrier(row.record_bytes())) continue;
      id_map_.Complain(batch.buffer->file_offset, "a record is not covered by the id map");
      return;
    }
  }

  // Our writer numbers the buffers of a processor as it writes them, and keeps the records in the order of the
  // recording. While the numbers rise, every step back in time is the recording's own.
  void CheckOrder() {
    if (rule_ == Level::kNote) return;
    std::map<uint16_t, int64_t> last;
    for (const auto& facts : facts_) {
      if (facts.raw) continue;
      const auto [before, first] = last.try_emplace(facts.cpu, facts.sequence);
      if (!first && facts.sequence < before->second) {
        disorder_.Complain(facts.file_offset, fmt::format("processor {} steps back: a buffer with sequence number {} "
                                                          "stands behind the one with {}",
                                                          facts.cpu, facts.sequence, before->second));
      }
      before->second = facts.sequence;
    }
  }

  void CheckHeader() {
    const LogFileHeader& header = source_.log_file_header();
    const uint32_t expected = header.pointer64 ? 8 : 4;
    if (header.pointer_size == expected) return;
    header_.Complain(
        0, fmt::format("PointerSize {} in a header record of {}-byte pointers", header.pointer_size, expected));
  }

  void CheckFlushMarkers() {
    for (size_t i = 0; i < facts_.size(); ++i) {
      if (facts_[i].raw) continue;
      const bool marked = (facts_[i].flags & buffer::kFlagFlushMarker) != 0;
      const bool expected = i == 0 || i + 1 == facts_.size();
      if (marked == expected) continue;
      flush_.Complain(facts_[i].file_offset, marked ? "FLUSH_MARKER in the middle of the file"
                                                    : "the first or last buffer lacks FLUSH_MARKER");
    }
  }

  void CheckSequences() {
    std::vector<BufferFacts> sorted;
    std::copy_if(facts_.begin(), facts_.end(), std::back_inserter(sorted),
                 [](const BufferFacts& facts) { return !facts.raw; });
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const BufferFacts& a, const BufferFacts& b) { return a.sequence < b.sequence; });
    for (size_t i = 0; i < sorted.size(); ++i) {
      if (sorted[i].sequence == static_cast<int64_t>(i)) continue;
      sequence_.Complain(sorted[i].file_offset,
                         fmt::format("sequence number {} where {} is next", sorted[i].sequence, i));
      return;
    }
  }

  EtlSource& source_;
  Level rule_;  // of what only our files must keep
  std::array<bool, 256> known_sources_{};
  std::vector<BufferFacts> facts_;
  Check header_{"header-first", Level::kError};
  Check sizes_{"sizes", Level::kError};
  Check offset_{"offset", Level::kError};
  Check inflated_{"inflated-length", Level::kError};
  Check walk_{"walk", Level::kError};
  Check items_{"item-strides", Level::kError};
  Check order_{"cpu-order", Level::kNote};
  Check disorder_{"cpu-order", Level::kError};
  Check written_{"buffers-written", rule_};
  Check sequence_{"sequence-dense", rule_};
  Check fill_{"fill", rule_};
  Check flush_{"flush-marker", rule_};
  Check id_map_{"id-map", Level::kError};
  Check oddities_{"oddities", Level::kNote};
};

}  // namespace

Result<std::vector<VerifyFinding>> VerifyEtl(std::shared_ptr<InputFile> file, int threads, const CancelToken* cancel) {
  Diagnostics diagnostics;
  // Carriers are shown, so that the buffers they stand in are checked as well.
  auto source = EtlSource::Open(std::move(file), {.show_carriers = true, .diagnostics = &diagnostics});
  if (!source.ok()) return source.status();
  Verifier verifier(**source, (*source)->has_carriers());
  ETWPIPE_RETURN_IF_ERROR(verifier.Run(threads, diagnostics, cancel));
  return verifier.Findings(diagnostics);
}

}  // namespace etwpipe::etl
