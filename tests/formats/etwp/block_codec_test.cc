#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>

#include "formats/etl/layout.h"
#include "formats/etl/record_builder.h"
#include "formats/etwp/block_decoder.h"
#include "formats/etwp/block_encoder.h"
#include "formats/etwp/frame.h"
#include "pipeline/byte_reader.h"
#include "tests/formats/etwp/encodings.h"
#include "tests/formats/etwp/synthetic_trace.h"

namespace etwpipe::etwp {
namespace {

using test::MakeTrace;
using test::OwnedEvent;

// A block of a trace and the dictionary it needs.
class BlockCodec : public testing::Test {
 protected:
  void Load(const std::vector<OwnedEvent>& events) {
    for (const auto& event : events) {
      EventHeader row;
      row.record = event.record.data();
      row.record_size = static_cast<uint16_t>(event.record.size());
      row.timestamp = event.timestamp;
      auto& made = templates_.emplace_back(RecordTemplate::FromRow(row));
      const uint32_t number = numbers_.KindNumber(made, made.Hash(), frame_);
      events_.rows.push_back(
          {row.record, event.instance_id, event.timestamp, &made, number, row.record_size, event.cpu, 0});
    }
    EXPECT_EQ(dictionary_.Add(frame_), "");
  }
  v1::Block Encode(const std::vector<OwnedEvent>& events) {
    events_ = {};
    Load(events);
    v1::Block block;
    EXPECT_TRUE(encoder_.Encode(events_, 3, block).ok());
    return block;
  }
  void ExpectBack(const std::vector<OwnedEvent>& events, const v1::Block& block) {
    DecodedBlock decoded;
    ASSERT_FALSE(Decode(block, decoded));
    ExpectSame(events, decoded);
  }
  std::optional<DecodeError> Decode(const v1::Block& block, DecodedBlock& decoded) {
    BlockNames names;
    if (auto error = FindNames(block, dictionary_, names)) return error;
    return decoder_.Decode(block, names, decoded);
  }
  static void ExpectSame(const std::vector<OwnedEvent>& events, const DecodedBlock& decoded) {
    ASSERT_EQ(decoded.rows.size(), events.size());
    for (size_t i = 0; i < events.size(); ++i) {
      const auto record = decoded.record(decoded.rows[i]);
      ASSERT_TRUE(std::equal(record.begin(), record.end(), events[i].record.begin(), events[i].record.end())) << i;
      ASSERT_EQ(decoded.rows[i].instance_id, events[i].instance_id);
      ASSERT_EQ(decoded.rows[i].timestamp, events[i].timestamp);
      ASSERT_EQ(decoded.rows[i].cpu, events[i].cpu);
    }
  }

