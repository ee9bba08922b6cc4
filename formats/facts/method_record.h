// What one CLR record says of a method.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "formats/facts/string_pool.h"
#include "pipeline/event.h"

namespace etwpipe::facts {

/// Numbers in the StringPool of what names a method; 0 where a record does not say.
struct MethodNames {
  StringId type = 0;  ///< full name of the type: MethodNamespace
  StringId name = 0;
  StringId signature = 0;

  friend bool operator==(const MethodNames&, const MethodNames&) = default;
};

/// One record (layouts: semantics.md 6.2, 6.4). Fields that its kind does not have are 0.
struct MethodRecord {
  enum class Kind : uint8_t {
    kLoad,
    kUnload,
    kRundownStart,    ///< DCStart: was loaded when the session began
    kRundownEnd,      ///< DCEnd: was loaded when the session ended
    kJittingStarted,  ///< names an id, code comes later
    kEntryPoint,      ///< R2RGetEntryPoint: an address and names, no size
    kStub,            ///< ILStubGenerated: names are those of the managed method the stub is for
    kModuleUnload,    ///< only module_id is set
  };

  Kind kind = Kind::kLoad;
  uint8_t pointer_size = 8;  ///< of the process
  uint32_t pid = 0;
  std::optional<uint16_t> clr_instance;  ///< V0 records have none: any runtime of the process
  int64_t timestamp = 0;                 ///< raw ticks
  EventInstanceId id = 0;
  uint64_t method_id = 0;
  uint64_t module_id = 0;
  uint64_t start_address = 0;
  uint64_t rejit_id = 0;
  uint32_t size = 0;
  uint32_t token = 0;
  uint32_t flags = 0;
  MethodNames names;
};

/// Records in any order, and the texts they name.
struct MethodRecords {
  std::vector<MethodRecord> records;
  std::unique_ptr<StringPool> strings = std::make_unique<StringPool>();
};

}  // namespace etwpipe::facts
