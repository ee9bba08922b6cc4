#include "tests/tracegen/options.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <string>
#include <utility>

namespace etwpipe::tracegen {
namespace {

constexpr std::array<std::pair<std::string_view, Scenario>, 4> kScenarios = {{{"mixed", Scenario::kMixed},
                                                                              {"clr", Scenario::kClr},
                                                                              {"build", Scenario::kBuild},
                                                                              {"switches", Scenario::kSwitches}}};
constexpr std::array<std::pair<std::string_view, uint64_t>, 5> kUnits = {
    {{"", 1}, {"B", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}}};
constexpr uint32_t kMinBufferSize = 4 << 10;
constexpr uint32_t kMaxBufferSize = 16 << 20;
constexpr uint32_t kMaxProcessors = 256;

}  // namespace

std::string_view ToString(Scenario scenario) {
  for (const auto& [name, value] : kScenarios) {
    if (value == scenario) return name;
  }
  return {};
}

Result<Scenario> ParseScenario(std::string_view text) {
  for (const auto& [name, value] : kScenarios) {
    if (name == text) return value;
  }
  return Status::InvalidArgument(fmt::format("scenario '{}': expected mixed, clr, build or switches", text));
}

Result<Compression> ParseCompression(std::string_view text) {
  if (text == "none") return Compression::kNone;
  if (text == "xpress") return Compression::kXpress;
  return Status::InvalidArgument(fmt::format("compression '{}': expected none or xpress", text));
}

Result<uint64_t> ParseSize(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  for (const auto& [name, factor] : kUnits) {
    if (error == std::errc() && name == unit && number <= UINT64_MAX / factor) return number * factor;
  }
  return Status::InvalidArgument(fmt::format("size '{}': expected a number with KiB, MiB or GiB", text));
}

Status CheckOptions(const Options& options) {
  if (options.buffer_size < kMinBufferSize || options.buffer_size > kMaxBufferSize || options.buffer_size % 1024 != 0) {
    return Status::InvalidArgument("buffer size: expected a multiple of 1 KiB from 4 KiB to 16 MiB");
  }
  if (options.processors == 0 || options.processors > kMaxProcessors) {
    return Status::InvalidArgument("processors: expected 1 to 256");
  }
  const uint64_t smallest = uint64_t{options.buffer_size} * (options.processors + 3);
  if (options.size < smallest) {
    return Status::InvalidArgument(
        fmt::format("size: expected at least {} bytes with {} processors and {}-byte buffers", smallest,
                    options.processors, options.buffer_size));
  }
  return {};
}

}  // namespace etwpipe::tracegen
