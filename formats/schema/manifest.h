// Instrumentation manifests: the XML in which a provider describes its events. Files that users have (.man, .xml), and
// what an EventSource writes into a trace (etl-format.md 7.3). Elements and attributes are those of Microsoft's
// "EventManifest schema" (learn.microsoft.com, Windows Event Log).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/schema/event_schema.h"
#include "pipeline/status.h"

namespace etwpipe::schema {

constexpr size_t kMaxManifestBytes = size_t{64} << 20;

struct ManifestSchemas {
  std::vector<std::shared_ptr<const EventSchema>> schemas;  ///< finished; in the order of the manifest
  std::vector<std::string> problems;                        ///< sentences; each begins with the name of the manifest
  size_t memory = 0;                                        ///< bytes that the schemas take, roughly
};

/// Reads a manifest in UTF-8 or UTF-16. Not a manifest, damaged XML, more than kMaxManifestBytes: an error that begins
/// with `name`. A defect of one event costs that event if its layout cannot be known, else only the name that is
/// missing; either way `problems` says so. Memory and time are bounded: at most 256 MiB of schemas, 1,000 problems.
///
/// What the schemas hold:
/// - name: TASK/OPCODE, TASK where the opcode is 0; without a task the event's symbol, or EventID(n).
/// - opcode_name, keywords and the like without "win:".
/// - message: of the culture en-US, else of the first; %n, %t, %r and %b are replaced, %% and %1.. are not.
/// - An event of a task with an eventGUID comes a second time in its classic form, which has that GUID as provider and
///   the opcode as number; of two events with the same classic form only the first. Ids above 65535 have only that.
Result<ManifestSchemas> ParseManifest(std::string_view bytes, std::string_view name, SchemaOrigin origin);

}  // namespace etwpipe::schema
