// Pieces of JSON that several commands write.
#pragma once

#include <optional>

#include "pipeline/diagnostics.h"
#include "pipeline/guid.h"
#include "tools/json_writer.h"

namespace etwpipe {

/// [{id, severity, count, first_offset, text}].
void WriteDiagnostics(JsonWriter& json, const Diagnostics& diagnostics);

/// "provider": GUID or null, "provider_name": name or null for an empty one.
void WriteProvider(JsonWriter& json, const std::optional<Guid>& provider, std::string_view name);

/// The name of a well-known provider; empty for any other.
std::string_view KnownName(const std::optional<Guid>& provider);

/// A line per diagnostic of at least that severity, for people; empty if there is none.
std::string DiagnosticsText(const Diagnostics& diagnostics, Severity least = Severity::kInfo);

/// A provider for people: its name and class ("Windows Kernel/Process"), else its GUID, else "-".
std::string ProviderText(const std::optional<Guid>& provider);

}  // namespace etwpipe
