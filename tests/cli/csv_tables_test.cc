// Tables of kinds that recordings do not have: several versions by one schema, names that no file system takes.
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/cli/decoded_fixture.h"
#include "tests/support/temp_folder.h"
#include "tools/csv_tables_sink.h"

namespace etwpipe {
namespace {

class CsvTables : public DecodedFixture {
 protected:
  // The cell behind the columns that all events have.
  static std::string FirstField(std::string line) {
    for (int i = 0; i < 18; ++i) line.erase(0, line.find(',') + 1);
    return line.substr(0, line.find(','));
  }

  // Puts events with these ids and versions through a sink, in batches of two; gives the first field by file.
  std::map<std::string, std::string> Write(const std::vector<std::pair<uint16_t, uint16_t>>& kinds) {
    test::TempFolder folder;
    const std::string path = folder / "x.csv";
    CsvTablesSink sink(path, false);
    EXPECT_TRUE(sink.Begin({.trace = trace_, .annotations = {}, .diagnostics = nullptr}).ok());
    for (size_t begin = 0; begin < kinds.size(); begin += 2) {
      EventBatch batch;
      for (size_t i = begin; i < std::min(begin + 2, kinds.size()); ++i) {
        Load(PayloadBytes().Add(static_cast<uint8_t>(i)));
        const auto bytes = batch.arena.Allocate(row_.record_size);
        std::copy_n(row_.record, row_.record_size, bytes.data());
        row_.record = bytes.data();
        row_.id = kinds[i].first;
        row_.version = kinds[i].second;
        batch.rows.push_back(row_);
      }
      batch.SelectAll();
      auto chunk = sink.Prepare(batch);
      EXPECT_TRUE(chunk.ok());
      std::vector<std::unique_ptr<SinkBlock>> blocks;
      EXPECT_TRUE(sink.Cut(std::move(*chunk), blocks).ok());
    }
    EXPECT_TRUE(sink.Finish().ok());
    std::map<std::string, std::string> values;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      std::ifstream file(entry.path());
      std::string line;
      std::getline(file, line);
      while (std::getline(file, line)) values[entry.path().filename()] += FirstField(line) + " ";
    }
    return values;
  }
  using Tables = std::map<std::string, std::string>;
};

TEST_F(CsvTables, VersionsThatShareASchemaHaveTablesOfTheirOwn) {
  SetSchema("provider P 11111111-2222-3333-4444-555555555555\nevent E id 7 v1+\n  A u8\n");
  EXPECT_EQ(Write({{7, 1}, {7, 2}, {7, 2}, {7, 1}, {7, 2}}),
            (Tables{{"P.E.v1.csv", "0 3 "}, {"P.E.v2.csv", "1 2 4 "}}));
}

TEST_F(CsvTables, KindsThatWouldShareANameAreNumbered) {
  SetSchema(
      "provider P 11111111-2222-3333-4444-555555555555\n"
      "event \"a/b\" id 1\n  A u8\nevent \"a b\" id 2\n  A u8\nevent a_b id 3\n  B u8\nevent \"../..\" id 4\n  A u8\n");
  EXPECT_EQ(
      Write({{1, 0}, {2, 0}, {3, 0}, {1, 0}, {4, 0}}),
      (Tables{{"P.a_b.v0.csv", "0 3 "}, {"P.a_b.v0~2.csv", "1 "}, {"P.a_b.v0~3.csv", "2 "}, {"P..._...v0.csv", "4 "}}));
}

TEST_F(CsvTables, ALongNameIsCut) {
  const std::string name(400, 'n');
  SetSchema("provider P 11111111-2222-3333-4444-555555555555\nevent " + name + "1 id 1\n  A u8\nevent " + name +
            "2 id 2\n  A u8\n");
  const std::string cut = "P." + std::string(118, 'n');
  EXPECT_EQ(Write({{1, 0}, {2, 0}}), (Tables{{cut + ".csv", "0 "}, {cut + "~2.csv", "1 "}}));
}

TEST_F(CsvTables, EventsWithoutASchemaShareOne) {
  SetSchema(std::string(kTestEvent) + "  A u8\n");
  EXPECT_EQ(Write({{8, 0}, {9, 3}, {7, 0}}),
            (Tables{{"unknown.csv", "00 01 "}, {"Test_Provider.Task_Start.v0.csv", "2 "}}));
}

}  // namespace
}  // namespace etwpipe
