// Event kinds of the .NET runtime providers (semantics.md section 6, clr-events.tsv).
#pragma once

#include "tests/tracegen/simulation.h"

namespace etwpipe::tracegen {

enum class ClrProvider : uint8_t { kRuntime, kRundown };

/// One event as 64-bit and 32-bit processes write it.
class ClrKind {
 public:
  ClrKind(ClrProvider provider, uint16_t id, uint8_t version, uint8_t opcode, uint16_t task, uint64_t keyword,
          uint8_t level = 4) {
    etl::EventFields& fields = kind64_.fields;
    fields.provider = GuidOf(provider == ClrProvider::kRuntime ? "e13c0d23-ccbc-4e12-931b-d9cc2eee27e4"
                                                               : "a669021c-c450-4609-a035-5af59af4df18");
    fields.id = id;
    fields.version = version;
    fields.opcode = opcode;
    fields.task = task;
    fields.keyword = keyword;
    fields.level = level;
    kind32_ = kind64_;
    kind32_.fields.type = etl::kTypeEvent32;
  }

  EventKind& For(const Process& process) { return process.pointer32 ? kind32_ : kind64_; }

 private:
  EventKind kind64_;
  EventKind kind32_;
};

constexpr uint16_t kClrInstance = 9;

}  // namespace etwpipe::tracegen
