#include "formats/schema/context_records.h"

#include "pipeline/byte_reader.h"

namespace etwpipe::schema {
namespace {

// A GUID as two numbers, as LoadAt reads them from its stored bytes.
struct GuidWords {
  uint64_t low = 0;
  uint64_t high = 0;
};

consteval uint64_t HexDigit(char c) { return static_cast<uint64_t>(c >= 'a' ? c - 'a' + 10 : c - '0'); }

consteval GuidWords Words(const char (&text)[37]) {
  // Stored order of the 16 bytes within the 32 digits: the first three fields are little-endian.
  constexpr int kByteOfPair[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
  GuidWords words;
  int at = 0;
  for (int place : kByteOfPair) {
    if (text[at] == '-') ++at;
    const uint64_t byte = HexDigit(text[at]) << 4 | HexDigit(text[at + 1]);
    at += 2;
    if (place < 8) {
      words.low |= byte << (8 * place);
    } else {
      words.high |= byte << (8 * (place - 8));
    }
  }
  return words;
}

enum class Family : uint8_t {
  kNone,
  kEveryRecord,
  kProcess,
  kThread,
  kImage,
  kFileIo,
  kStackWalk,
  kClrRuntime,
  kClrRundown,
  kClrPrivate,
  kClrClassicMethod,
  kClrClassicLoader,
};

Family FamilyOf(const Guid& guid) {
  struct Entry {
    GuidWords words;
    Family family;
  };
  static constexpr Entry kEntries[] = {
      {Words("68fdd900-4a3e-11d1-84f4-0000f80464e3"), Family::kEveryRecord},  // EventTrace
      {Words("01853a65-418f-4f36-aefc-dc0f1d2fd235"), Family::kEveryRecord},  // SystemConfig
      {Words("9b79ee91-b5fd-41c0-a243-4248e266e9d0"), Family::kEveryRecord},  // SystemConfigEx
      {Words("b3e675d7-2554-4f18-830b-2762732560de"), Family::kEveryRecord},  // ImageID
      {Words("bbccf6c1-6cd1-48c4-80ff-839482e37671"), Family::kEveryRecord},  // MetaData
      {Words("3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c"), Family::kProcess},
      {Words("3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c"), Family::kThread},
      {Words("2cb15d1d-5fc1-11d2-abe1-00a0c911f518"), Family::kImage},
      {Words("90cbdc39-4a3e-11d1-84f4-0000f80464e3"), Family::kFileIo},
      {Words("def2fe46-7bd6-4b80-bd94-f57fe20d0ce3"), Family::kStackWalk},
      {Words("e13c0d23-ccbc-4e12-931b-d9cc2eee27e4"), Family::kClrRuntime},
      {Words("a669021c-c450-4609-a035-5af59af4df18"), Family::kClrRundown},
      {Words("763fd754-7086-4dfe-95eb-c01a46faf4ca"), Family::kClrPrivate},
      {Words("0bcd91db-f943-454a-a662-6edbcfbb76d2"), Family::kClrClassicMethod},
      {Words("5a54f4df-d302-4fee-a211-6c2c0c1dcb1a"), Family::kClrClassicLoader},
  };
  const auto low = LoadAt<uint64_t>(guid.bytes.data());
  for (const Entry& entry : kEntries) {
    if (entry.words.low != low) continue;
    return LoadAt<uint64_t>(guid.bytes.data(), 8) == entry.words.high ? entry.family : Family::kNone;
  }
  return Family::kNone;
}

bool Between(unsigned value, unsigned first, unsigned last) { return value >= first && value <= last; }

}  // namespace

bool IsContextRecord(const EventHeader& row, const Guid& provider) {
  const bool has_id = row.kind == HeaderKind::kEvent32 || row.kind == HeaderKind::kEvent64;
  if (has_id && row.id == kEventSourceManifestId) return true;
  const unsigned opcode = row.opcode;
  const unsigned id = has_id ? row.id : 0;
  switch (FamilyOf(provider)) {
    case Family::kNone: return false;
    case Family::kEveryRecord: return true;
    case Family::kProcess: return Between(opcode, 1, 4) || opcode == 39;
    case Family::kThread: return Between(opcode, 1, 4);
    case Family::kImage: return Between(opcode, 2, 4) || opcode == 10;
    case Family::kFileIo: return opcode == 0 || opcode == 32 || opcode == 35 || opcode == 36;
    case Family::kStackWalk: return Between(opcode, 34, 36);
    case Family::kClrRuntime:
      return id == 15 || Between(id, 135, 144) || Between(id, 149, 158) || id == 187 || id == 190;
    case Family::kClrRundown: return Between(id, 141, 161) || id == 187 || id == 188 || id == 280;
    case Family::kClrPrivate: return id == 158;
    case Family::kClrClassicMethod: return Between(opcode, 14, 17) || Between(opcode, 33, 40);
    case Family::kClrClassicLoader: return Between(opcode, 33, 47);
  }
  return false;
}

}  // namespace etwpipe::schema