  std::deque<RecordTemplate> templates_;
  DictionaryWriter numbers_;
  v1::Dictionary frame_;
  Dictionary dictionary_;
  BlockEvents events_;
  BlockEncoder encoder_;
  BlockDecoder decoder_;
};

TEST_F(BlockCodec, KindsStoredRawComeBackToo) {
  const auto trace = MakeTrace(2'000, 21);
  Load(trace.events);
  encoder_.set_raw_kinds({1, 2, 3, 5, 8});
  v1::Block block;
  ASSERT_TRUE(encoder_.Encode(events_, 3, block).ok());
  EXPECT_EQ(block.kinds(0), kRawKind);
  DecodedBlock decoded;
  ASSERT_FALSE(Decode(block, decoded));
  ExpectSame(trace.events, decoded);
}

TEST_F(BlockCodec, AWalkTellsOfTheSameEventsAndEndsWhereItIsTold) {
  const auto trace = MakeTrace(2'000, 24);
  Load(trace.events);
  v1::Block block;
  ASSERT_TRUE(encoder_.Encode(events_, 3, block).ok());
  BlockNames names;
  ASSERT_FALSE(FindNames(block, dictionary_, names));
  DecodedBlock decoded;
  for (const size_t end : {size_t{0}, size_t{1}, size_t{1'999}, size_t{2'000}}) {
    size_t seen = 0;
    const auto error = decoder_.Walk(
        block, names,
        [&](const DecodedBlock::Row& row, const std::byte* record) {
          if (seen == end) return false;
          const OwnedEvent& event = trace.events[seen++];
          EXPECT_EQ(row.instance_id, event.instance_id);
          EXPECT_EQ(row.timestamp, event.timestamp);
          EXPECT_TRUE(std::equal(event.record.begin(), event.record.end(), record, record + row.size));
          return true;
        },
        decoded);
    EXPECT_FALSE(error);
    EXPECT_EQ(seen, end);
    EXPECT_TRUE(decoded.rows.empty());
  }
  // Kept events come from the same decoder as before.
  ASSERT_FALSE(Decode(block, decoded));
  ExpectSame(trace.events, decoded);
}

// Payloads of one or two sizes, of a kind without a schema: counters suit columns by place, noise does not.
TEST_F(BlockCodec, PayloadsAreRows) {
  for (const bool counters : {true, false}) {
    for (const bool equal : {true, false}) {
      std::mt19937 random(9);
      std::vector<OwnedEvent> events;
      for (uint32_t i = 0; i < 500; ++i) {
        etl::SystemFields fields;
        fields.timestamp = i;
        std::vector<std::byte> payload(24 + (equal ? 0 : i % 2));
        for (size_t at = 0; at < payload.size(); ++at) {
          payload[at] = static_cast<std::byte>(!counters ? random() : at % 6 == 0 ? i / (1 + at) : at);
        }
        OwnedEvent event{MakeInstanceId(0, 3, 72 + uint64_t{i} * 64),
                         i,
                         2,
                         std::vector<std::byte>(etl::kSystemHeaderSize + payload.size()),
                         {}};
        ASSERT_NE(etl::WriteRecord(event.record, fields, payload), 0u);
        events.push_back(std::move(event));
      }
      const v1::Block block = Encode(events);
      EXPECT_EQ(test::Names(block.columns(), v1::ENCODING_TRANSPOSED), counters && equal);
      EXPECT_EQ(test::Names(block.columns(), v1::ENCODING_GROUPED), counters && !equal);
      ExpectBack(events, block);
    }
  }
}

TEST_F(BlockCodec, ConsecutiveIdsOfACpuAreFree) {
  std::vector<OwnedEvent> events;
  uint64_t offset = 72;
  for (int i = 0; i < 1000; ++i) {
    etl::SystemFields fields;
    fields.timestamp = i;
    OwnedEvent event{MakeInstanceId(0, 3, offset), i, 2, std::vector<std::byte>(static_cast<size_t>(32 + i % 40)), {}};
    const std::vector<std::byte> payload(static_cast<size_t>(i % 40));
    ASSERT_NE(etl::WriteRecord(event.record, fields, payload), 0u);
    offset += etl::Align8(event.record.size());
    events.push_back(std::move(event));
  }
  ColumnReader columns;
  ASSERT_FALSE(columns.Open(Encode(events).columns()));
  std::vector<uint64_t> ids;
  ASSERT_TRUE(columns.Numbers(v1::COLUMN_INSTANCE_ID, 0, events.size(), ids));
  EXPECT_NE(ids[0], 0u);
  EXPECT_TRUE(std::all_of(ids.begin() + 1, ids.end(), [](uint64_t id) { return id == 0; }));
}

// Times that only grow thread by thread, while threads change all the time.
TEST_F(BlockCodec, ProcessorTimesAreToldByThread) {
  std::mt19937 random(10);
  std::vector<OwnedEvent> events;
  uint32_t kernel[50];
  for (auto& time : kernel) time = static_cast<uint32_t>(random());
  for (uint32_t i = 0; i < 2'000; ++i) {
    const auto thread = static_cast<uint32_t>(random() % 50);
    kernel[thread] += static_cast<uint32_t>(random() % 2);
    etl::SystemFields fields;
    fields.timestamp = i;
    fields.tid = 1'000 + thread;
    fields.pid = thread / 8;
    fields.kernel_time = kernel[thread];
    OwnedEvent event{MakeInstanceId(0, 3, 72 + uint64_t{i} * 32), i, 2, std::vector<std::byte>(40), {}};
    ASSERT_NE(etl::WriteRecord(event.record, fields, std::vector<std::byte>(8)), 0u);
    events.push_back(std::move(event));
  }
  const v1::Block block = Encode(events);
  ColumnReader columns;
  ASSERT_FALSE(columns.Open(block.columns()));
  EXPECT_EQ(columns.PredictionOf(v1::COLUMN_KERNEL_TIME, 0), 1u);
  EXPECT_TRUE(test::Names(block.columns(), v1::ENCODING_PREDICTIONS));
  ExpectBack(events, block);
}

TEST_F(BlockCodec, MissingDictionaryEntryIsAnErrorNotAnEvent) {
  const auto trace = MakeTrace(100, 22);
  Load(trace.events);
  v1::Block block;
  ASSERT_TRUE(encoder_.Encode(events_, 3, block).ok());
  const Dictionary empty;
  BlockNames names;
  EXPECT_TRUE(FindNames(block, empty, names));
}

// Every field of the block, and every column, changed in turn: an error or the events as they were, never others.
TEST_F(BlockCodec, ContradictionsAreErrors) {
  const auto trace = MakeTrace(300, 23);
  Load(trace.events);
  v1::Block good;
  ASSERT_TRUE(encoder_.Encode(events_, 3, good).ok());
  DecodedBlock decoded;
  const auto expect_error = [&](const char* what, auto change) {
    v1::Block block = good;
    change(block);
    EXPECT_TRUE(Decode(block, decoded)) << what;
  };
  expect_error("events", [](v1::Block& b) { b.set_events(b.events() + 1); });
  expect_error("no events", [](v1::Block& b) { b.set_events(0); });
  expect_error("huge events", [](v1::Block& b) { b.set_events(0xFFFFFFFF); });
  expect_error("record bytes", [](v1::Block& b) { b.set_record_bytes(b.record_bytes() + 1); });
  expect_error("huge record bytes", [](v1::Block& b) { b.set_record_bytes(~uint64_t{0}); });
  expect_error("batches", [](v1::Block& b) { b.add_batch_events(1); });
  expect_error("no batches", [](v1::Block& b) { b.clear_batch_events(); });
  expect_error("kinds", [](v1::Block& b) { b.mutable_kinds()->RemoveLast(); });
  expect_error("unknown kind", [](v1::Block& b) { b.set_kinds(0, 60000); });
  expect_error("columns", [](v1::Block& b) { b.clear_columns(); });
  expect_error("a kind twice", [](v1::Block& b) { b.add_kinds(b.kinds(b.kinds_size() - 1)); });
  expect_error("kinds out of order", [](v1::Block& b) { b.mutable_kinds()->SwapElements(0, 1); });
  EXPECT_FALSE(Decode(good, decoded));
  ExpectSame(trace.events, decoded);
}

// A few bytes can claim lists and texts without end.
TEST(BlockDecoder, AnnotationsOfABlockAreBoundedTogether) {
  const auto decode = [](AnnotationType type, size_t annotations, uint64_t values, uint64_t index) {
    v1::Block block;
    block.set_events(1);
    block.add_kinds(kRawKind);
    block.add_batch_events(1);
    AnnotationInfo info;
    info.type = type;
    const Dictionary known;
    BlockNames names{.kinds = {known.kind(kRawKind)}, .annotations = {}, .prefix = nullptr};
    ColumnWriter writer;
    for (uint32_t number = 1; number <= annotations; ++number) {
      block.add_annotations(number);
      names.annotations.push_back(&info);
      writer.AddNumbers(v1::COLUMN_NOTE_PRESENT, number, std::vector<uint64_t>{1});
      writer.AddNumbers(v1::COLUMN_NOTE_VALUE, number, std::vector<uint64_t>{values});
      writer.AddNumbers(v1::COLUMN_NOTE_LIST, number, std::vector<uint64_t>{index});
    }
    Compressor compressor;
    EXPECT_TRUE(writer.Finish(3, compressor, *block.mutable_columns()).ok());
    DecodedBlock decoded;
    return !DecodeBlock(block, names, decoded);
  };
  EXPECT_TRUE(decode(AnnotationType::kU64List, 2, kMaxBlockListValues / 2, 7));
  EXPECT_FALSE(decode(AnnotationType::kU64List, 2, kMaxBlockListValues / 2 + 1, 7));
  EXPECT_FALSE(decode(AnnotationType::kU64List, 3, kMaxBlockListValues / 2, 7));
  EXPECT_FALSE(decode(AnnotationType::kU64List, 1, ~uint64_t{0}, 7));
  EXPECT_TRUE(decode(AnnotationType::kStringList, 1, kMaxBlockTexts, kMaxBlockTexts - 1));
  EXPECT_FALSE(decode(AnnotationType::kStringList, 1, kMaxBlockTexts + 1, kMaxBlockTexts));
  EXPECT_FALSE(decode(AnnotationType::kStringList, 2, kMaxBlockTexts / 2 + 1, kMaxBlockTexts / 2));
}

TEST(RecordTemplate, SlotsOfADictionaryMustFit) {
  v1::Kind good;
  good.set_number(1);
  good.set_header(std::string(16, 'x'));
  auto* slot = good.add_slots();
  slot->set_field(v1::Slot::FIELD_TIMESTAMP);
  slot->set_offset(8);
  EXPECT_TRUE(RecordTemplate::FromProto(good));
  const auto refused = [&](auto change) {
    v1::Kind kind = good;
    change(kind);
    return !RecordTemplate::FromProto(kind);
  };
  EXPECT_TRUE(refused([](v1::Kind& k) { k.mutable_slots(0)->set_offset(9); }));
  EXPECT_TRUE(refused([](v1::Kind& k) { k.mutable_slots(0)->set_offset(0xFFFFFFFF); }));
  EXPECT_TRUE(refused([](v1::Kind& k) { *k.add_slots() = k.slots(0); }));
  EXPECT_TRUE(refused([](v1::Kind& k) { k.mutable_slots(0)->set_field(static_cast<v1::Slot::Field>(77)); }));
  EXPECT_TRUE(refused([](v1::Kind& k) { k.set_number(0); }));
  EXPECT_TRUE(refused([](v1::Kind& k) { k.set_header(std::string(257, 'x')); }));
  EXPECT_TRUE(refused([](v1::Kind& k) {
    auto* overlap = k.add_slots();
    overlap->set_field(v1::Slot::FIELD_SIZE);
    overlap->set_offset(10);
  }));
}

TEST(RecordTemplate, RecordWhoseHeaderContradictsTheRowIsRaw) {
  std::vector<std::byte> record(40);
  ASSERT_EQ(
      etl::WriteRecord(record, etl::SystemFields{.timestamp = 5, .pebs = {}, .pmc = {}}, std::vector<std::byte>(8)),
      40u);
  EventHeader row;
  row.record = record.data();
  row.record_size = 40;
  row.timestamp = 5;
  EXPECT_FALSE(RecordTemplate::FromRow(row).raw());
  row.timestamp = 6;
  EXPECT_TRUE(RecordTemplate::FromRow(row).raw());
  row.timestamp = 5;
  row.record_size = 39;
  EXPECT_TRUE(RecordTemplate::FromRow(row).raw());
  row.record_size = 3;
  EXPECT_TRUE(RecordTemplate::FromRow(row).raw());
}

TEST(RecordTemplate, KindsPastTheLimitAreRaw) {
  DictionaryWriter writer;
  v1::Dictionary fresh;
  std::vector<std::byte> record(16);
  EventHeader row;
  row.record = record.data();
  row.record_size = 16;
  uint32_t last = 0;
  for (uint32_t i = 0; i <= kMaxKinds; ++i) {
    StoreAt<uint32_t>(record.data(), 0, 0xC0110000 | (i & 0xFFFF));
    StoreAt<uint16_t>(record.data(), 4, 16);
    StoreAt<uint16_t>(record.data(), 6, static_cast<uint16_t>(i >> 16));
    const auto made = RecordTemplate::FromRow(row);
    ASSERT_FALSE(made.raw());
    last = writer.KindNumber(made, made.Hash(), fresh);
  }
  EXPECT_EQ(last, kRawKind);
  EXPECT_EQ(static_cast<uint32_t>(writer.complete().kinds_size()), kMaxKinds);
}

}  // namespace
}  // namespace etwpipe::etwp
