#include "tools/trace_json.h"

#include "formats/schema/provider_names.h"
#include "tools/table.h"

namespace etwpipe {

void WriteDiagnostics(JsonWriter& json, const Diagnostics& diagnostics) {
  json.BeginArray();
  for (const auto& entry : diagnostics.entries()) {
    const DiagnosticInfo& info = InfoOf(entry.id);
    json.BeginObject();
    json.Key("id").String(info.id);
    json.Key("severity").String(ToString(info.severity));
    json.Key("count").Uint(entry.count);
    json.Key("first_offset");
    entry.first_offset ? json.Uint(*entry.first_offset) : json.Null();
    json.Key("text").String(entry.text);
    json.EndObject();
  }
  json.EndArray();
}

void WriteProvider(JsonWriter& json, const std::optional<Guid>& provider, std::string_view name) {
  json.Key("provider").StringOrNull(provider ? ToString(*provider) : std::string());
  json.Key("provider_name").StringOrNull(name);
}

std::string_view KnownName(const std::optional<Guid>& provider) {
  const auto* known = provider ? schema::FindProvider(*provider) : nullptr;
  return known == nullptr ? std::string_view() : known->name;
}

std::string DiagnosticsText(const Diagnostics& diagnostics, Severity least) {
  Table table({{""}, {""}, {"", Table::Align::kRight}, {""}});
  for (const auto& entry : diagnostics.entries()) {
    const DiagnosticInfo& info = InfoOf(entry.id);
    if (info.severity < least) continue;
    // Offset 0 is the file as a whole.
    const bool placed = entry.first_offset.value_or(0) != 0;
    const std::string where = placed ? fmt::format(" (first at {})", *entry.first_offset) : "";
    table.Add({std::string(ToString(info.severity)), std::string(info.id), Grouped(entry.count), entry.text + where});
  }
  return table.ToText("  ");
}

std::string ProviderText(const std::optional<Guid>& provider) {
  if (!provider) return "-";
  const auto* known = schema::FindProvider(*provider);
  if (known == nullptr || known->name.empty()) return ToString(*provider);
  if (known->event_class.empty()) return std::string(known->name);
  return fmt::format("{}/{}", known->name, known->event_class);
}

}  // namespace etwpipe
