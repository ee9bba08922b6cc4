#include "formats/facts/clr_payloads.h"

#include <string>

#include "formats/schema/utf16.h"
#include "pipeline/byte_reader.h"

namespace etwpipe::facts {
namespace {

std::string ReadText(ByteReader& reader, std::span<const std::byte> payload) {
  size_t used = 0;
  std::string text = schema::Utf16ToUtf8(payload.subspan(reader.position()), &used);
  reader.Skip(used);
  return text;
}

std::optional<uint16_t> ReadInstance(ByteReader& reader) {
  const auto instance = reader.Read<uint16_t>();
  return reader.failed() ? std::nullopt : std::optional(instance);
}

MethodNames ReadNames(ByteReader& reader, std::span<const std::byte> payload, StringPool& strings) {
  MethodNames names;
  names.type = strings.Intern(ReadText(reader, payload));
  names.name = strings.Intern(ReadText(reader, payload));
  names.signature = strings.Intern(ReadText(reader, payload));
  return names;
}

MethodRecord::Kind MethodKind(const ClrEventKind& kind) {
  using Kind = MethodRecord::Kind;
  switch (kind.subject) {
    case ClrSubject::kJitting: return Kind::kJittingStarted;
    case ClrSubject::kEntryPoint: return Kind::kEntryPoint;
    case ClrSubject::kStub:
    case ClrSubject::kStubCacheHit: return Kind::kStub;
    default: break;
  }
  switch (kind.action) {
    case ClrAction::kLoad: return Kind::kLoad;
    case ClrAction::kUnload: return Kind::kUnload;
    case ClrAction::kRundownStart: return Kind::kRundownStart;
    case ClrAction::kRundownEnd: return Kind::kRundownEnd;
  }
  return Kind::kLoad;
}

template <typename Entity>
ClrRecord<Entity> NewRecord(const ClrEventKind& kind, const EventHeader& row) {
  using Kind = typename ClrRecord<Entity>::Kind;
  ClrRecord<Entity> record;
  record.kind = kind.action == ClrAction::kLoad     ? Kind::kLoad
                : kind.action == ClrAction::kUnload ? Kind::kUnload
                                                    : Kind::kRundown;
  record.timestamp = row.timestamp;
  record.record = row.instance_id;
  record.entity.pid = row.pid;
  return record;
}

ClrPdb ReadPdb(ByteReader& reader, std::span<const std::byte> payload) {
  ClrPdb pdb;
  pdb.guid = reader.Read<Guid>();
  pdb.age = reader.Read<uint32_t>();
  pdb.path = ReadText(reader, payload);
  return pdb;
}

}  // namespace

std::optional<MethodRecord> ReadMethod(const ClrEventKind& kind, const EventHeader& row, StringPool& strings) {
  const auto payload = row.payload();
  ByteReader reader(payload);
  MethodRecord record;
  record.kind = MethodKind(kind);
  record.pointer_size = static_cast<uint8_t>(row.pointer_size());
  record.pid = row.pid;
  record.timestamp = row.timestamp;
  record.id = row.instance_id;
  switch (kind.subject) {
    case ClrSubject::kMethod:
      record.method_id = reader.Read<uint64_t>();
      record.module_id = reader.Read<uint64_t>();
      record.start_address = reader.Read<uint64_t>();
      record.size = reader.Read<uint32_t>();
      record.token = reader.Read<uint32_t>();
      record.flags = reader.Read<uint32_t>();
      if (reader.failed()) return std::nullopt;
      if (kind.verbose) record.names = ReadNames(reader, payload, strings);
      if (row.version >= 1) record.clr_instance = ReadInstance(reader);
      if (row.version >= 2) record.rejit_id = reader.Read<uint64_t>();
      break;
    case ClrSubject::kJitting:
      record.method_id = reader.Read<uint64_t>();
      record.module_id = reader.Read<uint64_t>();
      record.token = reader.Read<uint32_t>();
      reader.Skip(sizeof(uint32_t));  // size of the IL
      if (reader.failed()) return std::nullopt;
      record.names = ReadNames(reader, payload, strings);
      if (row.version >= 1) record.clr_instance = ReadInstance(reader);
      break;
    case ClrSubject::kEntryPoint:
      record.method_id = reader.Read<uint64_t>();
      if (reader.failed()) return std::nullopt;
      record.names = ReadNames(reader, payload, strings);
      record.start_address = reader.Read<uint64_t>();
      if (reader.failed()) return std::nullopt;
      record.clr_instance = ReadInstance(reader);
      break;
    case ClrSubject::kStub:
    case ClrSubject::kStubCacheHit:
      record.clr_instance = ReadInstance(reader);
      record.module_id = reader.Read<uint64_t>();
      record.method_id = reader.Read<uint64_t>();
      if (kind.subject == ClrSubject::kStub) reader.Skip(sizeof(uint32_t));  // flags of the stub
      reader.Skip(sizeof(uint32_t));                                         // token of the managed method
      if (reader.failed()) return std::nullopt;
      record.names = ReadNames(reader, payload, strings);
      break;
    default: return std::nullopt;
  }
  return record;
}

std::optional<ClrRecord<ClrModule>> ReadModule(const ClrEventKind& kind, const EventHeader& row) {
  const auto payload = row.payload();
  ByteReader reader(payload);
  auto record = NewRecord<ClrModule>(kind, row);
  ClrModule& module = record.entity;
  module.id = reader.Read<uint64_t>();
  module.assembly_id = reader.Read<uint64_t>();
  if (kind.subject == ClrSubject::kDomainModule) module.app_domain_id = reader.Read<uint64_t>();
  module.flags = reader.Read<uint32_t>();
  reader.Skip(sizeof(uint32_t));  // reserved
  if (reader.failed()) return std::nullopt;
  module.il_path = ReadText(reader, payload);
  module.native_path = ReadText(reader, payload);
  if (row.version >= 1) module.clr_instance = ReadInstance(reader);
  if (row.version >= 2 && kind.subject == ClrSubject::kModule && !reader.failed()) {
    module.managed_pdb = ReadPdb(reader, payload);
    module.native_pdb = ReadPdb(reader, payload);
  }
  return record;
}

std::optional<ClrRecord<ClrAssembly>> ReadAssembly(const ClrEventKind& kind, const EventHeader& row) {
  const auto payload = row.payload();
  ByteReader reader(payload);
  auto record = NewRecord<ClrAssembly>(kind, row);
  ClrAssembly& assembly = record.entity;
  assembly.id = reader.Read<uint64_t>();
  assembly.app_domain_id = reader.Read<uint64_t>();
  if (row.version >= 1) reader.Skip(sizeof(uint64_t));  // BindingID
  assembly.flags = reader.Read<uint32_t>();
  if (reader.failed()) return std::nullopt;
  assembly.name = ReadText(reader, payload);
  if (row.version >= 1) assembly.clr_instance = ReadInstance(reader);
  return record;
}

std::optional<ClrRecord<ClrAppDomain>> ReadAppDomain(const ClrEventKind& kind, const EventHeader& row) {
  const auto payload = row.payload();
  ByteReader reader(payload);
  auto record = NewRecord<ClrAppDomain>(kind, row);
  ClrAppDomain& domain = record.entity;
  domain.id = reader.Read<uint64_t>();
  domain.flags = reader.Read<uint32_t>();
  if (reader.failed()) return std::nullopt;
  domain.name = ReadText(reader, payload);
  if (row.version >= 1) {
    reader.Skip(sizeof(uint32_t));  // AppDomainIndex
    domain.clr_instance = ReadInstance(reader);
  }
  return record;
}

std::optional<ClrRecord<ClrRuntime>> ReadRuntime(const ClrEventKind& kind, const EventHeader& row) {
  const auto payload = row.payload();
  ByteReader reader(payload);
  auto record = NewRecord<ClrRuntime>(kind, row);
  ClrRuntime& runtime = record.entity;
  runtime.clr_instance = ReadInstance(reader);
  runtime.id = runtime.clr_instance.value_or(0);
  reader.Skip(5 * sizeof(uint16_t));  // SKU and the version of the base class library
  for (int part = 0; part < 4; ++part) {
    if (part != 0) runtime.version += '.';
    runtime.version += std::to_string(reader.Read<uint16_t>());
  }
  runtime.flags = reader.Read<uint32_t>();
  reader.Skip(sizeof(uint8_t));  // StartupMode
  if (reader.failed()) return std::nullopt;
  runtime.command_line = ReadText(reader, payload);
  reader.Skip(sizeof(Guid));  // ComObjectGuid
  if (!reader.failed()) runtime.dll_path = ReadText(reader, payload);
  return record;
}

std::optional<uint16_t> ReadMarkerInstance(const EventHeader& row) {
  ByteReader reader(row.payload());
  return row.version >= 1 ? ReadInstance(reader) : std::nullopt;
}

}  // namespace etwpipe::facts
