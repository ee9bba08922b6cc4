// What is known of a trace as a whole: frozen before the first event reaches a stage.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/annotation.h"
#include "pipeline/clock.h"
#include "pipeline/event.h"
#include "pipeline/facts.h"
#include "pipeline/provider_table.h"

namespace etwpipe {

/// One original recording that events of a trace come from (design.md section 5).
struct SourceRecording {
  uint8_t number = 0;                       ///< the top byte of its instance ids
  std::array<std::byte, 16> fingerprint{};  ///< xxh3-128 of its first buffer
  std::string path;                         ///< only where the user asked to keep it
};

/// Metadata of a trace. Times are FILETIME (100 ns since 1601 UTC), sizes bytes.
struct TraceInfo {
  std::string format;  ///< "etl" or "etwp"
  uint64_t file_size = 0;
  uint64_t buffers = 0;  ///< containers of the recording, skipped ranges included
  uint64_t compressed_buffers = 0;
  uint64_t damaged_buffers = 0;  ///< skipped or cut short
  uint32_t buffer_size = 0;      ///< largest inflated buffer
  uint32_t pointer_size = 8;
  uint32_t processors = 0;
  Clock clock;
  int64_t end_time = 0;  ///< 0 if never closed; a hint only
  int64_t boot_time = 0;
  std::string logger_name;
  std::string log_file_name;
  uint32_t log_file_mode = 0;
  uint32_t os_major = 0;
  uint32_t os_minor = 0;
  uint32_t os_build = 0;
  uint32_t events_lost = 0;
  uint32_t buffers_lost = 0;
  uint32_t timer_resolution = 0;  ///< 100 ns
  uint32_t cpu_mhz = 0;
  int32_t utc_bias_minutes = 0;  ///< UTC = local + bias
  std::vector<SourceRecording> sources;
  uint64_t next_injected = 1;  ///< counter the next injected event gets (design.md section 5)

  /// Annotation columns that an earlier run stored in the trace.
  std::vector<AnnotationInfo> annotations;
  /// Schemas that an earlier run stored in the trace, in the text form of formats/schema.
  std::vector<std::string> embedded_schemas;

  /// The log-file header record: metadata, never offered to a stage. `header_record` holds its bytes.
  std::vector<std::byte> header_record;
  /// The 72-byte header of the buffer it stands in.
  std::vector<std::byte> header_buffer_header;
  HeaderKind header_kind = HeaderKind::kSystem64;
};

/// Metadata and fact tables of a trace; frozen when the first analysis or transform pass starts.
struct TraceContext {
  TraceInfo info;
  std::shared_ptr<ProviderTable> providers = std::make_shared<ProviderTable>();
  std::shared_ptr<Facts> facts = std::make_shared<Facts>();

  const Guid& provider_guid(const EventHeader& row) const { return providers->guid(row.provider); }
};

}  // namespace etwpipe
