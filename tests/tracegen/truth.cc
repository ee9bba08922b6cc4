#include "tests/tracegen/truth.h"

#include <fmt/format.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <algorithm>

#include "formats/etl/kernel_groups.h"
#include "pipeline/clock.h"

namespace etwpipe::tracegen {
namespace {

using Writer = rapidjson::PrettyWriter<rapidjson::StringBuffer>;

std::string HeaderName(etl::RecordType type) {
  switch (type) {
    case etl::kTypeSystem32: return "SYSTEM32";
    case etl::kTypeSystem64: return "SYSTEM64";
    case etl::kTypeCompact32: return "COMPACT32";
    case etl::kTypeCompact64: return "COMPACT64";
    case etl::kTypePerfInfo32: return "PERFINFO32";
    case etl::kTypePerfInfo64: return "PERFINFO64";
    case etl::kTypeFull32: return "FULL_HEADER32";
    case etl::kTypeFull64: return "FULL_HEADER64";
    case etl::kTypeEvent32: return "EVENT_HEADER32";
    default: return "EVENT_HEADER64";
  }
}

void Put(Writer& writer, const char* key, std::string_view text) {
  writer.Key(key);
  writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

void Put(Writer& writer, const char* key, const std::string& text) { Put(writer, key, std::string_view(text)); }
void Put(Writer& writer, const char* key, const char* text) { Put(writer, key, std::string_view(text)); }

void Put(Writer& writer, const char* key, uint64_t number) {
  writer.Key(key);
  writer.Uint64(number);
}

void Put(Writer& writer, const char* key, int64_t number) {
  writer.Key(key);
  writer.Int64(number);
}

void Put(Writer& writer, const char* key, uint32_t number) { Put(writer, key, uint64_t{number}); }

void Put(Writer& writer, const char* key, bool value) {
  writer.Key(key);
  writer.Bool(value);
}

void Put(Writer& writer, const char* key, const std::optional<int64_t>& number) {
  if (number) return Put(writer, key, *number);
  writer.Key(key);
  writer.Null();
}

void Put(Writer& writer, const char* key, const Guid& guid) { Put(writer, key, ToString(guid)); }

std::string Hex(uint64_t value) { return fmt::format("0x{:x}", value); }

void PutKinds(Writer& writer, const Truth& truth) {
  std::vector<const KindCount*> order;
  for (const KindCount& kind : truth.kinds) order.push_back(&kind);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->bytes > b->bytes; });
  writer.Key("kinds");
  writer.StartArray();
  for (const KindCount* kind : order) {
    writer.StartObject();
    Put(writer, "header", kind->header);
    writer.Key("provider");
    if (kind->provider) {
      writer.String(ToString(*kind->provider).c_str());
    } else {
      writer.Null();
    }
    Put(writer, "id", kind->id);
    Put(writer, "opcode", kind->opcode);
    Put(writer, "version", kind->version);
    Put(writer, "count", kind->count);
    Put(writer, "bytes", kind->bytes);
    writer.EndObject();
  }
  writer.EndArray();
}

void PutEntry(Writer& writer, const ProcessTruth& process) {
  Put(writer, "pid", process.pid);
  Put(writer, "parent", process.parent);
  Put(writer, "image", process.image);
  Put(writer, "managed", process.managed);
  Put(writer, "pointer_size", uint32_t{process.pointer32 ? 4u : 8u});
  Put(writer, "start", process.start);
  Put(writer, "stop", process.stop);
}

std::string_view NameOf(Outcome outcome) {
  switch (outcome) {
    case Outcome::kExact: return "exact";
    case Outcome::kBackfilled: return "backfilled";
    case Outcome::kStale: return "stale";
    case Outcome::kAmbiguous: return "ambiguous";
    default: return "unknown";
  }
}

void PutClrInstance(Writer& writer, const std::optional<uint16_t>& instance) {
  Put(writer, "clr_instance", instance ? std::optional<int64_t>(*instance) : std::nullopt);
}

void PutOrNull(Writer& writer, const char* key, std::string_view text) {
  if (!text.empty()) return Put(writer, key, text);
  writer.Key(key);
  writer.Null();
}

void PutEntry(Writer& writer, const MethodTruth& method) {
  Put(writer, "pid", method.pid);
  PutClrInstance(writer, method.clr_instance);
  Put(writer, "method_id", Hex(method.method_id));
  Put(writer, "namespace", method.method_namespace);
  Put(writer, "name", method.name);
  Put(writer, "signature", method.signature);
  PutOrNull(writer, "named_by", method.verbose ? "method" : method.jitting ? "jitting" : "");
  Put(writer, "start", Hex(method.start));
  Put(writer, "size", method.size);
  Put(writer, "flags", Hex(method.flags));
  Put(writer, "tier", method.flags >> 7 & 7);
  Put(writer, "rejit", method.rejit);
  Put(writer, "from_ts", method.from);
  Put(writer, "to_ts", method.to);
  PutOrNull(writer, "learnt_by", method.learnt_by);
}

void PutEntry(Writer& writer, const ReferenceTruth& reference) {
  Put(writer, "event", reference.event);
  PutOrNull(writer, "case", reference.story);
  Put(writer, "ts", reference.ticks);
  Put(writer, "cpu", uint32_t{reference.cpu});
  Put(writer, "pid", reference.pid);
  Put(writer, "tid", reference.tid);
  Put(writer, "kind", reference.kind == ReferenceKind::kId ? "id" : "address");
  Put(writer, "frame", reference.frame);
  PutClrInstance(writer, reference.clr_instance);
  Put(writer, "value", Hex(reference.value));
  Put(writer, "alive", reference.alive);
  const bool known = reference.method != BoundedList<MethodTruth>::kNotKept;
  Put(writer, "method", known ? std::optional<int64_t>(reference.method) : std::nullopt);
  Put(writer, "outcome", NameOf(reference.outcome.value_or(Outcome::kUnknown)));
}

void PutEntry(Writer& writer, const ModuleTruth& module) {
  Put(writer, "pid", module.pid);
  Put(writer, "clr_instance", uint32_t{module.clr_instance});
  Put(writer, "module_id", Hex(module.module_id));
  Put(writer, "il_path", module.il_path);
  Put(writer, "native_path", module.native_path);
  Put(writer, "pdb_guid", module.pdb_guid);
  Put(writer, "pdb_age", module.pdb_age);
  Put(writer, "pdb_path", module.pdb_path);
  Put(writer, "native_pdb_guid", module.native_pdb_guid);
  Put(writer, "native_pdb_age", module.native_pdb_age);
  Put(writer, "native_pdb_path", module.native_pdb_path);
  Put(writer, "load", module.load);
  Put(writer, "unload", module.unload);
}

void PutEntry(Writer& writer, const RundownTruth& rundown) {
  Put(writer, "pid", rundown.pid);
  Put(writer, "clr_instance", uint32_t{rundown.clr_instance});
  Put(writer, "which", rundown.end ? "end" : "start");
  Put(writer, "complete", rundown.complete);
}

void PutEntry(Writer& writer, const ActivityTruth& activity) {
  Put(writer, "provider", activity.provider);
  Put(writer, "name", activity.name);
  Put(writer, "pid", activity.pid);
  Put(writer, "tid", activity.tid);
  Put(writer, "start", activity.start);
  Put(writer, "stop", activity.stop);
  Put(writer, "activity_id", activity.activity);
  Put(writer, "parent_id", activity.parent);
  Put(writer, "instance", activity.instance);
}

template <typename T>
void PutList(Writer& writer, const std::string& key, const BoundedList<T>& list) {
  Put(writer, (key + "_total").c_str(), list.total());
  Put(writer, (key + "_truncated").c_str(), list.total() > list.entries().size());
  writer.Key(key.c_str());
  writer.StartArray();
  writer.SetFormatOptions(rapidjson::kFormatSingleLineArray);
  for (const T& entry : list.entries()) {
    writer.StartObject();
    PutEntry(writer, entry);
    writer.EndObject();
  }
  writer.SetFormatOptions(rapidjson::kFormatDefault);
  writer.EndArray();
}

void PutOptions(Writer& writer, const Options& options) {
  writer.Key("options");
  writer.StartObject();
  Put(writer, "size", options.size);
  Put(writer, "seed", options.seed);
  Put(writer, "scenario", ToString(options.scenario));
  Put(writer, "compress", options.compression == Compression::kXpress ? "xpress" : "none");
  Put(writer, "buffer_size", options.buffer_size);
  writer.EndObject();
}

void PutPlanted(Writer& writer, const std::optional<PlantedTruth>& planted) {
  writer.Key("planted");
  if (!planted) {
    writer.Null();
    return;
  }
  writer.StartObject();
  Put(writer, "name", planted->name);
  Put(writer, "instance", planted->instance);
  Put(writer, "start", planted->start);
  Put(writer, "stop", planted->stop);
  writer.EndObject();
}

}  // namespace

