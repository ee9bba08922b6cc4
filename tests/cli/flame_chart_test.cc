// Flame charts are read back as XML and held against sums over all paths, made the slow way.
#include "tools/flame_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <pugixml.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tools/flame_page.h"
#include "tools/flame_tree.h"

namespace etwpipe {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// What a chart says about one rectangle.
struct Drawn {
  std::string name;   // first line of the title
  std::string facts;  // second line
  std::string label;  // text inside the rectangle
  std::string fill;
  int64_t start = 0, total = 0;
  int depth = 0;
  int64_t x = 0, width = 0, y = 0;  // thousandths of a pixel
  bool rest = false;
  std::vector<std::string> path;  // names from below the base
};

struct Chart {
  pugi::xml_document document;
  std::vector<Drawn> nodes;
  std::string notes;  // the lines of the foot

  const Drawn& At(const std::vector<std::string>& path) const {
    for (const Drawn& node : nodes) {
      if (node.path == path && !node.rest) return node;
    }
    ADD_FAILURE() << "no frame " << (path.empty() ? "all" : path.back());
    return nodes.at(0);
  }
};

int64_t Thousandths(std::string_view text) {
  return std::llround(std::strtod(std::string(text).c_str(), nullptr) * 1000);
}

void Read(const std::string& svg, Chart& chart) {
  const auto parsed = chart.document.load_buffer(svg.data(), svg.size(), pugi::parse_full, pugi::encoding_utf8);
  ASSERT_TRUE(parsed) << parsed.description() << " at " << parsed.offset;
  const pugi::xml_node root = chart.document.document_element();
  ASSERT_STREQ(root.name(), "svg");
  for (const pugi::xml_node text : root.children("text")) {
    if (std::string_view(text.attribute("class").value()) == "note") {
      chart.notes += std::string(text.text().get()) + "\n";
    }
  }
  const pugi::xml_node tree = root.find_child_by_attribute("g", "role", "tree");
  std::vector<std::string> path;
  for (const pugi::xml_node g : tree.children("g")) {
    Drawn& node = chart.nodes.emplace_back();
    const std::string title = g.child("title").text().get();
    node.name = title.substr(0, title.find('\n'));
    node.facts = title.substr(title.find('\n') + 1);
    node.label = g.child("text").text().get();
    node.start = g.attribute("data-s").as_llong();
    node.total = g.attribute("data-t").as_llong();
    node.depth = g.attribute("data-d").as_int();
    const pugi::xml_node rect = g.child("rect");
    node.fill = rect.attribute("class").value();
    node.x = Thousandths(rect.attribute("x").value());
    node.y = Thousandths(rect.attribute("y").value());
    node.width = Thousandths(rect.attribute("width").value());
    node.rest = std::string_view(g.attribute("class").value()) == "n more";
    ASSERT_LE(static_cast<size_t>(std::max(node.depth - 1, 0)), path.size());
    path.resize(static_cast<size_t>(std::max(node.depth - 1, 0)));
    if (node.depth > 0) path.push_back(node.name);
    node.path = path;
  }
  ASSERT_FALSE(chart.nodes.empty());
}

std::string Svg(const std::vector<FlameFrame>& frames, int64_t ticks_per_second = 1000) {
  return FlameChart({.title = "t", .unit_note = {}, .ticks_per_second = ticks_per_second, .frames = frames});
}

// Own ticks, ticks with everything inside, and count of every path, by walking up from each frame.
struct PathSums {
  int64_t own = 0, total = 0;
  uint64_t count = 0;
};
std::map<std::vector<std::string>, PathSums> SumsByPath(const std::vector<FlameFrame>& frames) {
  std::map<std::vector<std::string>, PathSums> sums;
  for (const FlameFrame& frame : frames) {
    std::vector<std::string> path;
    for (const FlameFrame* at = &frame;; at = &frames[at->parent]) {
      path.insert(path.begin(), at->name);
      if (at->parent == kNoFrame) break;
    }
    sums[path].own += frame.own_ticks;
    sums[path].count += frame.count;
    for (; !path.empty(); path.pop_back()) sums[path].total += frame.own_ticks;
    sums[path].total += frame.own_ticks;
    sums[path].count += frame.count;
  }
  return sums;
}

std::vector<FlameFrame> RandomForest(std::mt19937_64& random, size_t size, int64_t most_ticks) {
  std::vector<FlameFrame> frames;
  for (uint32_t i = 0; i < size; ++i) {
    const bool root = i == 0 || random() % 8 == 0;
    frames.push_back({.name = std::string(1, static_cast<char>('a' + random() % 5)),
                      .parent = root ? kNoFrame : static_cast<uint32_t>(random() % i),
                      .own_ticks = static_cast<int64_t>(random() % static_cast<uint64_t>(most_ticks + 1)),
                      .count = random() % 4});
  }
  return frames;
}

TEST(FlameChart, EveryPathHasTheSumOfItsFrames) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    const auto frames = RandomForest(random, 1 + random() % 60, round % 3 == 0 ? 3 : 1'000'000'000'000);
    const auto sums = SumsByPath(frames);
    Chart chart;
    ASSERT_NO_FATAL_FAILURE(Read(Svg(frames), chart));
    const int64_t whole = sums.at({}).total;
    size_t expected = 1;
    for (const auto& [path, sum] : sums) {
      if (path.empty() || sum.total == 0 || static_cast<double>(sum.total) < static_cast<double>(whole) / 10'000)
        continue;
      ++expected;
      EXPECT_EQ(chart.At(path).total, sum.total);
    }
    size_t drawn = 0;
    for (const Drawn& node : chart.nodes) drawn += node.rest ? 0 : 1;
    EXPECT_EQ(drawn, expected);
  }
}

