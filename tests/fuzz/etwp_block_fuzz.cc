// Takes any block apart, without frames and checksums in the way, and puts what came out into a block again: the
// encoder must give every event back, whatever the layouts. Input: u16 length of a Dictionary, the Dictionary, a Block.
// The bytes of the Dictionary are the prefix of a block that needs one.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "formats/etl/record.h"
#include "formats/etwp/block_comparison.h"
#include "formats/etwp/block_decoder.h"
#include "formats/etwp/block_encoder.h"
#include "formats/etwp/record_rows.h"
#include "pipeline/byte_reader.h"
#include "pipeline/trace_context.h"

namespace {

using namespace etwpipe;

void Require(bool condition) {
  if (!condition) std::abort();
}

// Bytes between the header of a record and its payload, as a writer finds them.
uint16_t ExtendedSize(const etwp::RecordTemplate& kind, std::span<const std::byte> record,
                      etl::ProviderResolver& providers) {
  if (!kind.extended()) return 0;
  EventHeader header;
  etwp::ParseRow(record, 8, providers, header);
  const bool fits = header.extended_begin == kind.header_size() && header.payload_begin >= header.extended_begin &&
                    header.payload_begin <= record.size();
  return fits ? static_cast<uint16_t>(header.payload_begin - header.extended_begin) : uint16_t{0};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const size_t dictionary_size = LoadAt<uint16_t>(reinterpret_cast<const std::byte*>(data), 0);
  if (dictionary_size > size - 2) return 0;
  v1::Dictionary dictionary;
  v1::Block block;
  const auto* text = reinterpret_cast<const char*>(data) + 2;
  if (!dictionary.ParseFromArray(text, static_cast<int>(dictionary_size))) return 0;
  if (!block.ParseFromArray(text + dictionary_size, static_cast<int>(size - 2 - dictionary_size))) return 0;

  etwp::Dictionary known;
  (void)known.Add(dictionary);
  const auto* bytes = reinterpret_cast<const std::byte*>(text);
  known.set_prefix(std::make_shared<std::vector<std::byte>>(bytes, bytes + dictionary_size));
  etwp::BlockNames names;
  if (etwp::FindNames(block, known, names)) return 0;
  etwp::DecodedBlock decoded;
  const auto error = etwp::DecodeBlock(block, names, decoded);
  // What a decoder has seen before changes nothing.
  static etwp::BlockDecoder kept;
  static etwp::DecodedBlock decoded_by_kept;
  const auto error_of_kept = kept.Decode(block, names, decoded_by_kept);
  Require(error.has_value() == error_of_kept.has_value());
  if (error) {
    Require(error->reason == error_of_kept->reason);
    return 0;
  }
  if (block.has_rows()) return 0;
  Require(decoded.rows.size() == decoded_by_kept.rows.size());
  for (size_t i = 0; i < decoded.rows.size(); ++i) {
    const auto a = decoded.record(decoded.rows[i]);
    const auto b = decoded_by_kept.record(decoded_by_kept.rows[i]);
    Require(std::equal(a.begin(), a.end(), b.begin(), b.end()));
  }

  TraceContext trace;
  etl::ProviderResolver providers(*trace.providers);
  etwp::BlockEvents events;
  events.first_event = block.first_event();
  for (const auto& row : decoded.rows) {
    const auto record = decoded.record(row);
    const etwp::RecordTemplate& kind = *names.kinds[row.kind];
    Require(row.offset + record.size() <= decoded.bytes.size() && record.size() >= kind.header_size());
    events.rows.push_back({record.data(), row.instance_id, row.timestamp, &kind, block.kinds(row.kind), row.size,
                           row.cpu, ExtendedSize(kind, record, providers)});
  }
  etwp::BlockEncoder encoder;
  encoder.set_prefix(names.prefix);
  v1::Block again;
  Require(encoder.Encode(events, 1, again).ok());
  etwp::BlockNames names_again;
  Require(!etwp::FindNames(again, known, names_again));
  etwp::DecodedBlock decoded_again;
  Require(!etwp::DecodeBlock(again, names_again, decoded_again));
  Require(decoded_again.rows.size() == events.rows.size());
  for (size_t i = 0; i < events.rows.size(); ++i) {
    const auto& row = decoded_again.rows[i];
    Require(etwp::SameEvent(events.rows[i], row, decoded_again.bytes.data() + row.offset));
  }
  return 0;
}
