#include "formats/schema/context_records.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "formats/schema/provider_names.h"

namespace etwpipe::schema {
namespace {

struct Published {
  bool by_id = false;
  std::vector<bool> numbers = std::vector<bool>(65536);
};

std::string Trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

void AddNumbers(const std::string& text, Published& published) {
  if (text == "none") return;
  std::istringstream items(text == "all" ? "0-65535" : text);
  for (std::string item; std::getline(items, item, ',');) {
    item = Trimmed(item);
    const size_t dash = item.find('-');
    const int first = std::stoi(item);
    const int last = dash == std::string::npos ? first : std::stoi(item.substr(dash + 1));
    ASSERT_LE(first, last) << item;
    for (int number = first; number <= last; ++number) published.numbers[static_cast<size_t>(number)] = true;
  }
}

// The table of CONTEXT_RECORDS.md by GUID; "any" is the null GUID.
std::map<Guid, Published> ReadTable() {
  std::ifstream file(ETWPIPE_SOURCE_DIR "/formats/schema/CONTEXT_RECORDS.md");
  std::map<Guid, Published> table;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("| ")) continue;
    std::vector<std::string> cells;
    std::istringstream parts(line.substr(1));
    for (std::string cell; std::getline(parts, cell, '|');) cells.push_back(Trimmed(cell));
    if (cells.size() < 5 || cells[0] == "provider") continue;
    const auto guid = cells[0] == "any" ? std::optional<Guid>(Guid{}) : ParseGuid(cells[0]);
    EXPECT_TRUE(guid.has_value()) << line;
    if (!guid) continue;
    EXPECT_FALSE(table.contains(*guid)) << line;
    Published& published = table[*guid];
    published.by_id = cells[2] == "id";
    EXPECT_TRUE(cells[2] == "id" || cells[2] == "opcode") << line;
    AddNumbers(cells[3], published);
  }
  return table;
}

TEST(ContextRecords, PublishedTableAndCodeAgreeOnEveryOpcodeAndId) {
  const auto table = ReadTable();
  ASSERT_EQ(table.size(), 17u);
  ASSERT_TRUE(table.contains(Guid{})) << "the line of EventSource manifests";
  const auto& any = table.at(Guid{}).numbers;

  auto providers = table;
  for (const auto& known : KnownProviders()) providers.try_emplace(known.guid);
  for (const auto& [guid, published] : providers) {
    if (guid == Guid{}) continue;
    for (unsigned opcode = 0; opcode < 256; ++opcode) {
      EventHeader row;
      row.kind = HeaderKind::kPerfInfo64;
      row.opcode = static_cast<uint8_t>(opcode);
      row.id = 141;  // no id of a classic record counts
      const bool expected = !published.by_id && published.numbers[opcode];
      ASSERT_EQ(IsContextRecord(row, guid), expected) << ToString(guid) << " opcode " << opcode;
    }
    if (!published.by_id && published.numbers[0]) continue;
    for (unsigned id = 0; id < 65536; ++id) {
      EventHeader row;
      row.kind = id % 2 == 0 ? HeaderKind::kEvent32 : HeaderKind::kEvent64;
      row.id = static_cast<uint16_t>(id);
      row.opcode = 255;
      const bool expected = any[id] || (published.by_id && published.numbers[id]);
      ASSERT_EQ(IsContextRecord(row, guid), expected) << ToString(guid) << " id " << id;
    }
  }
}

TEST(ContextRecords, KernelRecordsAreRecognisedInEveryHeaderKind) {
  const Guid process = GuidOf("3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c");
  for (const auto kind : {HeaderKind::kSystem32, HeaderKind::kSystem64, HeaderKind::kPerfInfo32, HeaderKind::kFull64}) {
    EventHeader row;
    row.kind = kind;
    row.opcode = 3;
    EXPECT_TRUE(IsContextRecord(row, process));
  }
}

TEST(ContextRecords, AGuidThatSharesHalfItsBytesIsAnotherProvider) {
  EventHeader row;
  row.kind = HeaderKind::kSystem64;
  row.opcode = 3;
  EXPECT_FALSE(IsContextRecord(row, GuidOf("3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7d")));
  EXPECT_FALSE(IsContextRecord(row, Guid{}));
}

}  // namespace
}  // namespace etwpipe::schema
