// What `etwpipe verify` finds, the same for every format.
#pragma once

#include <cstdint>
#include <string>

namespace etwpipe {

/// One check of a file and its outcome.
struct VerifyFinding {
  enum class Level : uint8_t {
    kOk,     ///< looked at and right
    kNote,   ///< odd, but no defect of the file
    kError,  ///< wrong
  };

  std::string check;  ///< short name, stable: "checksums"
  Level level = Level::kOk;
  std::string text;  ///< for a person: what was looked at, or what is wrong and where; may be empty when ok
};

}  // namespace etwpipe
