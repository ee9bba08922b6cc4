// Fields stand one after the other, a struct before its members, and each struct tells how many fields are its own.
// They are read into a tree without recursion, so that depth costs no stack; the tree is then laid out level by level,
// as the property model wants members behind all structs that hold them.
#include "formats/schema/tracelogging.h"

#include <fmt/format.h>
#include <utf8.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/schema/provider_names.h"
#include "formats/schema/utf16.h"
#include "pipeline/byte_reader.h"

namespace etwpipe::schema {
namespace {

using Bytes = std::span<const std::byte>;

constexpr uint8_t kChain = 0x80;  // of in-types, out-types and tags: another byte follows
constexpr uint8_t kTypeBits = 0x1F;
constexpr uint8_t kOutBits = 0x7F;
constexpr uint8_t kCountBits = 0x60;
constexpr uint8_t kConstantCount = 0x20;
constexpr uint8_t kVariableCount = 0x40;
constexpr uint8_t kCustom = 0x60;

constexpr uint8_t kOpcodeStart = 1;
constexpr uint8_t kOpcodeStop = 2;

OutType OutTypeOfNumber(uint8_t number) {
  switch (number) {
    case 1: return OutType::kNoPrint;
    case 2: return OutType::kString;
    case 3: return OutType::kBoolean;
    case 4: return OutType::kHex;
    case 5: return OutType::kPid;
    case 6: return OutType::kTid;
    case 7: return OutType::kPort;
    case 8: return OutType::kIpv4;
    case 9: return OutType::kIpv6;
    case 10: return OutType::kSocketAddress;
    case 11: return OutType::kXml;
    case 12: return OutType::kJson;
    case 13: return OutType::kWin32Error;
    case 14: return OutType::kNtStatus;
    case 15: return OutType::kHResult;
    case 17: return OutType::kSigned;
    case 18: return OutType::kUnsigned;
    case 16:  // FILETIME
    case 33:  // DATETIME_CULTURE_INSENSITIVE
    case 38:  // DATETIME_UTC
      return OutType::kDateTime;
    case 35: return OutType::kUtf8;
    case 36: return OutType::kPkcs7;
    case 37: return OutType::kCodePointer;
    default: return OutType::kDefault;
  }
}

// The text up to its NUL, as valid UTF-8; nullopt if the bytes end before it.
std::optional<std::string> ReadText(ByteReader& reader, Bytes bytes) {
  const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(reader.position());
  const auto end = std::find(begin, bytes.end(), std::byte{0});
  if (end == bytes.end()) return std::nullopt;
  const auto* text = reinterpret_cast<const char*>(bytes.data() + reader.position());
  const auto size = static_cast<size_t>(end - begin);
  std::string valid;
  utf8::replace_invalid(text, text + size, std::back_inserter(valid), kReplacementCharacter);
  reader.Skip(size + 1);
  return valid;
}

void SkipTags(ByteReader& reader) {
  while (!reader.failed() && (reader.Read<uint8_t>() & kChain) != 0) {
  }
}

// A field and, for structs, the fields in it, as places in the list of all.
struct Field {
  Property property;
  std::vector<size_t> members;
};

// Reads a metadata blob.
class Blob {
 public:
  explicit Blob(Bytes metadata) : bytes_(metadata), reader_(metadata) {
    const auto size = reader_.Read<uint16_t>();
    if (size > metadata.size()) note_ = fmt::format("metadata cut: {} of {} bytes", metadata.size(), size);
    bytes_ = metadata.first(std::min<size_t>(size, metadata.size()));
    reader_ = ByteReader(bytes_);
    reader_.Skip(sizeof size);
    SkipTags(reader_);
  }

  std::optional<std::string> Name() { return ReadText(reader_, bytes_); }

  // Reads all fields; what is not whole is left out, and note() says so.
  void ReadFields() {
    while (reader_.remaining() != 0 && ReadField()) {
    }
    if (note_.empty() && !open_.empty()) {
      note_ = fmt::format("metadata bad: struct '{}' lacks members", fields_[open_.back().field].property.name);
    }
    if (!open_.empty() && !fields_[0].members.empty()) fields_[0].members.pop_back();
  }

  // Moves the fields into `schema`.
  void Layout(EventSchema& schema) {
    std::vector<size_t> order = fields_[0].members;
    schema.top_level = static_cast<uint16_t>(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      Field& field = fields_[order[i]];
      field.property.first_member = static_cast<uint16_t>(field.members.empty() ? 0 : order.size());
      field.property.member_count = static_cast<uint16_t>(field.members.size());
      order.insert(order.end(), field.members.begin(), field.members.end());
      schema.properties.push_back(std::move(field.property));
    }
  }

  const std::string& note() const { return note_; }