uint64_t Truth::events() const {
  uint64_t count = 0;
  for (const KindCount& kind : kinds) count += kind.count;
  return count;
}

uint64_t Truth::record_bytes() const {
  uint64_t bytes = 0;
  for (const KindCount& kind : kinds) bytes += kind.bytes;
  return bytes;
}

KindCount& Truth::Kind(const KindCount& key) {
  for (KindCount& kind : kinds) {
    if (kind.header == key.header && kind.provider == key.provider && kind.id == key.id && kind.opcode == key.opcode &&
        kind.version == key.version) {
      return kind;
    }
  }
  return kinds.emplace_back(key);
}

KindCount KindOf(const etl::SystemFields& fields) {
  KindCount kind;
  kind.header = HeaderName(fields.type);
  kind.provider = etl::KernelGroupGuid(fields.group, fields.opcode);
  kind.opcode = fields.opcode;
  kind.version = fields.version;
  return kind;
}

KindCount KindOf(const etl::FullFields& fields) {
  KindCount kind;
  kind.header = HeaderName(fields.type);
  kind.provider = fields.guid;
  kind.opcode = fields.opcode;
  kind.version = fields.version;
  return kind;
}

KindCount KindOf(const etl::EventFields& fields) {
  KindCount kind;
  kind.header = HeaderName(fields.type);
  kind.provider = fields.provider;
  kind.id = fields.id;
  kind.opcode = fields.opcode;
  kind.version = fields.version;
  return kind;
}

