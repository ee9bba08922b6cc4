#include "formats/schema/stack_owner.h"

#include "formats/schema/context_records.h"
#include "pipeline/byte_reader.h"

namespace etwpipe {
namespace {

constexpr uint8_t kStack = 32;
constexpr uint8_t kStackKeyKernel = 37;
constexpr uint8_t kStackKeyUser = 38;

}  // namespace

// A full provider table holds no StackWalk record either: the record itself could not have been numbered.
StackOwners::StackOwners(const TraceContext& trace)
    : provider_(trace.providers->Intern(GuidOf(schema::kStackWalkGuid)).value_or(kNoProvider)) {}

std::optional<StackOwner> StackOwners::Read(const EventHeader& row) {
  if (row.opcode != kStack && row.opcode != kStackKeyKernel && row.opcode != kStackKeyUser) return std::nullopt;
  ByteReader reader(row.payload());
  StackOwner owner;
  owner.timestamp = reader.Read<int64_t>();
  owner.pid = reader.Read<uint32_t>();
  owner.tid = reader.Read<uint32_t>();
  if (reader.failed()) return std::nullopt;
  return owner;
}

}  // namespace etwpipe
