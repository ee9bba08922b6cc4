// Lives of modules by id and time; what incomplete rundown is.
#include "formats/facts/clr_table.h"

#include <gtest/gtest.h>

namespace etwpipe::facts {
namespace {

using Kind = ClrRecord<ClrModule>::Kind;

ClrRecord<ClrModule> Module(Kind kind, int64_t time, uint64_t id, std::string path) {
  ClrRecord<ClrModule> record;
  record.kind = kind;
  record.timestamp = time;
  record.entity.pid = 7;
  record.entity.id = id;
  record.entity.il_path = std::move(path);
  return record;
}

TEST(ClrTable, AModuleIdUsedAgain) {
  ClrRecords records;
  records.modules = {Module(Kind::kUnload, 20, 1, "a.dll"), Module(Kind::kLoad, 30, 1, "b.dll"),
                     Module(Kind::kUnload, 40, 1, ""), Module(Kind::kRundown, 90, 1, "c.dll"),
                     Module(Kind::kRundown, 90, 2, "other.dll")};
  const auto table = ClrTable::Build(std::move(records), nullptr);
  for (const auto& [time, name] : {std::pair(1, "a"), {20, "a"}, {25, "b"}, {35, "b"}, {50, "c"}, {99, "c"}}) {
    const auto* module = table.FindModule(7, 1, time);
    ASSERT_NE(module, nullptr);
    EXPECT_EQ(module->name(), name) << time;
  }
  EXPECT_EQ(table.FindModule(7, 3, 50), nullptr);
  EXPECT_EQ(table.FindModule(8, 1, 50), nullptr);
  EXPECT_EQ(table.FindModule(7, 2, 1)->name(), "other");
}

TEST(ClrTable, ADomainModuleBindsToItsDomain) {
  ClrRecords records;
  records.modules = {Module(Kind::kLoad, 10, 1, "a.dll"), Module(Kind::kLoad, 11, 1, "a.dll")};
  records.modules[1].entity.app_domain_id = 77;
  records.modules[1].entity.clr_instance = 9;
  const auto table = ClrTable::Build(std::move(records), nullptr);
  ASSERT_EQ(table.modules().size(), 1u);
  EXPECT_EQ(table.modules()[0].app_domain_id, 77u);
  EXPECT_EQ(table.modules()[0].clr_instance, 9);
  EXPECT_EQ(table.modules()[0].from, 10);
}

TEST(ClrTable, ModuleNames) {
  ClrModule module;
  for (const auto& [path, name] : {std::pair("C:\\a.b\\System.Core.dll", "System.Core"),
                                   {"x.EXE", "x"},
                                   {"/lib/y.winmd", "y"},
                                   {"Snippets, Version=0.0", "Snippets, Version=0.0"},
                                   {".dll", ".dll"},
                                   {"", ""}}) {
    module.il_path = path;
    EXPECT_EQ(module.name(), name);
  }
}

TEST(ClrTable, IncompleteRundown) {
  const auto incomplete = [](uint32_t begun, uint32_t completed, uint64_t methods) {
    ClrRundown rundown;
    rundown.begun = begun;
    rundown.completed = completed;
    rundown.methods = methods;
    return rundown.incomplete();
  };
  EXPECT_FALSE(incomplete(1, 1, 5));
  EXPECT_FALSE(incomplete(0, 1, 5)) << "CLR 2.0 has no Init";
  EXPECT_FALSE(incomplete(1, 1, 0));
  EXPECT_TRUE(incomplete(1, 0, 0));
  EXPECT_TRUE(incomplete(1, 0, 5));
  EXPECT_TRUE(incomplete(2, 1, 5));
  EXPECT_TRUE(incomplete(0, 0, 5));
}

}  // namespace
}  // namespace etwpipe::facts
