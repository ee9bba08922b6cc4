#include "formats/facts/code_addresses.h"

#include <string_view>

#include "pipeline/byte_reader.h"

namespace etwpipe::facts {
namespace {

// Fields that hold one, by the names of the MOF and of the CLR's manifest.
constexpr std::string_view kFields[] = {"InstructionPointer", "ExceptionEIP", "EntryEIP", "ProgramCounter"};

int PlaceIn(const schema::EventSchema& schema) {
  for (const std::string_view field : kFields) {
    if (const int place = schema.IndexOf(field); place >= 0) return place;
  }
  return -1;
}

}  // namespace

std::optional<uint64_t> CodeAddresses::Of(const EventHeader& row) {
  const schema::EventSchema* schema = lookup_.Find(row);
  if (schema == nullptr) return std::nullopt;
  if (lookup_.generation() != generation_) {
    generation_ = lookup_.generation();
    places_.clear();
  }
  const auto [place, added] = places_.try_emplace(schema, -1);
  if (added) place->second = PlaceIn(*schema);
  if (place->second < 0) return std::nullopt;
  const auto bytes =
      schema::FindValue(*schema, static_cast<size_t>(place->second), row.payload(), row.pointer_size(), scratch_);
  if (!bytes) return std::nullopt;
  const uint64_t address = bytes->size() == 8   ? LoadAt<uint64_t>(bytes->data())
                           : bytes->size() == 4 ? LoadAt<uint32_t>(bytes->data())
                                                : 0;
  return address == 0 ? std::nullopt : std::optional(address);
}

}  // namespace etwpipe::facts
