// A small .etl by hand: records in the order in which they are added, each processor in buffers of its own.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "formats/etl/buffer_builder.h"
#include "formats/etl/layout.h"
#include "formats/etl/logfile_header.h"
#include "formats/etl/record_builder.h"
#include "formats/etl/tracelogging_builder.h"
#include "pipeline/guid.h"

namespace etwpipe::test {

class SmallTrace {
 public:
  static constexpr uint32_t kBufferSize = 65536;

  explicit SmallTrace(uint32_t processors = 2) : processors_(processors) {}

  template <typename Fields>
  void Add(const Fields& fields, std::span<const std::byte> payload, uint16_t cpu = 0) {
    std::vector<std::byte> record(etl::RecordSize(fields, payload.size()));
    ASSERT_NE(etl::WriteRecord(record, fields, payload), 0u);
    streams_[cpu].push_back({std::move(record), fields.timestamp});
  }

  /// An event of etwpipe.ingest. `schema` describes what stands behind EventId, Instance, Kind and Name.
  struct Build {
    uint8_t opcode = 0;
    uint16_t event_id = 0;
    uint64_t instance = 0;
    std::string name{};
    uint32_t pid = 100;
    uint32_t tid = 10;
    int64_t time = 0;
    uint16_t cpu = 0;
  };
  void AddBuild(const Build& build, etl::TraceLoggingSchema* more = nullptr, const etl::PayloadWriter& extra = {}) {
    etl::TraceLoggingSchema plain = BuildSchema();
    const auto traits = etl::ProviderTraits("etwpipe.ingest");
    const std::vector<etl::ExtendedItem> items = {
        {etl::kExtProviderTraits, traits}, {etl::kExtSchemaTl, more == nullptr ? plain.metadata() : more->metadata()}};
    etl::EventFields fields;
    fields.provider = ProviderGuidFromName("etwpipe.ingest");
    fields.channel = etl::kTraceLoggingChannel;
    fields.level = 4;
    fields.opcode = build.opcode;
    fields.pid = build.pid;
    fields.tid = build.tid;
    fields.timestamp = build.time;
    fields.items = items;
    etl::PayloadWriter payload;
    payload.Add(build.event_id).Add(build.instance).AddAnsi("kind").AddAnsi(build.name).AddBytes(extra.bytes());
    Add(fields, payload.bytes(), build.cpu);
  }
  static etl::TraceLoggingSchema BuildSchema() {
    etl::TraceLoggingSchema schema("Activity");
    schema.Field("EventId", etl::InType::kUint16).Field("Instance", etl::InType::kUint64);
    schema.Field("Kind", etl::InType::kAnsiString, etl::OutType::kUtf8);
    schema.Field("Name", etl::InType::kAnsiString, etl::OutType::kUtf8);
    return schema;
  }

  /// A record of the kernel, by hook group and type.
  void AddKernel(uint8_t group, uint8_t opcode, int64_t time, std::span<const std::byte> payload, uint16_t cpu = 0) {
    etl::SystemFields fields;
    fields.type = etl::kTypePerfInfo64;
    fields.group = group;
    fields.opcode = opcode;
    fields.version = 2;
    fields.timestamp = time;
    Add(fields, payload, cpu);
  }
  void AddManifest(std::string_view provider, uint16_t id, int64_t time, uint8_t opcode = 0, uint32_t tid = 10) {
    etl::EventFields fields;
    fields.provider = GuidOf(provider);
    fields.id = id;
    fields.opcode = opcode;
    fields.level = 4;
    fields.pid = 100;
    fields.tid = tid;
    fields.timestamp = time;
    Add(fields, std::as_bytes(std::span("payload", 8)));
  }

  void Write(const std::string& path) const {
    std::ofstream file(path, std::ios::binary);
    etl::LogFileHeader header;
    header.buffer_size = kBufferSize;
    header.processors = processors_;
    header.boot_time = 132'000'000'000'000'000;
    header.start_time = 133'000'000'000'000'000;
    header.end_time = header.start_time + 10'000'000;
    header.buffers_written = static_cast<uint32_t>(1 + streams_.size());
    etl::BufferBuilder builder(kBufferSize);
    builder.Append(etl::BuildLogFileHeader(header));
    etl::BufferFields fields;
    fields.type = etl::buffer::kTypeHeader;
    WriteBuffer(file, builder, fields);
    fields.type = etl::buffer::kTypeGeneric;
    for (const auto& [cpu, records] : streams_) {
      builder.Clear();
      for (const Record& record : records) {
        if (!builder.Fits(record.bytes.size())) {
          WriteBuffer(file, builder, fields);
          builder.Clear();
        }
        fields.cpu = cpu;
        fields.time_stamp = record.time;
        builder.Append(record.bytes);
      }
      WriteBuffer(file, builder, fields);
    }
  }

 private:
  struct Record {
    std::vector<std::byte> bytes;
    int64_t time;
  };

  static void WriteBuffer(std::ofstream& file, etl::BufferBuilder& builder, etl::BufferFields& fields) {
    const auto bytes = builder.Finish(fields);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    ++fields.sequence_number;
  }

  uint32_t processors_;
  std::map<uint16_t, std::vector<Record>> streams_;
};

}  // namespace etwpipe::test
