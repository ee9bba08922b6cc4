// Parts of the command line that are easier to test alone than through the program.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "pipeline/byte_reader.h"
#include "tools/count_sink.h"
#include "tools/csv_rows.h"
#include "tools/event_rows.h"
#include "tools/json_writer.h"
#include "tools/table.h"
#include "tools/time_text.h"
#include "tools/trace_diff.h"

namespace etwpipe {
namespace {

// Events of one side: id -> payload word. Handed out in batches of a few rows, in the order of the vector.
struct FakeEvent {
  EventInstanceId id;
  uint64_t word;
  uint16_t cpu = 0;
};

RunSide SideOf(const std::vector<FakeEvent>& events) {
  return [&events](Sink& sink) -> Status {
    TraceContext trace;
    ETWPIPE_RETURN_IF_ERROR(sink.Begin({.trace = trace, .annotations = {}, .diagnostics = nullptr}));
    for (size_t begin = 0; begin < events.size();) {
      EventBatch batch;
      for (; batch.rows.size() < 7 && begin < events.size(); ++begin) {
        EventHeader& row = batch.rows.emplace_back();
        const auto bytes = batch.arena.Allocate(sizeof(uint64_t));
        StoreAt(bytes.data(), 0, events[begin].word);
        row.record = bytes.data();
        row.record_size = sizeof(uint64_t);
        row.instance_id = events[begin].id;
        row.cpu = events[begin].cpu;
      }
      batch.SelectAll();
      auto chunk = sink.Prepare(batch);
      if (!chunk.ok()) return chunk.status();
      std::vector<std::unique_ptr<SinkBlock>> blocks;
      ETWPIPE_RETURN_IF_ERROR(sink.Cut(std::move(*chunk), blocks));
    }
    return {};
  };
}

std::vector<FakeEvent> ManyEvents(size_t count) {
  std::vector<FakeEvent> events;
  for (size_t i = 0; i < count; ++i) events.push_back({9 + i * 4, i * 77});
  return events;
}

DiffResult Diff(const std::vector<FakeEvent>& a, const std::vector<FakeEvent>& b, size_t limit, uint64_t max_digests) {
  auto result = DiffTraces({SideOf(a), SideOf(b)}, limit, max_digests);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return *result;
}

TEST(TraceDiff, OrderDoesNotMatter) {
  const auto a = ManyEvents(5000);
  auto b = a;
  std::shuffle(b.begin(), b.end(), std::mt19937(1));
  EXPECT_TRUE(Diff(a, b, 20, kMaxDigests).counts.equal());
}

TEST(TraceDiff, FindsTheSameDifferencesInOnePartAsInMany) {
  const auto a = ManyEvents(5000);
  auto b = a;
  b[100].word ^= 1;
  b[200].cpu = 3;
  b.erase(b.begin() + 300);
  b.push_back({7, 7});
  for (const uint64_t max_digests : {uint64_t{1}, uint64_t{3}, kMaxDigests}) {
    const DiffResult result = Diff(a, b, 3, max_digests);
    EXPECT_EQ(result.counts.changed, 2u);
    EXPECT_EQ(result.counts.missing, 1u);
    EXPECT_EQ(result.counts.added, 1u);
    const std::vector<Difference> first = {
        {7, Change::kAdded}, {a[100].id, Change::kChanged}, {a[200].id, Change::kChanged}};
    EXPECT_EQ(result.first, first);
  }
}

TEST(TraceDiff, EventsThatSwapTheirIdsAreChanged) {
  // Many pairs, so that some of them share a bucket.
  const auto a = ManyEvents(200'000);
  auto b = a;
  for (size_t i = 0; i + 1 < b.size(); i += 2) std::swap(b[i].word, b[i + 1].word);
  EXPECT_EQ(Diff(a, b, 0, kMaxDigests).counts.changed, a.size());
}

TEST(TraceDiff, RepeatedIdsAreCountedOneByOne) {
  const std::vector<FakeEvent> a = {{9, 1}, {9, 1}, {9, 2}};
  const std::vector<FakeEvent> b = {{9, 1}, {9, 3}};
  const DiffResult result = Diff(a, b, 20, kMaxDigests);
  EXPECT_EQ(result.counts.changed, 1u);
  EXPECT_EQ(result.counts.missing, 1u);
  EXPECT_EQ(result.counts.added, 0u);
}

TEST(CountSink, CountsMoreKindsThanItsFirstTableHolds) {
  TraceContext trace;
  CountSink sink(CountBy::kKind);
  ASSERT_TRUE(sink.Begin({.trace = trace, .annotations = {}, .diagnostics = nullptr}).ok());
  for (int round = 0; round < 2; ++round) {
    EventBatch batch;
    for (uint16_t id = 0; id < 3000; ++id) {
      EventHeader& row = batch.rows.emplace_back();
      row.kind = HeaderKind::kEvent64;
      row.id = id;
      row.record_size = 80;
    }
    batch.SelectAll();
    auto chunk = sink.Prepare(batch);
    ASSERT_TRUE(chunk.ok());
    std::vector<std::unique_ptr<SinkBlock>> blocks;
    ASSERT_TRUE(sink.Cut(std::move(*chunk), blocks).ok());
  }
  ASSERT_TRUE(sink.Finish().ok());
  const auto& counts = sink.counts().rows;
  ASSERT_EQ(counts.size(), 3000u);
  for (const auto& row : counts) EXPECT_EQ(row.count, 2u);
  EXPECT_EQ(counts.front().id, 0);
  EXPECT_EQ(counts.front().bytes, 160u);
  EXPECT_EQ(counts.back().id, 2999);
}

TEST(TimeText, IsWhatFormatFileTimeSays) {
  std::mt19937_64 random(1);
  for (const auto bias : {std::optional<int32_t>(), std::optional<int32_t>(-330)}) {
    for (const ClockType type : {ClockType::kQpc, ClockType::kSystemTime}) {
      const Clock clock{type, 24'000'000, 1'000, 133'500'000'000'000'000};
      TimeText text(clock, bias);
      std::vector<int64_t> ticks = {INT64_MIN, -1, 0, 1, INT64_MAX, 2'650'467'743'999'999'999};
      for (int i = 0; i < 2000; ++i) ticks.push_back(static_cast<int64_t>(random() >> (1 + random() % 40)));
      for (const int64_t tick : ticks) {
        for (const int64_t near : {tick, tick ^ 1, tick ^ 0xFFFFF}) {
          EXPECT_EQ(text.Format(near), FormatFileTime(clock.ToFileTime(near), bias));
        }
      }
    }
  }
}

TEST(EventRows, ListsOfTextsAreArraysCellsOrTheirFirstTexts) {
  TraceContext trace;
  EventBatch batch;
  batch.rows.resize(3);
  // An event that carries a stack of one address.
  const std::vector<std::byte> record = [] {
    std::vector<std::byte> bytes(24);
    StoreAt<uint16_t>(bytes.data(), 0, 24);
    StoreAt<uint16_t>(bytes.data(), 2, 6);
    StoreAt<uint16_t>(bytes.data(), 6, 16);
    StoreAt<uint64_t>(bytes.data(), 16, 0x1234);
    return bytes;
  }();
  batch.rows[0].record = record.data();
  batch.rows[0].record_size = batch.rows[0].payload_begin = 24;
  batch.rows[0].flags = kHasExtended;
  batch.SelectAll();
  AnnotationColumn& column = batch.AddAnnotation({"enrich.stack.stack", AnnotationType::kStringList, {}, {}});
  std::vector<uint64_t> numbers;
  for (const char* text : {"a!F(int, \"x\")", "b", "c", "d", "b"}) numbers.push_back(column.InternText(text));
  EXPECT_EQ(numbers[1], numbers[4]);
  column.SetTexts(0, numbers);
  column.SetTexts(1, {});

  const std::vector<const AnnotationColumn*> columns = {&column};
  const std::vector<std::string> keys = {"stack"};
  DecodedEvent event(trace);
  const auto lines_of = [&](auto rows) {
    for (size_t i = 0; i < batch.rows.size(); ++i) rows.Append(batch.rows[i], i);
    return rows.Take();
  };
  const RowsArgs args{.trace = trace,
                      .batch = batch,
                      .event = event,
                      .bias_minutes = {},
                      .fields = true,
                      .annotations = columns,
                      .annotation_keys = keys};
  const std::string json = lines_of(NdjsonRows(args));
  EXPECT_NE(json.find(R"~("stack":["a!F(int, \"x\")","b","c","d","b"]})~"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("stack":[]})"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("stack":null})"), std::string::npos) << json;
  EXPECT_EQ(json.find("0x1234"), std::string::npos) << "one key, one meaning: " << json;
  const std::string csv = lines_of(CsvRows(args));
  EXPECT_NE(csv.find(R"~(,"a!F(int, ""x"");b;c;d;b")~"), std::string::npos) << csv;
  const std::string text = lines_of(TextRows(args));
  EXPECT_NE(text.find(R"~( stack="a!F(int, ""x"");b;c";+2)~"), std::string::npos) << text;

  const std::vector<const AnnotationColumn*> none;
  const std::vector<std::string> no_keys;
  const RowsArgs raw{.trace = trace,
                     .batch = batch,
                     .event = event,
                     .bias_minutes = {},
                     .fields = true,
                     .annotations = none,
                     .annotation_keys = no_keys};
  EXPECT_NE(lines_of(NdjsonRows(raw)).find(R"("stack":["0x1234"])"), std::string::npos);
}

TEST(JsonWriter, KeepsIntegersExact) {
  JsonWriter json;
  json.BeginArray();
  json.Uint(uint64_t{1} << 53);
  json.Uint((uint64_t{1} << 53) + 1);
  json.Int(-(int64_t{1} << 53) - 1);
  json.Int(INT64_MIN);
  json.Id(7);
  json.Hex(0xABC);
  json.Double(1.0 / 0.0);
  json.EndArray();
  EXPECT_EQ(json.text(),
            R"([9007199254740992,"9007199254740993","-9007199254740993","-9223372036854775808","7","0xabc",null])");
}

TEST(JsonWriter, RepairsTextThatIsNotUtf8) {
  JsonWriter json;
  json.String(std::string_view("a\xFF\xED\xA0\x80\0\"\n", 8));
  const std::string text(json.text());
  EXPECT_TRUE(utf8::is_valid(text.begin(), text.end()));
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_TRUE(text.starts_with("\"a\xEF\xBF\xBD")) << text;
  EXPECT_TRUE(text.ends_with("\\u0000\\\"\\n\"")) << text;
}

TEST(Table, AlignsByCodePointsAndShowsControlCharactersAsMarks) {
  Table table({{"name"}, {"n", Table::Align::kRight}, {"rest"}});
  table.Add({"\xC3\xA4", "1,000", "x\x1B[31m"});
  table.Add({"long name", "7", ""});
  EXPECT_EQ(table.ToText(),
            "name           n  rest\n"
            "\xC3\xA4          1,000  x?[31m\n"
            "long name      7\n");
  EXPECT_EQ(Grouped(0), "0");
  EXPECT_EQ(Grouped(999), "999");
  EXPECT_EQ(Grouped(1234567), "1,234,567");
}

}  // namespace
}  // namespace etwpipe
