#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "formats/etwp/block_decoder.h"
#include "formats/etwp/pad_predictor.h"
#include "formats/etwp/payload_decoder.h"
#include "formats/etwp/payload_encoder.h"
#include "formats/etwp/payload_layout.h"
#include "formats/schema/schema_text.h"
#include "pipeline/byte_reader.h"
#include "tests/formats/etwp/encodings.h"
#include "tests/support/peak_memory.h"

namespace etwpipe::etwp {
namespace {

using v1::LayoutField;

std::shared_ptr<const PayloadLayout> LayoutOf(const std::string& fields, uint32_t pointer_size = 8) {
  const auto schemas =
      schema::ParseSchemaText("provider Test 11111111-2222-3333-4444-555555555555\nevent Test/One id 1\n" + fields,
                              "test", schema::SchemaOrigin::kManifestFile);
  EXPECT_TRUE(schemas.ok()) << schemas.status().message();
  auto layout = PayloadLayout::FromSchema(*schemas->front(), pointer_size);
  if (layout == nullptr) return nullptr;
  // Contexts as numbers, as they stand in a dictionary.
  auto numbered = std::make_shared<PayloadLayout>(*layout);
  std::map<uint32_t, uint32_t> numbers;
  for (auto& field : numbered->fields) {
    field.context = numbers.try_emplace(field.context, static_cast<uint32_t>(numbers.size()) + 1).first->second;
  }
  return numbered;
}

struct Written {
  v1::Columns columns;
  std::vector<uint64_t> forms;
};

// Of the event with that number.
HeaderFacts FactsOf(size_t i) { return {1000 + i, 900 + i, 4, 8, static_cast<uint16_t>(i / 3 % 4)}; }

Written Write(const PayloadLayout& layout, const std::vector<std::vector<std::byte>>& payloads, Effort effort) {
  PayloadEncoder encoder;
  const PayloadLayout* layouts[] = {&layout};
  encoder.Start(layouts);
  Written written;
  for (size_t i = 0; i < payloads.size(); ++i) {
    written.forms.push_back(encoder.Add(0, payloads[i], FactsOf(i)));
  }
  encoder.EndPayloads();
  ColumnWriter columns;
  columns.numbers().set_effort(effort);
  encoder.WriteKind(0, 1, columns);
  encoder.WriteTables(columns);
  Compressor compressor;
  EXPECT_TRUE(columns.Finish(3, compressor, written.columns).ok());
  return written;
}

// Reads them again; what stands behind the fields is not in these columns and is added.
void ExpectBack(const PayloadLayout& layout, const std::vector<std::vector<std::byte>>& payloads,
                const Written& written) {
  ColumnReader columns;
  ASSERT_FALSE(columns.Open(written.columns));
  PayloadDecoder decoder;
  const PayloadLayout* layouts[] = {&layout};
  const uint32_t numbers[] = {1};
  ASSERT_TRUE(decoder.Start(layouts, numbers, columns));
  std::vector<std::byte> out(70'000);
  for (size_t i = 0; i < payloads.size(); ++i) {
    if (written.forms[i] == 1) continue;
    ASSERT_TRUE(decoder.Next(0, FactsOf(i), out.data(), out.size())) << i;
    const size_t left = written.forms[i] == 0 ? 0 : written.forms[i] - 1;
    ASSERT_EQ(decoder.size() + left, payloads[i].size()) << i;
    ASSERT_TRUE(std::equal(payloads[i].begin(), payloads[i].end() - static_cast<ptrdiff_t>(left), out.begin())) << i;
  }
  EXPECT_TRUE(decoder.at_end());
}

void ExpectRoundTrip(const PayloadLayout& layout, const std::vector<std::vector<std::byte>>& payloads) {
  for (const Effort effort : {Effort::kEstimate, Effort::kTrial}) {
    ExpectBack(layout, payloads, Write(layout, payloads, effort));
  }
}

class Payload {
 public:
  template <typename T>
  Payload& Put(T value) {
    const size_t at = bytes_.size();
    bytes_.resize(at + sizeof value);
    StoreAt(bytes_.data(), at, value);
    return *this;
  }
  Payload& Wide(std::u16string_view text, bool end = true) {
    for (const char16_t unit : text) Put(static_cast<uint16_t>(unit));
    return end ? Put(uint16_t{0}) : *this;
  }
  Payload& Narrow(std::string_view text, bool end = true) {
    for (const char c : text) Put(c);
    return end ? Put('\0') : *this;
  }
  operator std::vector<std::byte>() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

TEST(PayloadCodec, NumbersAndTextOfEveryShapeComeBack) {
  const auto layout = LayoutOf(
      "  A u8\n  B u16\n  C u32\n  D u64\n  P ptr\n  G guid\n  W wstr\n  N astr\n  F f64\n  MethodID u64\n  W2 wstr\n");
  ASSERT_NE(layout, nullptr);
  EXPECT_EQ(layout->key, 10u);
  const char16_t lone[] = {0xD800, 'x'};
  const std::u16string_view texts[] = {u"", u"abc", u"\u00e4\u20ac\U0001F600", {lone, 2}, u"abc"};
  const std::string_view narrow[] = {"", "abc", "\xFF\xFE", "\xC3\xA4", "\xFF"};
  std::mt19937_64 random(3);
  std::vector<std::vector<std::byte>> payloads;
  for (uint32_t i = 0; i < 6'000; ++i) {
    payloads.push_back(Payload()
                           .Put(static_cast<uint8_t>(i))
                           .Put(static_cast<uint16_t>(i * 3))
                           .Put(static_cast<uint32_t>(random()))
                           .Put(uint64_t{random()})
                           .Put(uint64_t{0xFFFFF80000000000 + random() % 100 * 16})
                           .Put(uint64_t{random() % 3})
                           .Put(uint64_t{7})
                           .Wide(texts[random() % 5])
                           .Narrow(narrow[random() % 5])
                           .Put(double(i) / 3)
                           .Put(uint64_t{random() % 500})
                           .Wide(texts[random() % 5]));
  }
  ExpectRoundTrip(*layout, payloads);
}

TEST(PayloadCodec, ArraysOfEveryKindComeBack) {
  const auto layout =
      LayoutOf("  Count u16\n  IL[Count] u32\n  Native[Count] u32\n  Fixed[3] u16\n  Names[2] wstr\n  Rest[*] u64\n");
  ASSERT_NE(layout, nullptr);
  EXPECT_TRUE(layout->fields[1].pair);
  EXPECT_FALSE(layout->fields[2].pair);
  std::mt19937_64 random(4);
  std::vector<std::vector<std::byte>> payloads;
  for (int i = 0; i < 800; ++i) {
    Payload payload;
    const auto count = static_cast<uint16_t>(random() % 20);
    payload.Put(count);
    uint32_t offset = 0;
    for (int n = 0; n < count; ++n) {
      const bool marker = random() % 4 == 0;
      payload.Put(marker ? static_cast<uint32_t>(0 - random() % 5) : offset += static_cast<uint32_t>(random() % 9));
    }
    for (uint64_t n = 0; n < count; ++n) payload.Put(static_cast<uint32_t>(random() % 50 == 0 ? random() : 10 * n));
    for (int n = 0; n < 3; ++n) payload.Put(static_cast<uint16_t>(random() % 2));
    payload.Wide(u"one").Wide(i % 2 == 0 ? u"two" : u"");
    for (size_t n = 0; n < random() % 5; ++n) payload.Put(uint64_t{random()});
    std::vector<std::byte> bytes = payload;
    bytes.resize(bytes.size() + random() % 8);
    payloads.push_back(bytes);
  }
  ExpectRoundTrip(*layout, payloads);
}

TEST(PayloadCodec, WhatDoesNotFitIsSaid) {
  const auto layout = LayoutOf("  Count u16\n  Data[Count] u32\n  Name wstr\n");
  ASSERT_NE(layout, nullptr);
  const std::vector<std::byte> good = Payload().Put(uint16_t{2}).Put(uint32_t{1}).Put(uint32_t{2}).Wide(u"ab");
  std::vector<std::vector<std::byte>> payloads;
  for (size_t size = 0; size <= good.size() + 3; ++size) {
    payloads.push_back(good);
    payloads.back().resize(size);
  }
  const auto written = Write(*layout, payloads, Effort::kTrial);
  for (size_t size = 0; size < good.size(); ++size) EXPECT_EQ(written.forms[size], 1u) << size;
  EXPECT_EQ(written.forms[good.size()], 0u);
  EXPECT_EQ(written.forms[good.size() + 3], 4u);
  ExpectBack(*layout, payloads, written);
}

TEST(PayloadCodec, ARowPredictsTheNextOfItsKey) {
  const auto layout = LayoutOf("  MethodID u64\n  Start u64\n  Size u32\n  Name wstr\n");
  ASSERT_NE(layout, nullptr);
  std::mt19937_64 random(5);
  std::vector<std::vector<std::byte>> once;
  for (uint64_t i = 0; i < 500; ++i) {
    once.push_back(
        Payload()
            .Put(uint64_t{0x7FF000000000 + i * 24})
            .Put(uint64_t{random()})
            .Put(uint32_t(random()))
            .Wide(u"name" + std::u16string(1, static_cast<char16_t>('a' + i % 26)) + std::u16string(i / 26, u'x')));
  }
  auto twice = once;
  std::shuffle(once.begin(), once.end(), random);
  twice.insert(twice.end(), once.begin(), once.end());
  const auto single = Write(*layout, once, Effort::kTrial);
  const auto both = Write(*layout, twice, Effort::kTrial);
  ExpectBack(*layout, twice, both);
  // The second 500 know 12 random bytes each by their key, which is a shuffled one of 500.
  EXPECT_LT(both.columns.content().size(), single.columns.content().size() + 500 * 3);
}

uint32_t PredictionOf(const v1::Columns& columns, uint32_t field) {
  ColumnReader reader;
  EXPECT_FALSE(reader.Open(columns));
  return reader.PredictionOf(v1::COLUMN_FIELD, 1 | field << 16);
}

// Ranges that begin where the last one ended.
TEST(PayloadCodec, WhereOneEndsTheNextBegins) {
  const auto layout = LayoutOf("  Base u64\n  Size u32\n  Other u32\n");
  ASSERT_NE(layout, nullptr);
  std::mt19937_64 random(6);
  std::vector<std::vector<std::byte>> payloads;
  uint64_t base = 0x7FF000000000;
  for (int i = 0; i < 2'000; ++i) {
    const auto size = static_cast<uint32_t>(random() % 5'000);
    payloads.push_back(Payload().Put(base).Put(size).Put(static_cast<uint32_t>(random())));
    base = base + size;
  }
  for (const Effort effort : {Effort::kEstimate, Effort::kTrial}) {
    const auto written = Write(*layout, payloads, effort);
    EXPECT_EQ(PredictionOf(written.columns, 0), kFromEnd);
    EXPECT_TRUE(test::Names(written.columns, v1::ENCODING_PREDICTIONS));
    ExpectBack(*layout, payloads, written);
  }
}

// As with context switches: the thread that is left is the one that was switched to before on the processor.
TEST(PayloadCodec, APayloadKnowsTheOneBeforeOnItsProcessor) {
  const auto layout = LayoutOf("  NewThreadId u32\n  OldThreadId u32\n  Name wstr\n");
  ASSERT_NE(layout, nullptr);
  std::mt19937_64 random(7);
  std::vector<std::vector<std::byte>> payloads;
  uint32_t running[4] = {};
  std::u16string names[4];
  for (size_t i = 0; i < 2'000; ++i) {
    const uint16_t cpu = FactsOf(i).cpu;
    const auto thread = static_cast<uint32_t>(random() % 3'000);
    if (random() % 20 == 0) names[cpu] = std::u16string(1, static_cast<char16_t>('a' + random() % 26));
    payloads.push_back(Payload().Put(thread).Put(running[cpu]).Wide(names[cpu]));
    running[cpu] = thread;
  }
  for (const Effort effort : {Effort::kEstimate, Effort::kTrial}) {
    const auto written = Write(*layout, payloads, effort);
    EXPECT_EQ(PredictionOf(written.columns, 1), kFromProcessor + 0);
    EXPECT_EQ(PredictionOf(written.columns, 2), kFromProcessor + 2);
    EXPECT_TRUE(test::Names(written.columns, v1::ENCODING_PREDICTIONS));
    ExpectBack(*layout, payloads, written);
  }
}

// A hostile recording has as many kinds as it likes on the highest processor: memory goes with the payloads.
TEST(PayloadCodec, AHighProcessorTakesNoMemoryPerKind) {
  constexpr size_t kKinds = 10'000;
  const auto layout = LayoutOf("  A u32\n");
  ASSERT_NE(layout, nullptr);
  const auto before = test::PeakMiB();
  PayloadEncoder encoder;
  encoder.Start(std::vector<const PayloadLayout*>(kKinds, layout.get()));
  const std::vector<std::byte> payload = Payload().Put(7u);
  for (size_t kind = 0; kind < kKinds; ++kind) EXPECT_EQ(encoder.Add(kind, payload, {.cpu = 65'535}), 0u);
  EXPECT_LT(test::PeakMiB() - before, 300);
}

// A column's prediction changed to any other: other payloads or an error.
TEST(PayloadCodec, PredictionsThatAFieldCannotHaveAreRefused) {
  const auto layout = LayoutOf("  A u32\n  B u32\n  Name wstr\n  C u64\n  Rest[*] u16\n");
  ASSERT_NE(layout, nullptr);
  const std::vector<std::vector<std::byte>> payloads(3, Payload().Put(7u).Put(8u).Wide(u"x").Put(uint64_t{9}));
  const auto start = [&](uint32_t field, uint32_t prediction) {
    ColumnWriter writer;
    writer.AddNumbers(v1::COLUMN_FIELD, 1 | field << 16, std::vector<uint64_t>{1, 2, 3}, prediction);
    Compressor compressor;
    v1::Columns columns;
    EXPECT_TRUE(writer.Finish(3, compressor, columns).ok());
    ColumnReader reader;
    EXPECT_FALSE(reader.Open(columns));
    PayloadDecoder decoder;
    const PayloadLayout* layouts[] = {layout.get()};
    const uint32_t numbers[] = {1};
    return decoder.Start(layouts, numbers, reader);
  };
  EXPECT_TRUE(start(0, kFromEnd));
  EXPECT_FALSE(start(1, kFromEnd));  // text comes next
  EXPECT_FALSE(start(2, kFromEnd));
  EXPECT_FALSE(start(3, kFromEnd));  // an array comes next
  EXPECT_FALSE(start(4, kFromEnd));
  EXPECT_FALSE(start(0, 10));
  for (const uint32_t other : {0u, 1u, 3u}) EXPECT_TRUE(start(0, kFromProcessor + other));
  for (const uint32_t other : {2u, 4u, 5u, 1'000'000u}) EXPECT_FALSE(start(0, kFromProcessor + other));
  EXPECT_TRUE(start(2, kFromProcessor + 2));
  EXPECT_FALSE(start(2, kFromProcessor + 0));
  EXPECT_FALSE(start(4, kFromProcessor + 4));
  EXPECT_FALSE(start(4, kFromProcessor + 0));
}

TEST(PayloadLayout, ComesBackFromItsMessageAndRefusesNonsense) {
  const auto layout = LayoutOf("  Count u16\n  MethodID u64\n  Data[Count] u32\n  Name wstr\n");
  ASSERT_NE(layout, nullptr);
  v1::Layout good;
  layout->ToProto(good);
  const auto back = PayloadLayout::FromProto(good);
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, *layout);
  const auto refused = [&](auto change) {
    v1::Layout bad = good;
    change(bad);
    return !PayloadLayout::FromProto(bad);
  };
  EXPECT_TRUE(refused([](v1::Layout& l) { l.clear_fields(); }));
  EXPECT_TRUE(refused([](v1::Layout& l) { l.set_key(5); }));
  EXPECT_TRUE(refused([](v1::Layout& l) { l.set_key(3); }));
  EXPECT_TRUE(refused([](v1::Layout& l) { l.mutable_fields(0)->set_width(3); }));
  EXPECT_TRUE(refused([](v1::Layout& l) { l.mutable_fields(0)->set_width(0); }));
  EXPECT_TRUE(refused([](v1::Layout& l) { l.mutable_fields(2)->set_count_value(2); }));
  EXPECT_TRUE(refused([](v1::Layout& l) { l.mutable_fields(2)->set_count_value(3); }));
  EXPECT_TRUE(refused([](v1::Layout& l) { l.mutable_fields(2)->set_members(1); }));
  EXPECT_TRUE(refused([](v1::Layout& l) { l.mutable_fields(3)->set_shape(static_cast<LayoutField::Shape>(99)); }));
  EXPECT_TRUE(refused([](v1::Layout& l) { l.mutable_fields(3)->set_shape(LayoutField::SHAPE_STRUCT); }));
  EXPECT_TRUE(refused([](v1::Layout& l) { l.mutable_fields(0)->set_context(1 << 20); }));
  EXPECT_TRUE(refused([](v1::Layout& l) {
    for (int i = 0; i < 2000; ++i) *l.add_fields() = l.fields(0);
  }));
}

// Every byte of the columns changed in turn: other payloads or an error, never a byte outside.
TEST(PayloadCodec, ChangedColumnsAreErrorsOrOtherPayloads) {
  const auto layout =
      LayoutOf("  Count u16\n  IL[Count] u32\n  Native[Count] u32\n  MethodID u64\n  Name wstr\n  Rest[*] u16\n");
  ASSERT_NE(layout, nullptr);
  std::vector<std::vector<std::byte>> payloads;
  for (uint32_t i = 0; i < 40; ++i) {
    Payload payload;
    payload.Put(uint16_t{2}).Put(uint32_t{0}).Put(i).Put(uint32_t{0}).Put(2 * i).Put(uint64_t{i % 7}).Wide(u"name");
    payloads.push_back(payload.Put(static_cast<uint16_t>(i)).Put(uint16_t{3}));
  }
  const auto written = Write(*layout, payloads, Effort::kTrial);
  v1::Columns plain = written.columns;
  if (plain.compression() == v1::Columns::COMPRESSION_ZSTD) {
    std::string content(plain.content_length(), '\0');
    ASSERT_EQ(ZSTD_decompress(content.data(), content.size(), plain.content().data(), plain.content().size()),
              content.size());
    plain.set_content(content);
    plain.set_compression(v1::Columns::COMPRESSION_NONE);
  }
  const PayloadLayout* layouts[] = {layout.get()};
  const uint32_t numbers[] = {1};
  for (size_t at = 0; at < plain.content().size(); ++at) {
    for (const int change : {1, 0x80, 0xFF}) {
      v1::Columns columns = plain;
      (*columns.mutable_content())[at] = static_cast<char>((*columns.mutable_content())[at] ^ change);
      ColumnReader reader;
      if (reader.Open(columns)) continue;
      PayloadDecoder decoder;
      if (!decoder.Start(layouts, numbers, reader)) continue;
      std::vector<std::byte> out(500);
      for (size_t i = 0; i < payloads.size(); ++i) {
        if (!decoder.Next(0, FactsOf(i), out.data(), out.size())) break;
        ASSERT_LE(decoder.size(), out.size());
      }
    }
  }
}

TEST(PadPredictor, FindsTheBufferTheBytesCameFrom) {
  std::mt19937_64 random(6);
  PadPredictor predictor;
  std::vector<std::vector<std::byte>> memory(5, std::vector<std::byte>(4096));
  for (int round = 0; round < 20; ++round) {
    // One of five pieces of memory is written again in turn, with records in other places.
    auto& piece = memory[static_cast<size_t>(round) % 5];
    auto buffer = std::make_shared<SourceBuffer>();
    uint32_t at = 72;
    while (at + 60 < piece.size()) {
      const auto size = static_cast<uint16_t>(16 + random() % 40);
      for (uint32_t i = at; i < at + size; ++i) piece[i] = static_cast<std::byte>(random());
      buffer->records.push_back({at, size});
      at += (size + 7u) & ~7u;
    }
    buffer->image = piece;
    std::vector<std::byte> gaps;
    ForEachGap(*buffer, [&](size_t offset, size_t size) {
      gaps.insert(gaps.end(), piece.begin() + static_cast<ptrdiff_t>(offset),
                  piece.begin() + static_cast<ptrdiff_t>(offset + size));
    });
    const uint64_t distance = predictor.Predict(buffer, gaps);
    if (round < 5) continue;
    EXPECT_EQ(distance, 5u) << round;
    EXPECT_TRUE(std::all_of(gaps.begin(), gaps.end(), [](std::byte b) { return b == std::byte{0}; })) << round;
  }
}

}  // namespace
}  // namespace etwpipe::etwp
