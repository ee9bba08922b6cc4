#include "formats/etl/record_builder.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#include "formats/etl/tracelogging_builder.h"

namespace etwpipe::etl {
namespace {

using Bytes = std::vector<uint8_t>;

/// What WriteRecord() writes into a place filled with 0xEE, so that a byte it leaves out shows.
template <typename Fields>
Bytes Written(const Fields& fields, const Bytes& payload) {
  std::vector<std::byte> place(512, std::byte{0xEE});
  const size_t size = WriteRecord(place, fields, std::as_bytes(std::span(payload)));
  Bytes bytes(size);
  std::memcpy(bytes.data(), place.data(), size);
  return bytes;
}

Bytes Concat(std::initializer_list<Bytes> parts) {
  Bytes all;
  for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

const Bytes kPayload = {0xA1, 0xA2, 0xA3};
const Bytes kTid = {0x11, 0x12, 0x13, 0x14};
const Bytes kPid = {0x21, 0x22, 0x23, 0x24};
const Bytes kTicks = {1, 2, 3, 4, 5, 6, 7, 8};
constexpr uint32_t kTidValue = 0x14131211;
constexpr uint32_t kPidValue = 0x24232221;
constexpr int64_t kTicksValue = 0x0807060504030201;
const Bytes kGuidBytes = {0x23, 0x0d, 0xc1, 0xe1, 0xbc, 0xcc, 0x12, 0x4e,
                          0x93, 0x1b, 0xd9, 0xcc, 0x2e, 0xee, 0x27, 0xe4};
Guid SampleGuid() { return GuidOf("e1c10d23-ccbc-4e12-931b-d9cc2eee27e4"); }

TEST(RecordBuilder, SystemRecordHasThirtyTwoByteHeader) {
  SystemFields fields;
  fields.version = 4;
  fields.group = 3;
  fields.opcode = 1;
  fields.tid = kTidValue;
  fields.pid = kPidValue;
  fields.timestamp = kTicksValue;
  fields.kernel_time = 7;
  fields.user_time = 9;
  EXPECT_EQ(Written(fields, kPayload),
            Concat({{4, 0, 0x02, 0xC0, 35, 0, 1, 3}, kTid, kPid, kTicks, {7, 0, 0, 0, 9, 0, 0, 0}, kPayload}));
}

TEST(RecordBuilder, CompactRecordHasNoCpuTimes) {
  SystemFields fields;
  fields.type = kTypeCompact32;
  fields.version = 2;
  fields.group = 5;
  fields.opcode = 36;
  fields.tid = kTidValue;
  fields.pid = kPidValue;
  fields.timestamp = kTicksValue;
  EXPECT_EQ(Written(fields, kPayload), Concat({{2, 0, 0x03, 0xC0, 27, 0, 36, 5}, kTid, kPid, kTicks, kPayload}));
}

TEST(RecordBuilder, PerfInfoRecordPutsPebsThenCountersBeforeThePayload) {
  const std::array<uint64_t, 2> counters = {0xC1, 0xC2};
  SystemFields fields;
  fields.type = kTypePerfInfo64;
  fields.version = 2;
  fields.group = 15;
  fields.opcode = 46;
  fields.timestamp = kTicksValue;
  fields.pebs = 0xBE;
  fields.pmc = counters;
  EXPECT_EQ(Written(fields, kPayload),
            Concat({{2, 0x82, 0x11, 0xC0, 43, 0, 46, 15},
                    kTicks,
                    {0xBE, 0, 0, 0, 0, 0, 0, 0, 0xC1, 0, 0, 0, 0, 0, 0, 0, 0xC2, 0, 0, 0, 0, 0, 0, 0},
                    kPayload}));
}

TEST(RecordBuilder, FullRecordHasClassGuid) {
  FullFields fields;
  fields.type = kTypeFull32;
  fields.opcode = 33;
  fields.level = 2;
  fields.version = 0x0102;
  fields.tid = kTidValue;
  fields.pid = kPidValue;
  fields.timestamp = kTicksValue;
  fields.guid = SampleGuid();
  fields.kernel_time = 5;
  fields.user_time = 6;
  EXPECT_EQ(
      Written(fields, kPayload),
      Concat({{51, 0, 0x0A, 0xC0, 33, 2, 2, 1}, kTid, kPid, kTicks, kGuidBytes, {5, 0, 0, 0, 6, 0, 0, 0}, kPayload}));
}

TEST(RecordBuilder, InstanceRecordAddsInstanceAndParent) {
  InstanceFields fields;
  fields.full.opcode = 1;
  fields.full.guid = SampleGuid();
  fields.instance_id = 0x0A;
  fields.parent_instance_id = 0x0B;
  fields.parent_guid = SampleGuid();
  EXPECT_EQ(Written(fields, kPayload), Concat({{75, 0, 0x15, 0xC0, 1, 0, 0, 0},
                                               Bytes(16, 0),
                                               kGuidBytes,
                                               Bytes(8, 0),
                                               {0x0A, 0, 0, 0, 0x0B, 0, 0, 0},
                                               kGuidBytes,
                                               kPayload}));
}

TEST(RecordBuilder, EventRecordHasDescriptorAndActivity) {
  EventFields fields;
  fields.type = kTypeEvent32;
  fields.tid = kTidValue;
  fields.pid = kPidValue;
  fields.timestamp = kTicksValue;
  fields.provider = SampleGuid();
  fields.id = 0x0201;
  fields.version = 3;
  fields.channel = 4;
  fields.level = 5;
  fields.opcode = 6;
  fields.task = 0x0807;
  fields.keyword = 0x09;
  fields.kernel_time = 0x0C;
  fields.user_time = 0x0D;
  fields.activity = SampleGuid();
  EXPECT_EQ(Written(fields, kPayload), Concat({{83, 0, 0x12, 0xC0, 0, 0, 0, 0},
                                               kTid,
                                               kPid,
                                               kTicks,
                                               kGuidBytes,
                                               {1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0, 0, 0, 0, 0},
                                               {0x0C, 0, 0, 0, 0x0D, 0, 0, 0},
                                               kGuidBytes,
                                               kPayload}));
}

TEST(RecordBuilder, ExtendedItemsAreLinkedAndPaddedToEight) {
  const Bytes sid = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const std::array<ExtendedItem, 2> items = {ExtendedItem{kExtSid, std::as_bytes(std::span(sid))},
                                             ExtendedItem{kExtEventKey, std::as_bytes(std::span(kTicks))}};
  EventFields fields;
  fields.items = items;
  const Bytes record = Written(fields, kPayload);
  ASSERT_EQ(record.size(), 80u + 24 + 16 + 3);
  EXPECT_EQ(record[4], 1) << "EXTENDED_INFO";
  EXPECT_EQ(Bytes(record.begin() + 80, record.end()),
            Concat({{24, 0, 2, 0, 1, 0, 12, 0}, sid, {0, 0, 0, 0}, {16, 0, 10, 0, 0, 0, 8, 0}, kTicks, kPayload}));
}

TEST(RecordBuilder, MessageRecordHasItsOptionsInOrder) {
  MessageFields fields;
  fields.message_number = 17;
  fields.sequence = 0x31;
  fields.guid = SampleGuid();
  fields.timestamp = kTicksValue;
  fields.ids = MessageFields::Ids{kTidValue, kPidValue};
  EXPECT_EQ(Written(fields, kPayload), Concat({{8 + 4 + 16 + 8 + 8 + 3, 0, 0, 0x90, 17, 0, 0xBB, 0},
                                               {0x31, 0, 0, 0},
                                               kGuidBytes,
                                               kTicks,
                                               kTid,
                                               kPid,
                                               kPayload}));
}

TEST(RecordBuilder, MessageRecordWithComponentIdOnly) {
  MessageFields fields;
  fields.message_number = 2;
  fields.component_id = 5;
  fields.pointer_size = 4;
  EXPECT_EQ(Written(fields, kPayload), Concat({{15, 0, 0, 0x90, 2, 0, 0x44, 0}, {5, 0, 0, 0}, kPayload}));
}

TEST(RecordBuilder, TimedErrorAndUnknownRecords) {
  EXPECT_EQ(Written(TimedFields{.value = 9, .timestamp = kTicksValue}, {}),
            Concat({{16, 0, 0, 0xB0, 9, 0, 0, 0}, kTicks}));
  EXPECT_EQ(Written(RawFields{}, kPayload), Concat({{7, 0, 13, 0xC0}, kPayload}));
  EXPECT_EQ(Written(RawFields{.type = 40}, kPayload), Concat({{7, 0, 40, 0xC0}, kPayload}));
}

TEST(RecordBuilder, RefusesWhatDoesNotFit) {
  SystemFields fields;
  std::vector<std::byte> payload(65535 - 32 + 1);
  std::vector<std::byte> place(70000);
  EXPECT_EQ(WriteRecord(place, fields, payload), 0u);
  EXPECT_EQ(WriteRecord(place, fields, std::span(payload).first(65535 - 32)), 65535u);
  EXPECT_EQ(WriteRecord(std::span(place).first(39), fields, std::span(payload).first(8)), 0u);
  EXPECT_EQ(WriteRecord(std::span(place).first(40), fields, std::span(payload).first(8)), 40u);
}

Bytes ToBytes(std::span<const std::byte> bytes) {
  Bytes out(bytes.size());
  if (!out.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

Bytes Text(const std::string& text) { return {text.begin(), text.end()}; }

TEST(TraceLoggingBuilder, MetadataAsSeenInRecordings) {
  // The two fields that etl-format.md 7.1 quotes from recordings.
  TraceLoggingSchema schema("Event");
  schema.Array("Raw Script", InType::kUint16, OutType::kString)
      .Field("boolean_type", InType::kUint8, OutType::kBoolean);
  const Bytes body =
      Concat({{0}, Text("Event"), {0}, Text("Raw Script"), {0, 0xC6, 2}, Text("boolean_type"), {0, 0x84, 3}});
  EXPECT_EQ(ToBytes(schema.metadata()), Concat({{static_cast<uint8_t>(body.size() + 2), 0}, body}));
}

TEST(TraceLoggingBuilder, StructArrayAsSeenInRecordings) {
  TraceLoggingSchema schema("E");
  schema.Struct("S", 2, true).Field("a", InType::kUint32).Field("b", InType::kUnicodeString);
  EXPECT_EQ(ToBytes(schema.metadata()), (Bytes{15, 0, 0, 'E', 0, 'S', 0, 0xD8, 2, 'a', 0, 8, 'b', 0, 1}));
}

TEST(TraceLoggingBuilder, TraitsHoldNameAndGroup) {
  EXPECT_EQ(ToBytes(ProviderTraits("Ab")), (Bytes{5, 0, 'A', 'b', 0}));
  EXPECT_EQ(ToBytes(ProviderTraits("Ab", SampleGuid())), Concat({{24, 0, 'A', 'b', 0, 19, 0, 1}, kGuidBytes}));
}

TEST(TraceLoggingBuilder, PayloadValuesArePacked) {
  PayloadWriter writer;
  writer.Add(uint8_t{1}).Add(uint16_t{2}).Add(uint32_t{3}).Add(uint64_t{4}).AddUnicode("a\xC3\xA4").AddAnsi("xy");
  writer.AddCountedAnsi("z").AddBinary(std::as_bytes(std::span(kPayload))).AddZeros(2).Add(SampleGuid());
  EXPECT_EQ(ToBytes(writer.bytes()), Concat({{1, 2, 0, 3, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0},
                                             {'a', 0, 0xE4, 0, 0, 0},
                                             {'x', 'y', 0},
                                             {1, 0, 'z'},
                                             {3, 0},
                                             kPayload,
                                             {0, 0},
                                             kGuidBytes}));
  EXPECT_EQ(writer.Clear().size(), 0u);
  writer.AddUnicode(std::u16string_view()).AddUnicode(std::string_view()).AddAnsi({}).AddBinary({});
  EXPECT_EQ(ToBytes(writer.bytes()), Bytes(7, 0)) << "empty texts";
}

TEST(TraceLoggingBuilder, PayloadGrowsWithoutLosingBytes) {
  PayloadWriter writer;
  for (uint32_t i = 0; i < 10000; ++i) writer.Add(i);
  ASSERT_EQ(writer.size(), 40000u);
  for (uint32_t i = 0; i < 10000; ++i) ASSERT_EQ(LoadAt<uint32_t>(writer.bytes().data(), 4 * i), i);
}

}  // namespace
}  // namespace etwpipe::etl