KindCount KindOf(const etl::MessageFields& fields) {
  KindCount kind;
  kind.header = "MESSAGE";
  kind.provider = fields.guid;
  kind.id = fields.message_number;
  return kind;
}

std::string ToJson(const Truth& truth) {
  rapidjson::StringBuffer buffer;
  Writer writer(buffer);
  writer.SetIndent(' ', 1);
  writer.StartObject();
  PutOptions(writer, truth.options);
  Put(writer, "file_size", truth.file_size);
  Put(writer, "buffers", truth.buffers);
  Put(writer, "compressed_buffers", truth.compressed_buffers);
  Put(writer, "events", truth.events());
  Put(writer, "record_bytes", truth.record_bytes());
  Put(writer, "processors", truth.options.processors);
  Put(writer, "clock", "qpc");
  Put(writer, "frequency", truth.frequency);
  Put(writer, "start_ticks", truth.start_ticks);
  Put(writer, "start_time", FormatFileTime(truth.start_time));
  Put(writer, "end_time", FormatFileTime(truth.end_time));
  Put(writer, "boot_time", FormatFileTime(truth.boot_time));
  Put(writer, "first_timestamp", truth.first_timestamp);
  Put(writer, "last_timestamp", truth.last_timestamp);
  PutKinds(writer, truth);
  writer.Key("pids");
  writer.StartObject();
  for (const auto& [pid, count] : truth.pids) Put(writer, fmt::format("{}", pid).c_str(), count);
  writer.EndObject();
  PutPlanted(writer, truth.planted);
  PutList(writer, "processes", truth.processes);
  PutList(writer, "methods", truth.code.methods);
  PutList(writer, "references", truth.code.references);
  PutList(writer, "modules", truth.code.modules);
  PutList(writer, "rundowns", truth.code.rundowns);
  PutList(writer, "activities", truth.activities);
  writer.EndObject();
  return buffer.GetString();
}

}  // namespace etwpipe::tracegen
