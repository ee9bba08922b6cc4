#include "formats/schema/event_info.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/schema/provider_names.h"
#include "formats/schema/schema_words.h"
#include "formats/schema/utf16.h"
#include "pipeline/byte_reader.h"

namespace etwpipe::schema {
namespace {

using Bytes = std::span<const std::byte>;

constexpr size_t kEventInfoBytes = 112;
constexpr size_t kPropertyBytes = 24;
constexpr size_t kMapInfoBytes = 16;
constexpr size_t kMapEntryBytes = 8;

// DecodingSource of events that a manifest describes.
constexpr uint32_t kManifest = 0;

// Flags of EVENT_PROPERTY_INFO.
constexpr uint32_t kIsStruct = 1;
constexpr uint32_t kLengthIsProperty = 2;
constexpr uint32_t kCountIsProperty = 4;
constexpr uint32_t kFixedLength = 0x10;
constexpr uint32_t kFixedCount = 0x20;

// Flags of EVENT_MAP_INFO.
constexpr uint32_t kValueMap = 1;
constexpr uint32_t kBitMap = 2;

constexpr uint16_t kIpv6Bytes = 16;

// Strings may lie in one another. So that a block cannot grow in memory, all its text is at most this many times its
// bytes.
constexpr size_t kTextPerByte = 4;

// Reads the strings of a block.
class Strings {
 public:
  explicit Strings(Bytes block) : block_(block), left_(kTextPerByte * block.size()) {}

  // The text at `offset`, without blanks around it; empty for offset 0, which means there is none.
  std::string At(uint32_t offset) {
    if (offset == 0 || bad_) return {};
    if (offset >= block_.size()) {
      bad_ = true;
      return {};
    }
    // No string is longer than what is left to spend, with a character more so that the excess shows.
    const Bytes rest = block_.subspan(offset, std::min(block_.size() - offset, left_ + 2));
    size_t used = 0;
    std::string text = Utf16ToUtf8(rest, &used);
    const bool ended = used >= 2 && LoadAt<uint16_t>(rest.data(), used - 2) == 0;
    if (!ended || used > left_) {
      bad_ = true;
      return {};
    }
    left_ -= used;
    const size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
    const size_t end = text.find_last_not_of(" \t\r\n") + 1;
    return begin < end ? text.substr(begin, end - begin) : std::string();
  }

  // True once a string was outside the block or without an end.
  bool bad() const { return bad_; }

