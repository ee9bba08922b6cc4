// A trace of events that the program has schemas of.
#include <algorithm>
#include <random>
#include <string_view>

#include "formats/etl/layout.h"
#include "formats/etl/record_builder.h"
#include "pipeline/byte_reader.h"
#include "tests/formats/etwp/synthetic_trace.h"

namespace etwpipe::test {
namespace {

constexpr uint16_t kCpus = 3;
constexpr std::string_view kClrProvider = "e13c0d23-ccbc-4e12-931b-d9cc2eee27e4";  // Microsoft-Windows-DotNETRuntime

template <typename Fields>
std::vector<std::byte> Record(const Fields& fields, std::span<const std::byte> payload) {
  std::vector<std::byte> record(etl::RecordSize(fields, payload.size()));
  record.resize(etl::WriteRecord(record, fields, payload));
  return record;
}

// A record of the CLR or of the kernel whose payload fits its schema.
std::vector<std::byte> MakeTypedRecord(std::mt19937_64& random, size_t choice, int64_t timestamp) {
  std::vector<std::byte> payload;
  const auto put = [&](auto value) {
    const size_t at = payload.size();
    payload.resize(at + sizeof value);
    StoreAt(payload.data(), at, value);
  };
  const auto text = [&](std::u16string_view value) {
    for (const char16_t unit : value) put(static_cast<uint16_t>(unit));
    put(uint16_t{0});
  };
  constexpr std::u16string_view kNames[] = {u"System.Exception", u"", u"C:\\a\u00e4\U0001F600.dll"};
  if (choice % 3 == 0) {
    etl::SystemFields fields;  // FileIO/Name
    fields.group = 4;
    fields.version = 2;
    fields.tid = static_cast<uint32_t>(random() % 3 * 4);
    fields.pid = 4;
    fields.timestamp = timestamp;
    put(uint64_t{0xFFFF800000000000 + random() % 9 * 64});
    text(kNames[random() % 3]);
    return Record(fields, payload);
  }
  etl::EventFields fields;
  fields.provider = *ParseGuid(kClrProvider);
  fields.tid = static_cast<uint32_t>(random() % 3 * 4);
  fields.pid = 8;
  fields.timestamp = timestamp;
  fields.channel = 0;
  std::vector<std::byte> stack(8 + random() % 3 * 8);
  std::generate(stack.begin(), stack.end(), [&] { return static_cast<std::byte>(random()); });
  const etl::ExtendedItem items[] = {{etl::kExtStackTrace64, stack}};
  if (choice % 3 == 1) {  // Method/ILToNativeMap
    fields.id = 190;
    fields.level = 5;
    fields.task = 9;
    fields.opcode = 87;
    fields.keyword = 0x20000;
    put(uint64_t{0x7FF800000000 + random() % 20 * 24});
    put(uint64_t{0});
    put(uint8_t{0});
    const auto count = static_cast<uint16_t>(random() % 6);
    put(count);
    for (uint32_t i = 0; i < count; ++i)
      put(i == 0 ? uint32_t{0xFFFFFFFE} : static_cast<uint32_t>(i * 3 + random() % 2));
    for (uint32_t i = 0; i < count; ++i) put(static_cast<uint32_t>(i * 11 + random() % 4));
    put(uint16_t{9});
  } else {  // Exception/Start
    fields.id = 80;
    fields.version = 1;
    fields.level = 2;
    fields.task = 7;
    fields.opcode = 1;
    fields.keyword = 0x8000;
    fields.items = items;
    text(kNames[random() % 3]);
    text(kNames[random() % 3]);
    put(uint64_t{0x7FF812345678 + random() % 5});
    put(uint32_t{0x80131500});
    put(uint16_t{16});
    put(uint16_t{9});
    // What a schema does not cover stays all the same.
    payload.resize(payload.size() + random() % 4 * (random() % 2));
  }
  return Record(fields, payload);
}

}  // namespace

SyntheticTrace MakeTypedTrace(size_t events) {
  SyntheticTrace trace = MakeTrace(0, 0);  // for what it says of itself
  std::mt19937_64 random(17);
  int64_t now = 1000;
  std::vector<uint64_t> offsets(kCpus, 9);
  for (size_t i = 0; i < events; ++i) {
    OwnedEvent event;
    event.cpu = static_cast<uint16_t>(random() % kCpus);
    event.timestamp = now += static_cast<int64_t>(random() % 5000);
    event.record = MakeTypedRecord(random, random(), event.timestamp);
    uint64_t& offset = offsets[event.cpu];
    event.instance_id = MakeInstanceId(0, event.cpu + 1, 8 * offset);
    offset += etl::Align8(event.record.size()) / 8;
    trace.events.push_back(std::move(event));
  }
  return trace;
}

}  // namespace etwpipe::test
