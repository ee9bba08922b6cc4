#include "formats/facts/string_pool.h"

#include <gtest/gtest.h>

#include <string>

namespace etwpipe::facts {
namespace {

TEST(StringPool, EqualTextsShareANumber) {
  StringPool pool;
  EXPECT_EQ(pool.Intern(""), 0u);
  EXPECT_EQ(pool.Get(0), "");
  const StringId a = pool.Intern("a");
  EXPECT_NE(a, 0u);
  EXPECT_EQ(pool.Intern(std::string("a")), a);
  EXPECT_NE(pool.Intern("b"), a);
}

TEST(StringPool, ViewsStayWhileThePoolGrows) {
  StringPool pool;
  const std::string long_text(64 * 1024 - 1, 'x');
  const StringId first = pool.Intern("first");
  const std::string_view view = pool.Get(first);
  const StringId long_id = pool.Intern(long_text);
  for (int i = 0; i < 100'000; ++i) pool.Intern("text " + std::to_string(i));
  EXPECT_EQ(pool.Get(first).data(), view.data());
  EXPECT_EQ(pool.Get(long_id), long_text);
  for (int i = 0; i < 100'000; i += 997) {
    const std::string text = "text " + std::to_string(i);
    EXPECT_EQ(pool.Get(pool.Intern(text)), text);
  }
  const uint64_t before = pool.memory();
  pool.Freeze();
  EXPECT_LT(pool.memory(), before);
  EXPECT_EQ(pool.Get(first), "first");
}

}  // namespace
}  // namespace etwpipe::facts
