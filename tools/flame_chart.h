// Flame charts: where time goes, as nested rectangles whose widths are ticks. Knows frames, not traces.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace etwpipe {

inline constexpr uint32_t kNoFrame = UINT32_MAX;

/// Something that took time, inside something else.
struct FlameFrame {
  std::string name;            // any bytes
  uint32_t parent = kNoFrame;  // index of an earlier frame, or kNoFrame
  int64_t own_ticks = 0;       // without what the frames inside it have
  uint64_t count = 1;          // how many things of this name the frame stands for
};

struct FlameChartArgs {
  std::string title;                   // for example the name of the recording
  std::string unit_note;               // what the widths mean; one sentence
  int64_t ticks_per_second = 0;        // 0 or less if not known: times then show in ticks
  std::span<const FlameFrame> frames;  // fewer than 2^32 - 1
  bool html = false;                   // a page that holds the SVG; otherwise the SVG alone
};

/// The chart as one self-contained text: script and style inside, nothing is fetched. Frames of equal name path are one
/// node; children stand side by side in their parent, largest first, ties by name. Opened in a browser, a click zooms,
/// and names can be searched, by regular expression or part; `#search=TEXT&zoom=NUMBER` behind the address does the
/// same. What is too deep, too narrow or too much to draw is left out, and the chart says how much that is (FlameLimits
/// in flame_tree.h). Equal arguments give equal bytes.
std::string FlameChart(const FlameChartArgs& args);

}  // namespace etwpipe