 private:
  // A struct that waits for members.
  struct Open {
    size_t field;
    uint8_t missing;
  };

  bool Stop(std::string_view what) {
    if (note_.empty()) note_ = fmt::format("metadata bad: {}", what);
    return false;
  }

  bool ReadField() {
    auto name = ReadText(reader_, bytes_);
    const auto in = reader_.Read<uint8_t>();
    const auto out = (in & kChain) != 0 ? reader_.Read<uint8_t>() : uint8_t{0};
    if ((out & kChain) != 0) SkipTags(reader_);
    const bool constant = (in & kConstantCount) != 0;
    const auto count = constant ? reader_.Read<uint16_t>() : uint16_t{0};
    const bool custom = (in & kCountBits) == kCustom;
    if (custom) reader_.Skip(count);
    if (!name || reader_.failed()) return Stop("the last field is cut");
    if (fields_.size() > kMaxProperties) return Stop(fmt::format("more than {} fields", kMaxProperties));

    Field field;
    field.property.name = std::move(*name);
    field.property.in = InType{static_cast<uint16_t>(in & kTypeBits)};
    if (!custom && field.property.in > InType::kCountedBinary) {
      return Stop(fmt::format("field '{}' has the unknown in-type {}", field.property.name, in & kTypeBits));
    }
    if (custom) {
      field.property.in = InType::kCountedBinary;
    } else if (constant) {
      field.property.count = Extent::kFixed;
      field.property.count_value = count;
    } else if ((in & kCountBits) == kVariableCount) {
      field.property.count = Extent::kPrefix16;
    }
    if (field.property.in == InType::kStruct) return Append(std::move(field), out & kOutBits);
    if (field.property.in == InType::kBinary) field.property.length = Extent::kPrefix16;
    field.property.out = OutTypeOfNumber(out & kOutBits);
    return Append(std::move(field), 0);
  }

  // Puts a field into the innermost struct that lacks members, and closes the structs it completes.
  bool Append(Field field, uint8_t members) {
    if (members != 0 && open_.size() == static_cast<size_t>(EventSchema::kMaxDepth)) {
      return Stop("structs are nested too deep");
    }
    fields_[open_.empty() ? 0 : open_.back().field].members.push_back(fields_.size());
    if (!open_.empty()) --open_.back().missing;
    if (members != 0) open_.push_back({fields_.size(), members});
    fields_.push_back(std::move(field));
    while (!open_.empty() && open_.back().missing == 0) open_.pop_back();
    return true;
  }

  Bytes bytes_;
  ByteReader reader_;
  std::string note_;
  std::vector<Field> fields_{1};  // the first stands for the event
  std::vector<Open> open_;
};

// The provider's name in its traits; nullopt if they do not hold one.
std::optional<std::string> NameInTraits(Bytes traits) {
  ByteReader reader(traits);
  reader.Skip(sizeof(uint16_t));
  if (reader.failed()) return std::nullopt;
  return ReadText(reader, traits);
}

// Start and stop share an event name; PerfView tells them apart by the opcode.
std::string NameWithOpcode(const std::string& name, uint8_t opcode) {
  if (opcode != kOpcodeStart && opcode != kOpcodeStop) return name;
  const std::string_view word = opcode == kOpcodeStart ? "Start" : "Stop";
  return name.ends_with(word) ? name : fmt::format("{}/{}", name, word);
}

}  // namespace

Result<std::shared_ptr<const EventSchema>> SchemaFromTraceLogging(const SchemaRequest& request) {
  Blob blob(request.metadata);
  auto name = blob.Name();
  if (!name) return Status::Input("TraceLogging metadata: the event's name is cut");
  blob.ReadFields();

  auto provider = std::make_shared<ProviderSchema>();
  provider->guid = request.provider;
  provider->name = NameInTraits(request.traits).value_or(std::string());
  if (provider->name.empty()) provider->name = NameOrGuid(request.provider);

  auto schema = std::make_shared<EventSchema>();
  schema->provider = std::move(provider);
  schema->key = {false, request.row.id, request.row.version, request.row.version};
  schema->origin = SchemaOrigin::kTraceLogging;
  schema->name = NameWithOpcode(*name, request.row.opcode);
  schema->opcode = request.row.opcode;
  schema->note = blob.note();
  blob.Layout(*schema);
  ETWPIPE_RETURN_IF_ERROR(schema->Finish());
  return std::shared_ptr<const EventSchema>(std::move(schema));
}

std::shared_ptr<const EventSchema> TraceLoggingSupplier::Find(const SchemaRequest& request) const {
  if (request.metadata.empty()) return nullptr;
  auto schema = SchemaFromTraceLogging(request);
  return schema.ok() ? *schema : nullptr;
}

}  // namespace etwpipe::schema
