// What EventData::data points to, by EventData::event_id (semantics.md 4.1). Narrow texts are UTF-8, wide ones
// UTF-16LE, both end with a NUL. Texts marked "or null" are null where the event does not tell; the others are empty
// then. COMMAND_LINE has no struct: its data is the wide text itself. Structs have the SDK's layout on 64-bit Windows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pipeline/guid.h"

namespace etwpipe::session {

/// COMPILER, LINKER
struct InvocationData {
  int32_t msvc_tool_code = 0;  ///< 0 CL, 1 LINK
  struct Version {
    uint16_t major = 0;
    uint16_t minor = 0;
    uint16_t build_major = 0;
    uint16_t build_minor = 0;
  } tool_version;
  const char* tool_version_string = nullptr;    ///< or null
  const uint16_t* working_directory = nullptr;  ///< or null
  const uint16_t* tool_path = nullptr;          ///< or null
  uint64_t invocation_id = 0;                   ///< invocations are numbered from 1 by their start; ours, not the SDK's
};

/// FRONT_END_PASS, BACK_END_PASS
struct ClPassData {
  int32_t translation_unit_pass_code = 0;        ///< 0 front end, 1 back end
  const uint16_t* input_source_path = nullptr;   ///< or null
  const uint16_t* output_object_path = nullptr;  ///< or null
};

/// FILE_INPUT, OBJ_OUTPUT, EXECUTABLE_IMAGE_OUTPUT, LIB_OUTPUT, IMP_LIB_OUTPUT, EXP_OUTPUT
struct FileData {
  const uint16_t* path = nullptr;
  int32_t type_code = 0;  ///< 0 other, 1 obj, 2 exe or dll, 3 lib, 4 import lib, 5 exp
};

/// FRONT_END_FILE
struct FrontEndFileData {
  const char* path = nullptr;
};

/// FUNCTION
struct FunctionData {
  const char* name = nullptr;  ///< decorated
};

/// FORCE_INLINEE
struct ForceInlineeData {
  const char* name = nullptr;
  uint16_t size = 0;  ///< instructions of the intermediate language
};

/// ENVIRONMENT_VARIABLE
struct NameValuePairData {
  const uint16_t* name = nullptr;
  const uint16_t* value = nullptr;
};

/// SYMBOL_NAME
struct SymbolNameData {
  uint64_t key = 0;  ///< unique in the trace
  const char* name = nullptr;
};

/// TEMPLATE_INSTANTIATION
struct TemplateInstantiationData {
  uint64_t specialization_symbol_key = 0;
  uint64_t primary_template_symbol_key = 0;
  int32_t kind_code = 0;  ///< 0 class, 1 function, 2 variable, 3 concept
};

/// Every other event (kOtherEvent): its record. In the stop callback of an activity this is the record that stopped it,
/// where there is one.
struct RecordData {
  Guid provider;
  uint64_t keyword = 0;
  const char* provider_name = nullptr;  ///< the GUID's text where nobody knows a name
  const uint8_t* payload = nullptr;
  uint32_t payload_size = 0;  ///< bytes
  uint32_t record_size = 0;   ///< bytes, with header and extended items
  uint16_t id = 0;            ///< 0 for classic events
  uint16_t task = 0;
  uint8_t version = 0;
  uint8_t opcode = 0;
  uint8_t level = 0;
  uint8_t channel = 0;
  uint8_t header_kind = 0;   ///< HeaderKind (pipeline/event.h)
  uint8_t pointer_size = 0;  ///< 4 or 8: of the program that wrote it
};
static_assert(sizeof(RecordData) == 64);

}  // namespace etwpipe::session
