#include "formats/etwp/statistics.h"

#include <algorithm>
#include <cstring>

#include "formats/etl/header_record_row.h"

namespace etwpipe::etwp {
namespace {

// Keeps the frame far below its bound: a kind takes some 100 bytes.
constexpr size_t kMaxKinds = 1 << 17;

constexpr schema::SchemaOrigin kOrigins[] = {schema::SchemaOrigin::kTraceLogging, schema::SchemaOrigin::kEventSource,
                                             schema::SchemaOrigin::kEventInfo,    schema::SchemaOrigin::kEmbedded,
                                             schema::SchemaOrigin::kManifestFile, schema::SchemaOrigin::kBuiltIn};

void Widen(std::optional<int64_t>& first, std::optional<int64_t>& last, std::optional<int64_t> low,
           std::optional<int64_t> high) {
  if (low && (!first || *low < *first)) first = low;
  if (high && (!last || *high > *last)) last = high;
}

}  // namespace

void StatisticsBuilder::Part::Clear() {
  counter.Clear();
  first_time.reset();
  last_time.reset();
}

void StatisticsBuilder::Part::Add(const EventHeader& row) {
  counter.Add(schema::KindKey(row), row);
  if (row.has(kHasTimestamp)) Widen(first_time, last_time, row.timestamp, row.timestamp);
}

void StatisticsBuilder::Add(const Part& part) {
  total_.counter.Add(part.counter);
  Widen(total_.first_time, total_.last_time, part.first_time, part.last_time);
}

void StatisticsBuilder::AddHeaderRecord(const TraceContext& trace) {
  if (const auto header = etl::HeaderRecordRow(trace)) total_.counter.Add(schema::KindKey(*header), *header);
}

bool StatisticsBuilder::Build(const TraceContext& trace, const schema::SchemaRegistry* registry,
                              v1::Statistics& statistics) const {
  if (total_.counter.entries().size() > kMaxKinds) return false;
  for (const auto& kind : schema::CountsOf(total_.counter, trace, registry)) {
    v1::KindCount& told = *statistics.add_kinds();
    told.set_header(kind.header);
    if (kind.provider) told.set_provider(kind.provider->bytes.data(), kind.provider->bytes.size());
    told.set_id(kind.id);
    told.set_version(kind.version);
    told.set_opcode(kind.opcode);
    told.set_provider_name(kind.provider_name);
    told.set_name(kind.name);
    if (kind.origin) told.set_origin(std::string(ToString(*kind.origin)));
    told.set_count(kind.count);
    told.set_bytes(kind.bytes);
  }
  if (total_.first_time) statistics.set_first_timestamp(*total_.first_time);
  if (total_.last_time) statistics.set_last_timestamp(*total_.last_time);
  return true;
}

std::optional<ArchiveSummary> ReadStatistics(const v1::Statistics& statistics) {
  ArchiveSummary summary;
  for (const v1::KindCount& told : statistics.kinds()) {
    schema::KindCount& kind = summary.kinds.emplace_back();
    kind.header = told.header();
    if (!told.provider().empty()) {
      Guid guid;
      if (told.provider().size() != sizeof guid.bytes) return std::nullopt;
      std::memcpy(guid.bytes.data(), told.provider().data(), sizeof guid.bytes);
      kind.provider = guid;
    }
    if (told.id() > UINT16_MAX || told.version() > UINT16_MAX || told.opcode() > UINT8_MAX) return std::nullopt;
    kind.id = static_cast<uint16_t>(told.id());
    kind.version = static_cast<uint16_t>(told.version());
    kind.opcode = static_cast<uint8_t>(told.opcode());
    kind.provider_name = told.provider_name();
    kind.name = told.name();
    if (!told.origin().empty()) {
      const auto origin = std::find_if(std::begin(kOrigins), std::end(kOrigins),
                                       [&](schema::SchemaOrigin one) { return ToString(one) == told.origin(); });
      if (origin == std::end(kOrigins)) return std::nullopt;
      kind.origin = *origin;
    }
    kind.count = told.count();
    kind.bytes = told.bytes();
  }
  if (statistics.has_first_timestamp() != statistics.has_last_timestamp()) return std::nullopt;
  if (statistics.has_first_timestamp()) {
    summary.first_time = statistics.first_timestamp();
    summary.last_time = statistics.last_timestamp();
  }
  return summary;
}

}  // namespace etwpipe::etwp
