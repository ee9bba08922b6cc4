// Puts records into per-processor buffers and buffers into a file, and counts what it writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "formats/etl/buffer_builder.h"
#include "formats/etl/logfile_header.h"
#include "formats/etl/record_builder.h"
#include "formats/xca/xpress_encoder.h"
#include "tests/tracegen/byte_sink.h"
#include "tests/tracegen/options.h"
#include "tests/tracegen/truth.h"

namespace etwpipe::tracegen {

/// Where and when an event happens. `ticks` is raw time.
struct Place {
  uint16_t cpu = 0;
  int64_t ticks = 0;
  uint32_t tid = 0;
  uint32_t pid = 0;
};

/// Template of an event kind: the fields that do not change from event to event, and its row in the truth.
template <typename Fields>
struct Kind {
  Fields fields;
  KindCount* row = nullptr;
};
using SystemKind = Kind<etl::SystemFields>;
using FullKind = Kind<etl::FullFields>;
using EventKind = Kind<etl::EventFields>;
using MessageKind = Kind<etl::MessageFields>;

/// Writes a file that fulfils etl-format.md 9.2 and 9.4: one processor per buffer, dense sequence numbers in file
/// order, buffers written when they are full. Errors of the sink are kept and returned by Finish(); see ok().
class TraceWriter {
 public:
  /// All three outlive the writer.
  TraceWriter(const Options& options, ByteSink& sink, Truth& truth);

  /// Starts buffer 0 with the log-file header. Called once, first.
  void Begin(const etl::LogFileHeader& header);
  /// Appends a record to buffer 0, between Begin() and EndHeader().
  void WriteToHeaderBuffer(SystemKind& kind, const Place& place, std::span<const std::byte> payload);
  void EndHeader();

  /// Appends a record. Its timestamp is place.ticks, or the processor's last one if that is later; returns it.
  template <typename Fields>
  int64_t Write(Kind<Fields>& kind, const Place& place, std::span<const std::byte> payload) {
    const int64_t ticks = Advance(place);
    Stamp(kind.fields, place, ticks);
    const size_t size = etl::RecordSize(kind.fields, payload.size());
    const std::span<std::byte> room = Allocate(place.cpu, size);
    const std::span<std::byte> target = etl::BeginRecord(room.data(), kind.fields, payload.size());
    if (!payload.empty()) std::memcpy(target.data(), payload.data(), payload.size());
    Count(kind, size);
    CountPid(kind.fields);
    return ticks;
  }

  /// Last timestamp on a processor.
  int64_t last_ticks(uint16_t cpu) const { return streams_[cpu].last_ticks; }
  /// Inflated size of the file if it ended now, bytes.
  uint64_t projected_size() const;
  bool ok() const { return status_.ok(); }

  /// Writes what is left, processor by processor, and completes the log-file header.
  Status Finish();

 private:
  struct Stream {
    explicit Stream(uint32_t buffer_size) : builder(buffer_size) {}
    etl::BufferBuilder builder;
    int64_t last_ticks = 0;
  };

  int64_t Advance(const Place& place);
  std::span<std::byte> Allocate(uint16_t cpu, size_t size);
  void Flush(uint16_t cpu);
  void AppendBuffer(std::span<const std::byte> buffer);
  bool AppendCompressed(std::span<const std::byte> buffer, uint32_t data_end);

  void Stamp(etl::SystemFields& fields, const Place& place, int64_t ticks);
  void Stamp(etl::FullFields& fields, const Place& place, int64_t ticks);
  void Stamp(etl::EventFields& fields, const Place& place, int64_t ticks);
  void Stamp(etl::MessageFields& fields, const Place& place, int64_t ticks);
  template <typename Fields>
  void Count(Kind<Fields>& kind, size_t size) {
    if (kind.row == nullptr) kind.row = &truth_.Kind(KindOf(kind.fields));
    ++kind.row->count;
    kind.row->bytes += size;
  }
  void CountPid(const etl::SystemFields& fields);
  void CountPid(const etl::FullFields& fields) { CountPid(fields.pid); }
  void CountPid(const etl::EventFields& fields) { CountPid(fields.pid); }
  void CountPid(const etl::MessageFields& fields);
  void CountPid(uint32_t pid);

  const Options& options_;
  ByteSink& sink_;
  Truth& truth_;
  Status status_;
  etl::LogFileHeader header_;
  etl::BufferBuilder header_builder_;
  std::vector<Stream> streams_;
  uint64_t file_size_ = 0;
  uint64_t last_buffer_ = 0;    // file offset of the last buffer
  uint16_t last_flags_ = 0;     // flags of the last buffer
  uint64_t inflated_size_ = 0;  // of the buffers written so far
  int64_t next_sequence_ = 0;
  std::vector<uint64_t> pid_counts_;  // by pid / 4
  uint64_t no_pid_count_ = 0;         // records whose pid is 0xFFFFFFFF
  xca::XpressEncoder encoder_;
  std::vector<std::byte> compressed_;
};

}  // namespace etwpipe::tracegen
