// Writes deterministic synthetic traces of any size, and says what is in them.
#pragma once

#include <string>

#include "tests/tracegen/byte_sink.h"
#include "tests/tracegen/options.h"
#include "tests/tracegen/truth.h"

namespace etwpipe::tracegen {

/// Writes a whole .etl to `sink`. The same options give the same bytes on every machine.
Result<Truth> Generate(const Options& options, ByteSink& sink);

/// The same into memory. `truth` may be null.
Result<std::vector<std::byte>> GenerateToMemory(const Options& options, Truth* truth = nullptr);

/// The same into a file, which is replaced if it exists and complete if this returns ok.
Result<Truth> GenerateToFile(const Options& options, const std::string& path);

}  // namespace etwpipe::tracegen