TEST(FlameChart, ChildrenStandInsideTheirParentLargestFirstAndMeet) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 100; ++round) {
    const auto frames = RandomForest(random, 1 + random() % 200, 1'000'000);
    const auto sums = SumsByPath(frames);
    Chart chart;
    ASSERT_NO_FATAL_FAILURE(Read(Svg(frames), chart));
    if (sums.at({}).total == 0) continue;
    EXPECT_EQ(chart.nodes[0].x, 12'000);
    EXPECT_EQ(chart.nodes[0].width, 1'176'000);
    for (size_t i = 0; i < chart.nodes.size(); ++i) {
      const Drawn& parent = chart.nodes[i];
      if (parent.rest) continue;
      int64_t ticks = parent.start;
      int64_t edge = parent.x;
      const Drawn* before = nullptr;
      for (size_t j = i + 1; j < chart.nodes.size() && chart.nodes[j].depth > parent.depth; ++j) {
        const Drawn& child = chart.nodes[j];
        if (child.depth != parent.depth + 1) continue;
        EXPECT_EQ(child.start, ticks);
        EXPECT_EQ(child.x, edge);
        EXPECT_EQ(child.y, parent.y + 18'000);
        // Right edges are rounded to thousandths on their own.
        EXPECT_NEAR(
            static_cast<double>(child.x + child.width - 12'000),
            1'176'000.0 * static_cast<double>(child.start + child.total) / static_cast<double>(sums.at({}).total),
            0.51);
        if (before != nullptr && !child.rest) {
          EXPECT_TRUE(before->total > child.total || (before->total == child.total && before->name < child.name));
        }
        EXPECT_FALSE(before != nullptr && before->rest);
        ticks += child.total;
        edge += child.width;
        before = &child;
      }
      EXPECT_LE(edge, parent.x + parent.width);
      const int64_t hidden = parent.start + parent.total - ticks - sums.at(parent.path).own;
      EXPECT_GE(hidden, 0);  // children too narrow to stand in the rest
      EXPECT_LE(hidden, sums.at({}).total / 10'000);
    }
  }
}

TEST(FlameChart, TheOrderOfTheFramesDoesNotMatter) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 50; ++round) {
    const auto frames = RandomForest(random, 100, 50);
    // Every frame that is not somebody's parent may stand anywhere behind its own parent: move the leaves to the end.
    std::vector<char> is_parent(frames.size(), 0);
    for (const auto& frame : frames) {
      if (frame.parent != kNoFrame) is_parent[frame.parent] = 1;
    }
    std::vector<FlameFrame> moved;
    std::vector<uint32_t> place(frames.size());
    std::vector<uint32_t> leaves;
    for (uint32_t i = 0; i < frames.size(); ++i) {
      if (!is_parent[i]) {
        leaves.push_back(i);
        continue;
      }
      place[i] = static_cast<uint32_t>(moved.size());
      moved.push_back(frames[i]);
      if (frames[i].parent != kNoFrame) moved.back().parent = place[frames[i].parent];
    }
    std::shuffle(leaves.begin(), leaves.end(), random);
    for (const uint32_t i : leaves) {
      moved.push_back(frames[i]);
      if (frames[i].parent != kNoFrame) moved.back().parent = place[frames[i].parent];
    }
    EXPECT_EQ(Svg(frames), Svg(moved));
  }
}

TEST(FlameChart, TellsTimeShareOwnAndCount) {
  const std::vector<FlameFrame> frames = {
      {.name = "compile", .parent = kNoFrame, .own_ticks = 10'000, .count = 2},
      {.name = "parse", .parent = 0, .own_ticks = 12'345'678, .count = 1'234},
      {.name = "parse", .parent = 0, .own_ticks = 4, .count = 1},
      {.name = "link", .parent = kNoFrame, .own_ticks = 24'711'364, .count = 1},
  };
  Chart chart;
  ASSERT_NO_FATAL_FAILURE(Read(Svg(frames, 10'000'000), chart));
  EXPECT_EQ(chart.nodes[0].name, "all");
  EXPECT_EQ(chart.nodes[0].facts, "3,706.705 ms, 100.00 %; own 0.000 ms, 0.00 %; count 1,238");
  EXPECT_EQ(chart.At({"link"}).facts, "2,471.136 ms, 66.67 %; own 2,471.136 ms, 66.67 %; count 1");
  EXPECT_EQ(chart.At({"compile"}).facts, "1,235.568 ms, 33.33 %; own 1.000 ms, 0.03 %; count 2");
  EXPECT_EQ(chart.At({"compile", "parse"}).facts, "1,234.568 ms, 33.31 %; own 1,234.568 ms, 33.31 %; count 1,235");
  EXPECT_EQ(chart.At({"link"}).label, "link");
  EXPECT_EQ(chart.notes.find("Not drawn"), std::string::npos);
}

TEST(FlameChart, UnknownClockShowsTicks) {
  const std::vector<FlameFrame> frames = {{.name = "a", .parent = kNoFrame, .own_ticks = 1'234'567, .count = 1}};
  for (const int64_t frequency : {int64_t{0}, int64_t{-5}, INT64_MIN}) {
    Chart chart;
    ASSERT_NO_FATAL_FAILURE(Read(Svg(frames, frequency), chart));
    EXPECT_EQ(chart.nodes[1].facts, "1,234,567 ticks, 100.00 %; own 1,234,567 ticks, 100.00 %; count 1");
  }
}

TEST(FlameChart, NothingToDrawIsSaid) {
  const std::vector<FlameFrame> no_ticks = {{.name = "a", .parent = kNoFrame, .own_ticks = 0, .count = 3},
                                            {.name = "b", .parent = 0, .own_ticks = 0, .count = 1}};
  for (const auto& frames : {std::vector<FlameFrame>{}, no_ticks}) {
    Chart chart;
    ASSERT_NO_FATAL_FAILURE(Read(Svg(frames), chart));
    ASSERT_EQ(chart.nodes.size(), 1u);
    EXPECT_EQ(chart.nodes[0].width, 1'176'000);
    EXPECT_THAT(chart.nodes[0].facts, HasSubstr("0.000 ms, 0.00 %"));
    EXPECT_THAT(chart.notes, HasSubstr("Nothing to draw: no frame has any time of its own."));
  }
}

TEST(FlameChart, FramesDeeperThanTheRowsAreLeftOutAndTheirTimeIsSaid) {
  std::vector<FlameFrame> frames;
  constexpr uint32_t kDeep = 1'000'000;
  for (uint32_t i = 0; i < kDeep; ++i) {
    frames.push_back({.name = "f" + std::to_string(i % 7), .parent = i == 0 ? kNoFrame : i - 1, .own_ticks = 1});
  }
  Chart chart;
  ASSERT_NO_FATAL_FAILURE(Read(Svg(frames), chart));
  ASSERT_EQ(chart.nodes.size(), 201u);  // the base, 199 frames, and what stands for the others
  EXPECT_EQ(chart.nodes[199].depth, 199);
  EXPECT_EQ(chart.nodes[199].total, kDeep - 198);
  EXPECT_TRUE(chart.nodes[200].rest);
  EXPECT_EQ(chart.nodes[200].total, kDeep - 199);
  EXPECT_EQ(chart.nodes[200].name, "1 not drawn");
  EXPECT_THAT(chart.notes,
              HasSubstr("Not drawn: 999,801 frames deeper than 200 rows, 999,801.000 ms (99.98 %) in all."));
}

TEST(FlameChart, NarrowFramesAreLeftOutAndTheirTimeIsSaid) {
  // 1/10,000 of the whole is drawn, less is not.
  std::vector<FlameFrame> frames = {{.name = "wide", .parent = kNoFrame, .own_ticks = 999'000 - 990}};
  frames.push_back({.name = "just", .parent = 0, .own_ticks = 100});
  for (int i = 0; i < 10; ++i) frames.push_back({.name = "n" + std::to_string(i), .parent = 0, .own_ticks = 99});
  frames.push_back({.name = "inside", .parent = 5, .own_ticks = 0});
  frames.push_back({.name = "other", .parent = kNoFrame, .own_ticks = 900});
  Chart chart;
  ASSERT_NO_FATAL_FAILURE(Read(Svg(frames), chart));
  ASSERT_EQ(chart.nodes.size(), 5u);
  EXPECT_EQ(chart.At({"wide", "just"}).total, 100);
  EXPECT_TRUE(chart.nodes[3].rest);
  EXPECT_EQ(chart.nodes[3].name, "10 not drawn");
  EXPECT_EQ(chart.nodes[3].total, 990);
  EXPECT_EQ(chart.nodes[3].start, 100);
  EXPECT_THAT(chart.notes,
              HasSubstr("Not drawn: 11 frames narrower than 1/10,000 of the whole, 990.000 ms (0.10 %) in all."));
  EXPECT_THAT(chart.notes, HasSubstr("The search sees what is drawn."));
}

TEST(FlameChart, OnlyTheLargestOfManyFramesAreDrawn) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 50; ++round) {
    const auto frames = RandomForest(random, 300, 20);
    const auto sums = SumsByPath(frames);
    for (const size_t max_nodes : {size_t{1}, size_t{2}, size_t{10}, size_t{50}}) {
      const FlameTree tree =
          BuildFlameTree(frames, {.max_rows = 200, .max_nodes = max_nodes, .smallest_share = 1'000'000});
      std::vector<int64_t> all;
      for (const auto& [path, sum] : sums) {
        if (path.empty() || sum.total > 0) all.push_back(sum.total);
      }
      std::sort(all.rbegin(), all.rend());
      std::vector<int64_t> drawn;
      int64_t rests = 0;
      for (const FlameNode& node : tree.nodes) {
        if (node.kind == FlameNode::Kind::kRest) {
          rests += node.total_ticks;
        } else {
          drawn.push_back(node.total_ticks);
        }
      }
      std::sort(drawn.rbegin(), drawn.rend());
      all.resize(std::min(all.size(), max_nodes));
      EXPECT_EQ(drawn, all);
      EXPECT_EQ(tree.crowded.ticks + tree.narrow.ticks, rests);
      EXPECT_EQ(tree.crowded.nodes + tree.narrow.nodes + drawn.size(), sums.size());
      int64_t own = 0;
      for (const FlameNode& node : tree.nodes) own += node.own_ticks;
      EXPECT_EQ(own + rests, sums.at({}).total);
    }
  }
}

TEST(FlameChart, StaysSmallForManyFrames) {
  std::vector<FlameFrame> frames;
  for (uint32_t chain = 0; chain < 3'000; ++chain) {
    for (uint32_t row = 0; row < 100; ++row) {
      frames.push_back({.name = std::to_string(row == 0 ? chain : row),
                        .parent = row == 0 ? kNoFrame : static_cast<uint32_t>(frames.size() - 1),
                        .own_ticks = row == 99 ? 10 + chain % 5 : 0});
    }
  }
  const std::string svg = Svg(frames);
  Chart chart;
  ASSERT_NO_FATAL_FAILURE(Read(svg, chart));
  EXPECT_LE(chart.nodes.size(), 20'000u);
  EXPECT_GE(chart.nodes.size(), 10'000u);
  EXPECT_THAT(chart.notes, HasSubstr("Not drawn: 290,001 frames beyond the 10,000 largest"));
  EXPECT_LT(svg.size(), 5u << 20);
}

TEST(FlameChart, HostileNamesAreShownAndStayText) {
  const std::vector<std::pair<std::string, std::string>> names = {
      {"</title></svg><script>alert(1)</script>", "</title></svg><script>alert(1)</script>"},
      {"]]>&lt;\"'--><!--", "]]>&lt;\"'--><!--"},
      {"\xFF\xC3(\xE2\x82", "\uFFFD\uFFFD(\uFFFD"},
      {std::string("a\0b\nc\td\x1B[31m\x7F", 13), "a\uFFFDb\uFFFDc\uFFFDd\uFFFD[31m\uFFFD"},
      {"\u0085\u202Egnp.exe\u2066\u200B\uFEFF\uFFFE\uFFFF", "\uFFFD\uFFFDgnp.exe\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD"},
      {"\xED\xA0\x80 lone surrogate", ""},
      {"Gr\u00FC\u00DFe \u65E5\u672C\u8A9E \U0001F525", "Gr\u00FC\u00DFe \u65E5\u672C\u8A9E \U0001F525"},
      {"", ""},
  };
  std::vector<FlameFrame> frames;
  for (const auto& [name, shown] : names) {
    frames.push_back({.name = name, .own_ticks = 1'000 - static_cast<int64_t>(frames.size())});
  }
  const std::string svg =
      FlameChart({.title = "<&\"\n\x01\xFF", .unit_note = "]]></style>", .ticks_per_second = 1, .frames = frames});
  Chart chart;
  ASSERT_NO_FATAL_FAILURE(Read(svg, chart));
  ASSERT_EQ(chart.nodes.size(), names.size() + 1);
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].second.empty() && !names[i].first.empty()) continue;
    EXPECT_EQ(chart.nodes[i + 1].name, names[i].second);
  }
  EXPECT_STREQ(chart.document.document_element().child("title").text().get(), "<&\"\uFFFD\uFFFD\uFFFD");

  for (const bool html : {false, true}) {
    const std::string text =
        FlameChart({.title = "<script>", .unit_note = "&", .ticks_per_second = 1, .frames = frames, .html = html});
    for (const char c : text) ASSERT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
    size_t scripts = 0;
    for (size_t at = text.find("<script"); at != std::string::npos; at = text.find("<script", at + 1)) ++scripts;
    EXPECT_EQ(scripts, 1u);
    EXPECT_THAT(text, Not(HasSubstr("alert(1)</script>")));
    EXPECT_THAT(text, Not(HasSubstr("\u202E")));
  }
}

TEST(FlameChart, NamesOfAnyBytesGiveXml) {
  std::mt19937_64 random(6);
  for (int round = 0; round < 200; ++round) {
    std::vector<FlameFrame> frames;
    for (uint32_t i = 0; i < 30; ++i) {
      std::string name(random() % 40, ' ');
      // Bytes of all kinds, or those that come near valid UTF-8.
      for (char& c : name) c = static_cast<char>(round % 2 == 0 ? random() % 256 : 0x80 + random() % 128);
      frames.push_back({.name = name, .parent = i == 0 ? kNoFrame : (i - 1) / 2, .own_ticks = 1});
    }
    Chart chart;
    ASSERT_NO_FATAL_FAILURE(Read(Svg(frames), chart));
    EXPECT_EQ(chart.nodes[0].total, 30);
    for (const Drawn& node : chart.nodes) {
      for (const char c : node.name) ASSERT_FALSE(static_cast<unsigned char>(c) < 0x20 || c == 0x7F);
    }
  }
}

TEST(FlameChart, LongNamesAreCut) {
  std::string fire;
  for (int i = 0; i < 401; ++i) fire += "\U0001F525";
  const std::vector<FlameFrame> frames = {{.name = std::string(400, 'x'), .own_ticks = 5},
                                          {.name = std::string(401, 'y'), .own_ticks = 4},
                                          {.name = std::string(5'000'000, 'z'), .own_ticks = 3},
                                          {.name = fire, .own_ticks = 2}};
  const std::string svg = Svg(frames);
  EXPECT_LT(svg.size(), 60'000u);
  Chart chart;
  ASSERT_NO_FATAL_FAILURE(Read(svg, chart));
  EXPECT_EQ(chart.nodes[1].name, std::string(400, 'x'));
  EXPECT_EQ(chart.nodes[2].name, std::string(399, 'y') + "\u2026");
  EXPECT_EQ(chart.nodes[3].name, std::string(399, 'z') + "\u2026");
  EXPECT_EQ(chart.nodes[4].name, fire.substr(0, 399 * 4) + "\u2026");
  // What a name loses, it loses in the drawing only: paths are told apart by whole names.
  const std::vector<FlameFrame> alike = {{.name = std::string(500, 'x') + "1", .own_ticks = 5},
                                         {.name = std::string(500, 'x') + "2", .own_ticks = 5}};
  Chart two;
  ASSERT_NO_FATAL_FAILURE(Read(Svg(alike), two));
  EXPECT_EQ(two.nodes.size(), 3u);
}

TEST(FlameChart, LabelsFitIntoTheirRectangles) {
  std::mt19937_64 random(5);
  std::vector<FlameFrame> frames;
  for (int i = 0; i < 200; ++i) {
    frames.push_back(
        {.name = std::string(1 + random() % 60, 'm'), .own_ticks = static_cast<int64_t>(random() % 100'000)});
  }
  Chart chart;
  ASSERT_NO_FATAL_FAILURE(Read(Svg(frames), chart));
  for (const Drawn& node : chart.nodes) {
    EXPECT_LE(static_cast<int64_t>(node.label.size()) * 7'300 + 6'000, std::max<int64_t>(node.width, 6'000));
    EXPECT_TRUE(!node.label.empty() || node.width < 40'000);
  }
}

TEST(FlameChart, ImpossibleInputIsCountedAndStaysExact) {
  const std::vector<FlameFrame> frames = {
      {.name = "huge", .parent = kNoFrame, .own_ticks = INT64_MAX - 10, .count = UINT64_MAX},
      {.name = "back", .parent = kNoFrame, .own_ticks = -7, .count = 1},
      {.name = "child", .parent = 1, .own_ticks = INT64_MAX, .count = 1},
      {.name = "self", .parent = 3, .own_ticks = 0, .count = 1},
      {.name = "later", .parent = 77, .own_ticks = INT64_MIN, .count = 1},
  };
  const FlameTree tree = BuildFlameTree(frames);
  EXPECT_EQ(tree.nodes[0].total_ticks, INT64_MAX);
  EXPECT_EQ(tree.nodes[0].count, UINT64_MAX);
  EXPECT_EQ(tree.negative_frames, 2u);
  EXPECT_EQ(tree.cut_frames, 1u);
  EXPECT_EQ(tree.orphan_frames, 2u);
  Chart chart;
  ASSERT_NO_FATAL_FAILURE(Read(Svg(frames, 1), chart));
  EXPECT_EQ(chart.At({"huge"}).total, INT64_MAX - 10);
  EXPECT_EQ(chart.nodes[0].facts,
            "9,223,372,036,854,775,807,000.000 ms, 100.00 %; own 0.000 ms, 0.00 %; count "
            "18,446,744,073,709,551,615");
  EXPECT_EQ(chart.nodes[0].width, 1'176'000);
  EXPECT_THAT(chart.notes, HasSubstr("2 frames with negative time counted as 0."));
  EXPECT_THAT(chart.notes, HasSubstr("1 frame cut, since the sum does not fit into 63 bits."));
  EXPECT_THAT(chart.notes, HasSubstr("2 frames with an unknown parent drawn on the base."));
}

TEST(FlameChart, ColourBelongsToTheName) {
  const std::vector<FlameFrame> frames = {
      {.name = "a", .own_ticks = 9}, {.name = "b", .own_ticks = 7}, {.name = "a", .parent = 1, .own_ticks = 3}};
  Chart chart;
  ASSERT_NO_FATAL_FAILURE(Read(Svg(frames), chart));
  EXPECT_EQ(chart.At({"a"}).fill, chart.At({"b", "a"}).fill);
  EXPECT_NE(chart.At({"a"}).fill, chart.At({"b"}).fill);
}

// Relative luminance and contrast as WCAG 2.1 defines them.
double Luminance(std::string_view colour) {
  double sum = 0;
  constexpr double kWeights[] = {0.2126, 0.7152, 0.0722};
  for (size_t i = 0; i < 3; ++i) {
    const double value = static_cast<double>(std::stoi(std::string(colour.substr(1 + 2 * i, 2)), nullptr, 16)) / 255;
    sum += kWeights[i] * (value <= 0.03928 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4));
  }
  return sum;
}

TEST(FlameChart, LabelsCanBeReadOnEveryColourLightAndDark) {
  const std::string style = FlameStyle();
  const size_t dark_at = style.find("@media (prefers-color-scheme:dark)");
  ASSERT_NE(dark_at, std::string::npos);
  for (const auto& [part, text] : {std::pair{style.substr(0, dark_at), std::string("#1b1b1b")},
                                   std::pair{style.substr(dark_at), std::string("#f0f0f0")}}) {
    EXPECT_THAT(part, HasSubstr("#flame text{fill:" + text));
    for (unsigned i = 0; i < kFlameColours; ++i) {
      const std::string rule = "#flame .c" + std::to_string(i) + "{fill:";
      const size_t at = part.find(rule);
      ASSERT_NE(at, std::string::npos);
      const double a = Luminance(part.substr(at + rule.size(), 7));
      const double b = Luminance(text);
      EXPECT_GE((std::max(a, b) + 0.05) / (std::min(a, b) + 0.05), 4.5) << i;
    }
  }
}

TEST(FlameChart, HoldsEverythingItNeeds) {
  for (const std::string_view part : {std::string_view(FlameScript()), FlamePageStyle()}) {
    EXPECT_THAT(std::string(part), Not(HasSubstr("</")));
    EXPECT_THAT(std::string(part), Not(HasSubstr("]]>")));
  }
  EXPECT_THAT(FlameStyle(), Not(HasSubstr("</")));
  EXPECT_THAT(FlameStyle(), Not(HasSubstr("]]>")));
  const std::vector<FlameFrame> frames = {{.name = "a", .own_ticks = 1}};
  for (const bool html : {false, true}) {
    const FlameChartArgs args = {.title = "t", .unit_note = "u", .ticks_per_second = 1, .frames = frames, .html = html};
    std::string text = FlameChart(args);
    EXPECT_EQ(text, FlameChart(args));
    // The name of SVG's namespace is an address that nobody opens.
    for (const std::string_view name : {"http://www.w3.org/2000/svg"}) {
      for (size_t at = text.find(name); at != std::string::npos; at = text.find(name)) text.erase(at, name.size());
    }
    for (const char* reference : {"://", "src=", "url(", "@import", "fetch(", "XMLHttpRequest"}) {
      EXPECT_THAT(text, Not(HasSubstr(reference)));
    }
    EXPECT_THAT(text, HasSubstr(html ? "<!DOCTYPE html>" : "<svg "));
  }
}

}  // namespace
}  // namespace etwpipe
