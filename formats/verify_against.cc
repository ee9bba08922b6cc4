// The copy runs through the executor into a sink whose ordered step walks the original beside it, so that blocks of an
// archive are decoded on all threads.
#include "formats/verify_against.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "formats/etl/etl_verify.h"
#include "formats/etwp/etwp_source.h"
#include "formats/etwp/restore.h"
#include "formats/etwp/verify.h"
#include "formats/open.h"
#include "pipeline/executor.h"

namespace etwpipe {
namespace {

using Level = VerifyFinding::Level;

// The events of a pass one after another.
class EventReader {
 public:
  explicit EventReader(SourcePass& pass) : pass_(pass) {}

  // The next event, valid until the call after; null at the end.
  Result<const EventHeader*> Next() {
    while (next_ == batch_.rows.size()) {
      batch_.Clear();
      next_ = 0;
      const auto more = pass_.Next(batch_);
      if (!more.ok()) return more.status();
      if (!*more) return nullptr;
      ETWPIPE_RETURN_IF_ERROR(pass_.Fill(batch_));
    }
    return &batch_.rows[next_++];
  }

 private:
  SourcePass& pass_;
  EventBatch batch_;
  size_t next_ = 0;
};

std::string PlaceText(EventInstanceId id) {
  if (InstanceIdSource(id) == kInjectedSource) return fmt::format("id {} (made by a stage)", id);
  const uint64_t buffer = id >> kInstanceIdBufferShift & kMaxBufferOrdinal;
  const uint64_t offset = (id & ((uint64_t{1} << kInstanceIdBufferShift) - 1)) * 8;
  return fmt::format("id {} (buffer {}, offset {})", id, buffer, offset);
}

std::string_view PartOf(const EventHeader& event, size_t at) {
  if (at >= event.payload_begin) return "payload";
  return event.has(kHasExtended) && at >= event.extended_begin ? "extended items" : "record header";
}

// How two events differ; nullopt if they do not.
std::optional<std::string> DifferenceOf(const EventHeader& original, const EventHeader& copy) {
  if (original.instance_id != copy.instance_id) {
    return fmt::format("{} in the original, {} here", PlaceText(original.instance_id), PlaceText(copy.instance_id));
  }
  const auto differs = [&](const std::string& how) { return PlaceText(original.instance_id) + ": " + how; };
  if (original.record_size != copy.record_size) {
    return differs(fmt::format("{} bytes in the original, {} here", original.record_size, copy.record_size));
  }
  const auto bytes = original.record_bytes();
  const auto [at, same] = std::mismatch(bytes.begin(), bytes.end(), copy.record_bytes().begin());
  if (at != bytes.end()) {
    const auto offset = static_cast<size_t>(at - bytes.begin());
    return differs(fmt::format("byte {} ({}) is {:#04x} in the original and {:#04x} here", offset,
                               PartOf(original, offset), std::to_integer<int>(*at), std::to_integer<int>(*same)));
  }
  if (original.timestamp != copy.timestamp) {
    return differs(fmt::format("timestamp {} in the original, {} here", original.timestamp, copy.timestamp));
  }
  if (original.cpu != copy.cpu) {
    return differs(fmt::format("processor {} in the original, {} here", original.cpu, copy.cpu));
  }
  return std::nullopt;
}

class ComparingSink : public Sink {
 public:
  explicit ComparingSink(EventReader& original) : original_(original) {}

  SinkInfo info() const override { return {Order::kTime, true}; }
  Status Begin(const BeginArgs&) override { return {}; }
  Result<std::unique_ptr<SinkChunk>> Prepare(EventBatch& batch) const override {
    auto chunk = std::make_unique<Chunk>();
    chunk->rows = batch.rows;
    chunk->pins = std::move(batch.pins);
    batch.pins.clear();
    return std::unique_ptr<SinkChunk>(std::move(chunk));
  }
  Status Cut(std::unique_ptr<SinkChunk> chunk, std::vector<std::unique_ptr<SinkBlock>>&) override {
    for (const EventHeader& copy : static_cast<const Chunk&>(*chunk).rows) {
      const auto original = original_.Next();
      if (!original.ok()) return original.status();
      if (*original == nullptr) {
        return Differs(fmt::format("the original has no more events; here comes {}", PlaceText(copy.instance_id)));
      }
      if (const auto difference = DifferenceOf(**original, copy)) return Differs(*difference);
      ++events_;
    }
    return {};
  }
  Status CutEnd(std::vector<std::unique_ptr<SinkBlock>>&) override { return {}; }
  Status Encode(SinkBlock&) const override { return {}; }
  Status Write(SinkBlock&) override { return {}; }
  Status Finish() override {
    const auto original = original_.Next();
    if (!original.ok()) return original.status();
    if (*original == nullptr) return {};
    return Differs(
        fmt::format("{} and what follows it in the original are missing here", PlaceText((*original)->instance_id)));
  }

