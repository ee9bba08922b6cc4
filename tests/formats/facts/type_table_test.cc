// Names of types: told late, told again, of pids that are used again; and as events of a recording show them.
#include "formats/facts/type_table.h"

#include <gtest/gtest.h>

namespace etwpipe::facts {
namespace {

TEST(TypeTable, TheLastNameBeforeElseTheFirstAfter) {
  const auto table = TypeTable::Build(
      {{7, 0x10, 50, "B"}, {7, 0x10, 20, "A"}, {7, 0x10, 30, "A"}, {8, 0x10, 5, "Other"}, {7, 0x20, 1, "C"}});
  EXPECT_EQ(table.Find(7, 0x10, 1), "A") << "used before it is told of";
  EXPECT_EQ(table.Find(7, 0x10, 20), "A");
  EXPECT_EQ(table.Find(7, 0x10, 49), "A");
  EXPECT_EQ(table.Find(7, 0x10, 50), "B");
  EXPECT_EQ(table.Find(7, 0x10, 99), "B");
  EXPECT_EQ(table.Find(8, 0x10, 99), "Other");
  EXPECT_EQ(table.Find(7, 0x20, 0), "C");
  EXPECT_EQ(table.Find(9, 0x10, 0), "");
  EXPECT_EQ(table.Find(7, 0x30, 0), "");
}

}  // namespace
}  // namespace etwpipe::facts