 private:
  Bytes block_;
  size_t left_;
  bool bad_ = false;
};

bool IsSigned(InType in) {
  return in == InType::kInt8 || in == InType::kInt16 || in == InType::kInt32 || in == InType::kInt64;
}
bool IsUnsigned(InType in) {
  return in == InType::kUInt8 || in == InType::kUInt16 || in == InType::kUInt32 || in == InType::kUInt64;
}
bool IsHex(InType in) { return in == InType::kHexInt32 || in == InType::kHexInt64 || in == InType::kPointer; }

// The out-type of a TDH_OUTTYPE number; kDefault where it says no more than the in-type does.
OutType OutTypeOfNumber(InType in, uint16_t number) {
  switch (number) {
    case 1:    // STRING
    case 300:  // REDUCEDSTRING
      return IsUtf16(in) || IsNarrowText(in) ? OutType::kDefault : OutType::kString;
    case 2:   // DATETIME
    case 33:  // CULTURE_INSENSITIVE_DATETIME
    case 38:  // DATETIME_UTC
      return in == InType::kFileTime || in == InType::kSystemTime ? OutType::kDefault : OutType::kDateTime;
    case 3:  // BYTE, SHORT, INT, LONG
    case 5:
    case 7:
    case 9: return IsSigned(in) ? OutType::kDefault : OutType::kSigned;
    case 4:  // UNSIGNEDBYTE, UNSIGNEDSHORT, UNSIGNEDINT, UNSIGNEDLONG
    case 6:
    case 8:
    case 10: return IsUnsigned(in) ? OutType::kDefault : OutType::kUnsigned;
    case 13: return in == InType::kBoolean ? OutType::kDefault : OutType::kBoolean;
    case 16:  // HEXINT8 .. HEXINT64
    case 17:
    case 18:
    case 19: return IsHex(in) ? OutType::kDefault : OutType::kHex;
    case 20: return OutType::kPid;
    case 21: return OutType::kTid;
    case 22: return OutType::kPort;
    case 23: return OutType::kIpv4;
    case 24: return OutType::kIpv6;
    case 25: return OutType::kSocketAddress;
    case 28: return OutType::kXml;
    case 29:  // ERRORCODE
    case 30: return OutType::kWin32Error;
    case 31: return OutType::kNtStatus;
    case 32: return OutType::kHResult;
    case 34: return OutType::kJson;
    case 35: return OutType::kUtf8;
    case 36: return OutType::kPkcs7;
    case 37: return OutType::kCodePointer;
    case 301: return OutType::kNoPrint;
    default: return OutType::kDefault;
  }
}

bool HasLength(InType in) {
  return in == InType::kBinary || in == InType::kUnicodeString || in == InType::kAnsiString ||
         in == InType::kRestUtf16 || in == InType::kRestAnsi;
}

// Fills in what one EVENT_PROPERTY_INFO says; false for an in-type that does not exist.
bool ReadProperty(const std::byte* info, Property& property) {
  const auto flags = LoadAt<uint32_t>(info, 0);
  const auto count = LoadAt<uint16_t>(info, 16);
  const auto length = LoadAt<uint16_t>(info, 18);
  if ((flags & kCountIsProperty) != 0) {
    property.count = Extent::kField;
    property.count_value = count;
  } else if ((flags & kFixedCount) != 0 || count > 1) {
    property.count = Extent::kFixed;
    property.count_value = count;
  }
  if ((flags & kIsStruct) != 0) {
    property.in = InType::kStruct;
    property.first_member = LoadAt<uint16_t>(info, 8);
    property.member_count = LoadAt<uint16_t>(info, 10);
    return true;
  }
  property.in = InType{LoadAt<uint16_t>(info, 8)};
  if (property.in == InType::kStruct || property.in == InType::kPad || WordOf(property.in).empty()) return false;
  property.out = OutTypeOfNumber(property.in, LoadAt<uint16_t>(info, 10));
  // The types of one size state it as their length, too.
  if (!HasLength(property.in)) return true;
  if ((flags & kLengthIsProperty) != 0) {
    property.length = Extent::kField;
    property.length_value = length;
  } else if ((flags & kFixedLength) != 0 || length != 0 || property.in == InType::kBinary) {
    property.length = Extent::kFixed;
    property.length_value = length;
    // A manifest need not state what every IPv6 address has.
    if (length == 0 && property.out == OutType::kIpv6) property.length_value = kIpv6Bytes;
  }
  return true;
}

// A name as PerfView makes it an identifier.
std::string Identifier(std::string name) {
  std::erase(name, ' ');
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::string NameOf(const EventSchema& schema) {
  if (schema.task_name.empty()) {
    return schema.symbol.empty() ? fmt::format("EventID({})", schema.key.number) : schema.symbol;
  }
  std::string name = Identifier(schema.task_name);
  if (schema.opcode != 0 && !schema.opcode_name.empty()) name += '/' + Identifier(schema.opcode_name);
  return name;
}

}  // namespace

Result<EventInfo> ReadEventInfo(Bytes payload) {
  if (payload.size() < kEventInfoBytes) return Status::Input("event info: cut inside its header");
  const std::byte* block = payload.data();
  const auto properties = LoadAt<uint32_t>(block, 100);
  const auto top_level = LoadAt<uint32_t>(block, 104);
  if (LoadAt<uint32_t>(block, 48) != kManifest) return Status::Input("event info: not of a manifest event");
  if (properties > kMaxProperties || top_level > properties ||
      properties > (payload.size() - kEventInfoBytes) / kPropertyBytes) {
    return Status::Input(fmt::format("event info: {} properties do not fit in {} bytes", properties, payload.size()));
  }

  EventInfo info;
  info.schema = std::make_shared<EventSchema>();
  EventSchema& schema = *info.schema;
  Strings strings(payload);
  auto provider = std::make_shared<ProviderSchema>();
  provider->guid = LoadAt<Guid>(block, 0);
  provider->name = strings.At(LoadAt<uint32_t>(block, 52));
  if (provider->name.empty()) provider->name = NameOrGuid(provider->guid);
  schema.provider = std::move(provider);
  const auto version = LoadAt<uint8_t>(block, 34);
  schema.key = {false, LoadAt<uint16_t>(block, 32), version, version};
  schema.origin = SchemaOrigin::kEventInfo;
  schema.level = LoadAt<uint8_t>(block, 36);
  schema.opcode = LoadAt<uint8_t>(block, 37);
  schema.task = LoadAt<uint16_t>(block, 38);
  schema.keyword = LoadAt<uint64_t>(block, 40);
  schema.channel_name = strings.At(LoadAt<uint32_t>(block, 60));
  schema.task_name = strings.At(LoadAt<uint32_t>(block, 68));
  schema.opcode_name = strings.At(LoadAt<uint32_t>(block, 72));
  // Windows' own opcodes have a prefix.
  if (schema.opcode_name.starts_with("win:")) schema.opcode_name.erase(0, 4);
  schema.message = strings.At(LoadAt<uint32_t>(block, 76));
  schema.symbol = strings.At(LoadAt<uint32_t>(block, 92));
  schema.name = NameOf(schema);
  schema.top_level = static_cast<uint16_t>(top_level);

  for (uint16_t i = 0; i < properties; ++i) {
    const std::byte* at = block + kEventInfoBytes + i * kPropertyBytes;
    Property property;
    property.name = strings.At(LoadAt<uint32_t>(at, 4));
    if (!ReadProperty(at, property)) {
      return Status::Input(fmt::format("event info: {}: property '{}' has the unknown in-type {}", schema.name,
                                       property.name, LoadAt<uint16_t>(at, 8)));
    }
    const auto map_name = LoadAt<uint32_t>(at, 12);
    if (map_name != 0 && property.in != InType::kStruct) info.map_names.emplace_back(i, strings.At(map_name));
    schema.properties.push_back(std::move(property));
  }
  if (strings.bad()) return Status::Input(fmt::format("event info: {}: a text is not inside the block", schema.name));
  return info;
}

Result<EventMapInfo> ReadEventMapInfo(Bytes payload) {
  if (payload.size() < sizeof(Guid) + kMapInfoBytes) return Status::Input("event map: cut inside its header");
  const Bytes block = payload.subspan(sizeof(Guid));
  const auto flag = LoadAt<uint32_t>(block.data(), 4);
  const auto entries = LoadAt<uint32_t>(block.data(), 8);
  Strings strings(block);
  auto map = std::make_shared<ValueMap>();
  map->name = strings.At(LoadAt<uint32_t>(block.data(), 0));
  map->bits = flag == kBitMap;
  if (flag != kValueMap && flag != kBitMap) {
    return Status::Input(fmt::format("event map: '{}' is of the unknown kind {}", map->name, flag));
  }
  if (entries > (block.size() - kMapInfoBytes) / kMapEntryBytes) {
    return Status::Input(fmt::format("event map: {} entries do not fit in {} bytes", entries, block.size()));
  }
  for (uint32_t i = 0; i < entries; ++i) {
    const std::byte* entry = block.data() + kMapInfoBytes + i * kMapEntryBytes;
    map->entries.push_back({LoadAt<uint32_t>(entry, 4), strings.At(LoadAt<uint32_t>(entry, 0))});
  }
  if (map->name.empty() || strings.bad()) {
    return Status::Input(fmt::format("event map: '{}': a text is not inside the block", map->name));
  }
  return EventMapInfo{LoadAt<Guid>(payload.data()), std::move(map)};
}

void EventInfoCollector::AddEvent(Bytes payload) {
  if (!HasRoom(payload.size())) return;
  auto info = ReadEventInfo(payload);
  if (!info.ok()) return Problem(std::string(info.status().message()));
  const EventSchema& schema = *info->schema;
  if (events_.try_emplace({schema.provider->guid, schema.key.number, schema.key.first_version}, *info).second) {
    bytes_ += payload.size();
  }
}

void EventInfoCollector::AddMap(Bytes payload) {
  if (!HasRoom(payload.size())) return;
  auto info = ReadEventMapInfo(payload);
  if (!info.ok()) return Problem(std::string(info.status().message()));
  if (maps_.try_emplace({info->provider, info->map->name}, info->map).second) bytes_ += payload.size();
}

bool EventInfoCollector::HasRoom(size_t bytes) {
  if (bytes_ + bytes <= kMaxBytes) return true;
  Problem(fmt::format("more than {} bytes of event info", kMaxBytes));
  return false;
}

void EventInfoCollector::Problem(std::string text) {
  if (std::find(problems_.begin(), problems_.end(), text) != problems_.end()) return;
  if (problems_.size() < kMaxProblems) {
    problems_.push_back(std::move(text));
  } else {
    ++more_problems_;
  }
}

std::vector<std::shared_ptr<const EventSchema>> EventInfoCollector::Finish(std::vector<std::string>& problems) {
  std::vector<std::shared_ptr<const EventSchema>> schemas;
  std::shared_ptr<const ProviderSchema> provider;
  for (auto& [id, info] : events_) {
    EventSchema& schema = *info.schema;
    // Events of a provider follow each other here.
    if (provider == nullptr || *provider != *schema.provider) provider = schema.provider;
    schema.provider = provider;
    for (const auto& [property, name] : info.map_names) {
      const auto map = maps_.find({provider->guid, name});
      if (map == maps_.end()) {
        Problem(fmt::format("{}/{}: there is no map '{}'", provider->name, schema.name, name));
        continue;
      }
      const auto known = std::find(schema.maps.begin(), schema.maps.end(), map->second);
      schema.properties[property].map = static_cast<uint16_t>(known - schema.maps.begin());
      if (known == schema.maps.end()) schema.maps.push_back(map->second);
    }
    if (const Status status = schema.Finish(); !status.ok()) {
      Problem("event info: " + std::string(status.message()));
    } else {
      schemas.push_back(std::move(info.schema));
    }
  }
  if (more_problems_ != 0) problems_.push_back(fmt::format("{} more problems", more_problems_));
  problems.insert(problems.end(), problems_.begin(), problems_.end());
  *this = {};
  return schemas;
}

}  // namespace etwpipe::schema
