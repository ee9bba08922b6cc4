// What a synthetic trace shall be.
#pragma once

#include <cstdint>
#include <string_view>

#include "pipeline/status.h"

namespace etwpipe::tracegen {

enum class Scenario : uint8_t {
  kMixed,     ///< everything
  kClr,       ///< mostly .NET: jitting, tiering, unloading, garbage collections, rundown
  kBuild,     ///< a C++ build: nested compiler activities of the etwpipe.ingest provider
  kSwitches,  ///< context switches and application activities
};

enum class Compression : uint8_t { kNone, kXpress };

struct Options {
  uint64_t size = 64 << 20;  ///< bytes of all buffers when inflated, about
  uint64_t seed = 1;
  Scenario scenario = Scenario::kMixed;
  Compression compression = Compression::kNone;
  uint32_t buffer_size = 64 << 10;  ///< bytes; a multiple of 1 KiB, 4 KiB..16 MiB
  uint32_t processors = 8;          ///< 1..256
};

std::string_view ToString(Scenario scenario);
Result<Scenario> ParseScenario(std::string_view text);
Result<Compression> ParseCompression(std::string_view text);
/// "4096", "64KiB", "2MiB", "1GiB"; bytes.
Result<uint64_t> ParseSize(std::string_view text);

/// Names what cannot be generated.
Status CheckOptions(const Options& options);

}  // namespace etwpipe::tracegen