  uint64_t events() const { return events_; }

 private:
  struct Chunk : SinkChunk {
    std::vector<EventHeader> rows;
    std::vector<std::shared_ptr<const void>> pins;
  };

  Status Differs(const std::string& how) const {
    return {StatusCode::kAnswerNo, fmt::format("event {}: {}", events_ + 1, how)};
  }

  EventReader& original_;
  uint64_t events_ = 0;  // that are equal
};

VerifyFinding CompareHeaders(const TraceInfo& original, const TraceInfo& copy) {
  VerifyFinding finding{"original-header", Level::kError, ""};
  const auto same_source = [](const SourceRecording& a, const SourceRecording& b) {
    return a.number == b.number && a.fingerprint == b.fingerprint;
  };
  if (!std::equal(original.sources.begin(), original.sources.end(), copy.sources.begin(), copy.sources.end(),
                  same_source)) {
    finding.text = "made from another recording: the fingerprints of the first buffers differ";
  } else if (copy.format == "etl") {
    finding.level = Level::kOk;
    finding.text = "same recording";
  } else if (original.header_record != copy.header_record) {
    finding.text = "the log-file header record differs";
  } else if (original.header_buffer_header != copy.header_buffer_header) {
    finding.text = "the header of the first buffer differs";
  } else {
    finding.level = Level::kOk;
    finding.text = "same recording, same log-file header";
  }
  return finding;
}

Result<VerifyFinding> CompareEvents(Source& original, Source& copy, int threads, const CancelToken* cancel) {
  auto pass = original.StartPass({Order::kTime, threads, nullptr});
  if (!pass.ok()) return pass.status();
  EventReader events(**pass);
  ComparingSink sink(events);
  const auto run = Execute(copy, sink, threads, nullptr, cancel);
  if (run.ok()) {
    return VerifyFinding{"original-events", Level::kOk,
                         fmt::format("all {} events are there, byte for byte", sink.events())};
  }
  if (run.status().code() != StatusCode::kAnswerNo) return run.status();
  return VerifyFinding{"original-events", Level::kError, std::string(run.status().message())};
}

Result<VerifyFinding> CompareBuffers(const TraceInfo& original_info, const InputFile& original, const Source& copy,
                                     int threads, const CancelToken* cancel) {
  VerifyFinding finding{"original-buffers", Level::kNote, ""};
  const auto* archive = dynamic_cast<const etwp::EtwpSource*>(&copy);
  std::string reason;
  if (archive == nullptr) {
    finding.text = "an .etl has buffers of its own; only events are compared";
  } else if (original_info.format != "etl") {
    finding.text = "the original is no .etl; only events are compared";
  } else if (!etwp::CanRestore(archive->archive(), reason)) {
    finding.text = fmt::format("not kept: {}; only events are compared", reason);
  } else {
    etwp::RestoreOptions options;
    options.cancel = cancel;
    options.threads = threads;
    const Status status = etwp::CompareWithOriginal(archive->shared_archive(), original, options);
    const bool differs = status.code() == StatusCode::kAnswerNo || status.code() == StatusCode::kInput;
    if (!status.ok() && !differs) return status;
    finding.level = differs ? Level::kError : Level::kOk;
    finding.text = differs ? std::string(status.message())
                           : fmt::format("all {} bytes of the original are there", original.size());
    if (!differs && original_info.compressed_buffers > 0) finding.text += ", compressed buffers inflated";
  }
  return finding;
}

}  // namespace

Result<std::vector<VerifyFinding>> VerifyStructure(const std::shared_ptr<InputFile>& file, int threads,
                                                   const CancelToken* cancel) {
  if (etwp::LooksLikeArchive(*file)) return etwp::VerifyArchive(file, threads, cancel);
  return etl::VerifyEtl(file, threads, cancel);
}

Result<std::vector<VerifyFinding>> VerifyAgainst(const std::shared_ptr<InputFile>& copy,
                                                 const std::shared_ptr<InputFile>& original, int threads,
                                                 const CancelToken* cancel) {
  const auto from = OpenSource(original, {});
  if (!from.ok()) return from.status();
  const auto to = OpenSource(copy, {});
  if (!to.ok()) return to.status();
  const TraceInfo& info = (*from)->context().info;
  std::vector<VerifyFinding> findings = {CompareHeaders(info, (*to)->context().info)};
  if (findings.front().level == Level::kError) {
    findings.push_back({"original-events", Level::kNote, "not compared"});
    findings.push_back({"original-buffers", Level::kNote, "not compared"});
    return findings;
  }
  auto events = CompareEvents(**from, **to, threads, cancel);
  if (!events.ok()) return events.status();
  findings.push_back(std::move(*events));
  auto buffers = CompareBuffers(info, *original, **to, threads, cancel);
  if (!buffers.ok()) return buffers.status();
  findings.push_back(std::move(*buffers));
  return findings;
}

}  // namespace etwpipe
