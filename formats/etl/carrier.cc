#include "formats/etl/carrier.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "formats/etl/layout.h"
#include "formats/etl/record.h"
#include "formats/etl/record_builder.h"
#include "formats/etl/tracelogging_builder.h"
#include "pipeline/byte_reader.h"

namespace etwpipe::etl {
namespace {

constexpr uint32_t kCarrierVersion = 1;
constexpr size_t kSourceBytes = 1 + 16 + 2;  // number, fingerprint, length of the path

const TraceLoggingSchema& IdMapSchema() {
  static const TraceLoggingSchema schema = [] {
    TraceLoggingSchema s("IdMap");
    s.Field("Version", InType::kUint32).Field("FirstBuffer", InType::kUint64).Field("FirstRecord", InType::kUint64);
    s.Field("Runs", InType::kBinary);
    return s;
  }();
  return schema;
}

const TraceLoggingSchema& SourceHeaderSchema() {
  static const TraceLoggingSchema schema = [] {
    TraceLoggingSchema s("SourceHeader");
    s.Field("Version", InType::kUint32).Field("NextInjected", InType::kUint64);
    s.Field("Sources", InType::kBinary);
    return s;
  }();
  return schema;
}

const TraceLoggingSchema& SchemaSchema() {
  static const TraceLoggingSchema schema = [] {
    TraceLoggingSchema s("Schema");
    s.Field("Version", InType::kUint32).Field("Text", InType::kUint32).Field("Part", InType::kUint32);
    s.Field("Parts", InType::kUint32).Field("Data", InType::kBinary);
    return s;
  }();
  return schema;
}

std::vector<std::byte> BuildCarrier(CarrierId id, const TraceLoggingSchema& schema, const PayloadWriter& payload,
                                    int64_t timestamp) {
  static const std::vector<std::byte> traits = ProviderTraits("etwpipe");
  const ExtendedItem items[] = {{kExtProviderTraits, traits}, {kExtSchemaTl, schema.metadata()}};
  EventFields fields;
  fields.tid = kNoId;
  fields.pid = kNoId;
  fields.timestamp = timestamp;
  fields.provider = EtwpipeProvider();
  fields.id = id;
  fields.channel = kTraceLoggingChannel;
  fields.items = items;
  std::vector<std::byte> record(RecordSize(fields, payload.bytes().size()));
  if (WriteRecord(record, fields, payload.bytes()) == 0) record.clear();
  return record;
}

}  // namespace

const Guid& EtwpipeProvider() {
  static const Guid guid = GuidOf("56e4a0cd-0f35-5584-7110-f7ea1385f7bd");
  return guid;
}

bool IsCarrier(std::span<const std::byte> record) {
  if (record.size() < kEventHeaderSize || LoadAt<uint8_t>(record.data(), 3) != kMarkerFixed) return false;
  const auto type = LoadAt<uint8_t>(record.data(), 2);
  if (type != kTypeEvent32 && type != kTypeEvent64) return false;
  // The id first: it rules out nearly every event without touching the GUID.
  const auto id = LoadAt<uint16_t>(record.data(), 40);
  if (id == 0 || id > kCarrierSchema) return false;
  return LoadAt<Guid>(record.data(), 24) == EtwpipeProvider();
}

std::vector<std::byte> BuildIdMapCarrier(const IdMapWriter::Carrier& carrier, int64_t timestamp) {
  PayloadWriter payload;
  payload.Add(kCarrierVersion).Add(carrier.first_buffer).Add(carrier.first_record).AddBinary(carrier.data);
  return BuildCarrier(kCarrierIdMap, IdMapSchema(), payload, timestamp);
}

std::vector<std::vector<std::byte>> BuildSourceHeaderCarriers(const SourceHeaderCarrier& header, size_t max_record,
                                                              int64_t timestamp) {
  std::vector<std::vector<std::byte>> records;
  const size_t budget = std::min(max_record - kCarrierOverhead, kMaxCarrierData);
  std::vector<std::byte> table;
  const auto flush = [&] {
    PayloadWriter payload;
    payload.Add(kCarrierVersion).Add(header.next_injected).AddBinary(table);
    records.push_back(BuildCarrier(kCarrierSourceHeader, SourceHeaderSchema(), payload, timestamp));
    table.clear();
  };
  for (const SourceRecording& source : header.sources) {
    // A path that would not fit a record of a tiny buffer is worth less than the fingerprint.
    const size_t path_size = kSourceBytes + source.path.size() <= budget ? source.path.size() : 0;
    if (!table.empty() && table.size() + kSourceBytes + path_size > budget) flush();
    PayloadWriter row;
    row.Add(source.number).AddBytes(source.fingerprint);
    row.Add(static_cast<uint16_t>(path_size));
    row.AddBytes(std::as_bytes(std::span(source.path).first(path_size)));
    table.insert(table.end(), row.bytes().begin(), row.bytes().end());
  }
  flush();
  return records;
}

std::vector<std::vector<std::byte>> BuildSchemaCarriers(const std::vector<std::string>& texts, size_t max_record,
                                                        int64_t timestamp) {
  std::vector<std::vector<std::byte>> records;
  const size_t budget = std::min(max_record - kCarrierOverhead, kMaxCarrierData);
  for (size_t text = 0; text < texts.size(); ++text) {
    const auto bytes = std::as_bytes(std::span(texts[text]));
    const size_t parts = (bytes.size() + budget - 1) / budget;
    for (size_t part = 0; part < parts; ++part) {
      PayloadWriter payload;
      payload.Add(kCarrierVersion).Add(static_cast<uint32_t>(text)).Add(static_cast<uint32_t>(part));
      payload.Add(static_cast<uint32_t>(parts));
      payload.AddBinary(bytes.subspan(part * budget, std::min(budget, bytes.size() - part * budget)));
      records.push_back(BuildCarrier(kCarrierSchema, SchemaSchema(), payload, timestamp));
    }
  }
  return records;
}

bool SchemaCarriers::Add(uint32_t text, uint32_t part, uint32_t parts, std::span<const std::byte> data) {
  const bool expected = text == texts_.size() && part == next_part_ && part < parts;
  if (!expected || data.size() > kMaxBytes - bytes_) return false;
  bytes_ += data.size();
  open_.append(reinterpret_cast<const char*>(data.data()), data.size());
  ++next_part_;
  if (next_part_ == parts) {
    texts_.push_back(std::exchange(open_, {}));
    next_part_ = 0;
  }
  return true;
}

bool ReadCarrier(std::span<const std::byte> record, CarriedFacts& facts) {
  ProviderTable table;
  ProviderResolver providers(table);
  EventHeader row;
  if (!ParseRecord(record, 8, providers, row)) return false;
  ByteReader reader(row.payload());
  if (reader.Read<uint32_t>() != kCarrierVersion) return false;
  facts.has_ids = facts.has_ids || row.id != kCarrierSchema;
  if (row.id == kCarrierSchema) {
    const auto text = reader.Read<uint32_t>();
    const auto part = reader.Read<uint32_t>();
    const auto parts = reader.Read<uint32_t>();
    const auto data = reader.ReadBytes(reader.Read<uint16_t>());
    return !reader.failed() && facts.schemas.Add(text, part, parts, data);
  }
  if (row.id == kCarrierIdMap) {
    const auto first_buffer = reader.Read<uint64_t>();
    const auto first_record = reader.Read<uint64_t>();
    const auto data = reader.ReadBytes(reader.Read<uint16_t>());
    return !reader.failed() && first_buffer <= kMaxBufferOrdinal &&
           facts.map.AddCarrier(first_buffer, first_record, data);
  }
  if (row.id != kCarrierSourceHeader) return true;
  SourceHeaderCarrier& header = facts.header;
  header.next_injected = reader.Read<uint64_t>();
  ByteReader rows(reader.ReadBytes(reader.Read<uint16_t>()));
  while (rows.remaining() > 0) {
    SourceRecording source;
    source.number = rows.Read<uint8_t>();
    const auto fingerprint = rows.ReadBytes(source.fingerprint.size());
    const auto path = rows.ReadBytes(rows.Read<uint16_t>());
    if (rows.failed() || header.sources.size() >= kInjectedSource) return false;
    std::memcpy(source.fingerprint.data(), fingerprint.data(), fingerprint.size());
    source.path.assign(reinterpret_cast<const char*>(path.data()), path.size());
    header.sources.push_back(std::move(source));
  }
  return !reader.failed();
}

}  // namespace etwpipe::etl
