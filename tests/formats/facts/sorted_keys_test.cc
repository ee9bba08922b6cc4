// The search against a plain one, for addresses that stand evenly, in heaps, alone, and at the ends of the range.
#include "formats/facts/sorted_keys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace etwpipe::facts {
namespace {

uint32_t Plain(const std::vector<uint64_t>& keys, uint64_t key) {
  uint32_t last = SortedKeys::kNone;
  for (uint32_t i = 0; i < keys.size(); ++i) {
    if (keys[i] <= key) last = i;
  }
  return last;
}

void Check(std::vector<uint64_t> keys) {
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  const SortedKeys search(keys);
  std::vector<uint64_t> asked = {0, 1, ~uint64_t{0}, ~uint64_t{0} - 1};
  for (const uint64_t key : keys) asked.insert(asked.end(), {key - 1, key, key + 1, key + 4096, key - (5 << 20)});
  for (const uint64_t key : asked) {
    ASSERT_EQ(search.LastAtMost(key, [&](uint32_t near) { ASSERT_LT(near, keys.size() + 1); }), Plain(keys, key))
        << std::hex << key;
  }
}

TEST(SortedKeys, FewKeys) {
  Check({});
  Check({0});
  Check({~uint64_t{0}});
  Check({0, ~uint64_t{0}});
  Check({5, 6, 7, 8, 9, 10});
  Check({~uint64_t{0} - 3, ~uint64_t{0} - 2, ~uint64_t{0} - 1, ~uint64_t{0}});
}

TEST(SortedKeys, RandomKeys) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 60; ++round) {
    std::vector<uint64_t> keys;
    const size_t count = 1 + random() % 300;
    const uint64_t spread = uint64_t{1} << (4 + random() % 60);
    const uint64_t heaps = 1 + random() % 5;
    for (size_t i = 0; i < count; ++i) {
      switch (round % 4) {
        case 0: keys.push_back(random() % spread); break;                                             // even
        case 1: keys.push_back((random() % heaps << 30) + random() % 65536); break;                   // heaps
        case 2: keys.push_back(random() >> (random() % 64)); break;                                   // very uneven
        case 3: keys.push_back(i % 10 == 0 ? random() % (1 << 20) : 70'000 + random() % 500); break;  // one dense place
      }
    }
    Check(keys);
  }
}

}  // namespace
}  // namespace etwpipe::facts
