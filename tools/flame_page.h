// What makes a flame chart more than a picture: the style and the script that are embedded in it.
#pragma once

#include <string>
#include <string_view>

namespace etwpipe {

/// Number of fill classes c0, c1, ... in FlameStyle().
inline constexpr unsigned kFlameColours = 24;

/// CSS for the elements of a chart, light and dark. Holds neither "</" nor "]]>".
std::string FlameStyle();

/// CSS for the page around the chart. Holds no "</".
std::string_view FlamePageStyle();

/// JavaScript that makes the SVG element `flame` zoom and search. It reads what it needs from the elements
/// (flame_chart.cc) and is the same for every chart. Holds neither "</" nor "]]>".
std::string_view FlameScript();

}  // namespace etwpipe
