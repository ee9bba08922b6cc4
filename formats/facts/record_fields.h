// Fields of one record by name, for whoever collects facts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "formats/schema/decoder.h"
#include "formats/schema/event_schema.h"
#include "formats/schema/value_text.h"
#include "pipeline/event.h"
#include "pipeline/guid.h"

namespace etwpipe::facts {

/// Reads top-level fields of one event after the other. Not for several threads at once.
class RecordFields {
 public:
  /// Goes to an event; both live until the next call.
  void Load(const schema::EventSchema& schema, const EventHeader& row) {
    schema_ = &schema;
    row_ = &row;
  }

  /// The number, sign-extended where its type is signed; nullopt where there is no such field or the payload ends
  /// before it.
  std::optional<uint64_t> Number(std::string_view name);
  /// The text; empty where there is none.
  std::string Text(std::string_view name);
  /// The GUID; nullopt where there is none.
  std::optional<Guid> Identity(std::string_view name);

 private:
  std::optional<std::span<const std::byte>> Bytes(size_t index);
  const schema::Value* Get(std::string_view name);

  const schema::EventSchema* schema_ = nullptr;
  const EventHeader* row_ = nullptr;
  schema::DecodedFields scratch_;
  schema::Value value_;
};

}  // namespace etwpipe::facts
