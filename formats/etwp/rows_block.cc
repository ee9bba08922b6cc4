#include "formats/etwp/rows_block.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "formats/etl/layout.h"
#include "formats/etwp/frame.h"
#include "formats/etwp/record_rows.h"
#include "pipeline/batch.h"
#include "pipeline/header_name.h"
#include "proto/event.pb.h"

namespace etwpipe::etwp {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

constexpr size_t kReadableBehind = 8;

void Assign(std::span<const std::byte> bytes, std::string* to) {
  to->assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void FillEvent(const EventHeader& row, const TraceContext& trace, v1::Event& event) {
  event.set_instance_id(row.instance_id);
  event.set_timestamp(row.timestamp);
  event.set_file_time(trace.info.clock.ToFileTime(row.timestamp));
  event.set_cpu(row.cpu);
  if (row.has(kHasPid)) {
    event.set_pid(row.pid);
    event.set_tid(row.tid);
  }
  event.set_header(std::string(HeaderName(row.kind, row.header_type)));
  if (row.has(kHasProvider)) Assign(std::as_bytes(std::span(trace.provider_guid(row).bytes)), event.mutable_provider());
  event.set_event_id(row.id);
  event.set_version(row.version);
  event.set_opcode(row.opcode);
  event.set_level(row.level);
  event.set_task(row.task);
  event.set_channel(row.channel);
  event.set_keyword(row.keyword);
  event.set_pointer_size(row.pointer_size());
  const auto record = row.record_bytes();
  const size_t header = row.payload_begin == row.extended_begin ? row.payload_begin : row.extended_begin;
  Assign(record.first(header), event.mutable_header_bytes());
  Assign(record.subspan(header, row.payload_begin - header), event.mutable_extended());
  Assign(record.subspan(row.payload_begin), event.mutable_payload());
}

DecodeError Bad(std::string reason) { return {DiagnosticId::kArchiveFrameBad, std::move(reason)}; }

bool BatchesFit(const v1::Block& block) {
  uint64_t sum = 0;
  for (const uint32_t count : block.batch_events()) {
    if (count == 0 || count > kMaxBatchRows) return false;
    sum += count;
  }
  return sum == block.events();
}

std::optional<DecodeError> AddRow(const v1::Event& event, const v1::Block& block, DecodedBlock& decoded) {
  const size_t size = event.header_bytes().size() + event.extended().size() + event.payload().size();
  if (decoded.rows.size() == block.events()) return Bad("it holds more events than it says");
  if (size > std::numeric_limits<uint16_t>::max()) return Bad(fmt::format("an event of {} bytes", size));
  if (event.cpu() > std::numeric_limits<uint16_t>::max()) return Bad(fmt::format("processor {}", event.cpu()));
  if (size > block.record_bytes()) return Bad("its records are larger than it says");
  const size_t offset = decoded.bytes.size();
  decoded.bytes.resize(etl::Align8(offset + size));
  std::byte* out = decoded.bytes.data() + offset;
  for (const std::string* part : {&event.header_bytes(), &event.extended(), &event.payload()}) {
    if (!part->empty()) std::memcpy(out, part->data(), part->size());
    out += part->size();
  }
  decoded.rows.push_back({.instance_id = event.instance_id(),
                          .timestamp = event.timestamp(),
                          .offset = static_cast<uint32_t>(offset),
                          .size = static_cast<uint16_t>(size),
                          .cpu = static_cast<uint16_t>(event.cpu()),
                          .kind = 0});
  return std::nullopt;
}

}  // namespace

Status EncodeRows(const BlockEvents& events, const TraceContext& trace, int level, Compressor& compressor,
                  v1::Block& block) {
  block.Clear();
  block.set_first_event(events.first_event);
  block.set_events(static_cast<uint32_t>(events.rows.size()));
  block.set_first_timestamp(events.rows.front().timestamp);
  block.set_min_timestamp(events.rows.front().timestamp);
  block.set_max_timestamp(events.rows.front().timestamp);
  std::string content;
  v1::Event event;
  etl::ProviderResolver providers(*trace.providers);
  EventHeader header;
  uint64_t record_bytes = 0;
  uint64_t batch_bytes = 0;
  uint32_t batch_events = 0;
  for (const BlockRow& row : events.rows) {
    ParseRow({row.record, row.size}, trace.info.pointer_size, providers, header);
    header.instance_id = row.instance_id;
    header.timestamp = row.timestamp;
    header.cpu = row.cpu;
    event.Clear();
    FillEvent(header, trace, event);
    const std::string bytes = event.SerializeAsString();
    uint8_t prefix[16];
    uint8_t* end = WireFormatLite::WriteTagToArray(1, WireFormatLite::WIRETYPE_LENGTH_DELIMITED, prefix);
    end = google::protobuf::io::CodedOutputStream::WriteVarint32ToArray(static_cast<uint32_t>(bytes.size()), end);
    content.append(reinterpret_cast<const char*>(prefix), static_cast<size_t>(end - prefix));
    content += bytes;
    block.set_min_timestamp(std::min<int64_t>(block.min_timestamp(), row.timestamp));
    block.set_max_timestamp(std::max<int64_t>(block.max_timestamp(), row.timestamp));
    record_bytes += row.size;
    if (batch_events == kMaxBatchRows || (batch_events > 0 && batch_bytes + row.size > kMaxBatchBytes)) {
      block.add_batch_events(batch_events);
      batch_events = 0;
      batch_bytes = 0;
    }
    ++batch_events;
    batch_bytes += row.size;
  }
  block.add_batch_events(batch_events);
  block.set_record_bytes(record_bytes);
  if (content.size() > kMaxContent) {
    return Status::Output(fmt::format("{} bytes of events are too many for a block", content.size()));
  }
  block.mutable_rows()->set_length(static_cast<uint32_t>(content.size()));
  return compressor.Compress({}, std::as_bytes(std::span(content)), {}, level, {},
                             *block.mutable_rows()->mutable_content());
}

std::optional<DecodeError> DecodeRows(const v1::Block& block, DecodedBlock& decoded) {
  decoded.rows.clear();
  decoded.bytes.clear();
  decoded.annotations.clear();
  const uint32_t length = block.rows().length();
  const std::string& packed = block.rows().content();
  if (block.events() == 0 || block.events() > kMaxBlockEvents) return Bad(fmt::format("{} events", block.events()));
  if (length > kMaxContent || block.record_bytes() > kMaxContent) return Bad("it declares more than a block may hold");
  if (!BatchesFit(block)) return Bad("its batches do not fit its events");
  if (block.kinds_size() > 0) return Bad("it has rows and kinds at once");
  if (ZSTD_getFrameContentSize(packed.data(), packed.size()) != length) return Bad("its rows have another size");
  std::string content(length, '\0');
  const size_t inflated = ZSTD_decompress(content.data(), content.size(), packed.data(), packed.size());
  if (ZSTD_isError(inflated) || inflated != length) return Bad("its rows do not inflate");

  CodedInputStream stream(reinterpret_cast<const uint8_t*>(content.data()), static_cast<int>(content.size()));
  uint64_t record_bytes = 0;
  v1::Event event;
  while (const uint32_t tag = stream.ReadTag()) {
    if (tag != WireFormatLite::MakeTag(1, WireFormatLite::WIRETYPE_LENGTH_DELIMITED)) {
      if (!WireFormatLite::SkipField(&stream, tag)) return Bad("its rows are no list of events");
      continue;
    }
    uint32_t size = 0;
    if (!stream.ReadVarint32(&size) || size > content.size() - static_cast<size_t>(stream.CurrentPosition())) {
      return Bad("its rows are cut off");
    }
    const auto limit = stream.PushLimit(static_cast<int>(size));
    event.Clear();
    if (!event.MergeFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) return Bad("an event does not parse");
    stream.PopLimit(limit);
    if (auto error = AddRow(event, block, decoded)) return error;
    record_bytes += decoded.rows.back().size;
    if (record_bytes > block.record_bytes()) return Bad("its records are larger than it says");
  }
  if (!stream.ConsumedEntireMessage()) return Bad("its rows are no list of events");
  if (decoded.rows.size() != block.events() || record_bytes != block.record_bytes()) {
    return Bad("it holds fewer events or bytes than it says");
  }
  decoded.bytes.resize(decoded.bytes.size() + kReadableBehind);
  return std::nullopt;
}

}  // namespace etwpipe::etwp
