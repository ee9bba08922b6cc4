#include "tools/flame_chart.h"

#include <fmt/format.h>
#include <utf8.h>
#include <xxhash.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "pipeline/clock.h"
#include "tools/flame_page.h"
#include "tools/flame_tree.h"
#include "tools/table.h"

namespace etwpipe {
namespace {

// Pixels, as the script has them too.
constexpr int64_t kWidth = 1200;
constexpr int64_t kMargin = 12;  // left and right of the SVG alone
constexpr int64_t kRowHeight = 18;
constexpr int64_t kHeadHeight = 86;
constexpr int64_t kFootLine = 17;
constexpr int64_t kCellThousandths = 7'300;  // width of a character

constexpr size_t kShownCharacters = 400;  // of a name
constexpr size_t kShownTitle = 120;       // of the title in the SVG, where text does not wrap
constexpr size_t kShownNote = 180;        // of a smaller line there

constexpr uint32_t kReplacement = 0xFFFD;
constexpr char32_t kEllipsis = 0x2026;

// Whether a character would end an XML document, or change how the text around it is shown.
bool IsUnfit(uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) ||                                          // C0, DEL, C1
         c == 0x061C || (c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) ||  // invisible, direction
         (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF || (c & 0xFFFE) == 0xFFFE || (c >= 0xFDD0 && c <= 0xFDEF);
}

// The first characters of any bytes, fit for XML text and attributes in double quotes.
struct ShownText {
  std::u32string characters;

  ShownText(std::string_view bytes, size_t limit) {
    // A character has at most four bytes; each broken byte becomes a character.
    const bool longer = bytes.size() > 4 * (limit + 1);
    std::string valid;
    const std::string_view start = bytes.substr(0, longer ? 4 * (limit + 1) : bytes.size());
    utf8::replace_invalid(start.begin(), start.end(), std::back_inserter(valid), kReplacement);
    for (auto at = valid.cbegin(); at != valid.cend();) {
      const uint32_t c = utf8::unchecked::next(at);
      if (characters.size() == limit) {
        characters.back() = kEllipsis;
        break;
      }
      characters.push_back(static_cast<char32_t>(IsUnfit(c) ? kReplacement : c));
    }
  }
};

std::string Escaped(std::u32string_view characters) {
  std::string text;
  for (const char32_t c : characters) {
    switch (c) {
      case U'&': text += "&amp;"; break;
      case U'<': text += "&lt;"; break;
      case U'>': text += "&gt;"; break;
      case U'"': text += "&quot;"; break;
      case U'\'': text += "&#39;"; break;
      default: utf8::unchecked::append(static_cast<uint32_t>(c), std::back_inserter(text));
    }
  }
  return text;
}

std::string Escaped(std::string_view bytes, size_t limit) { return Escaped(ShownText(bytes, limit).characters); }

std::string GroupedWide(Int128 value) {
  // Beyond 64 bits only for ticks near the end of their range and a slow clock.
  std::string digits;
  do {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(value % 10)));
    value /= 10;
  } while (value != 0);
  for (size_t at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

class Writer {
 public:
  explicit Writer(const FlameChartArgs& args) : args_(args), tree_(BuildFlameTree(args.frames)) {
    for (const FlameNode& node : tree_.nodes) rows_ = std::max<int64_t>(rows_, node.depth + 1);
  }

  std::string Svg() {
    const std::vector<std::string> notes = Notes();
    const int64_t foot = kHeadHeight + rows_ * kRowHeight;
    const int64_t height = foot + static_cast<int64_t>(notes.size()) * kFootLine + 12;
    OpenSvg(height);
    out_ += fmt::format(
        "<title id=\"flame-title\">{}</title>\n<style><![CDATA[\n{}]]></style>\n"
        "<rect class=\"bg\" x=\"0\" y=\"0\" width=\"100%\" height=\"100%\"/>\n",
        Escaped(args_.title, kShownCharacters), FlameStyle());
    out_ +=
        fmt::format("<text class=\"big\" x=\"{}\" y=\"25\">{}</text>\n", kMargin, Escaped(args_.title, kShownTitle));
    out_ += fmt::format("<text class=\"note\" x=\"{}\" y=\"43\">{}</text>\n", kMargin,
                        Escaped(args_.unit_note, kShownNote));
    // Without a script there is nothing to search or zoom with, and these stay hidden.
    out_ += fmt::format(
        "<g id=\"flame-links\" style=\"visibility:hidden\"><a id=\"flame-search\" href=\"#search=\" role=\"button\">"
        "<text x=\"{}\" y=\"61\">Search (Ctrl-F)</text></a>"
        "<a id=\"flame-reset\" href=\"#\" role=\"button\"><text x=\"{}\" y=\"61\">Reset (Esc)</text></a>"
        "<text id=\"flame-matched\" x=\"{}\" y=\"61\" role=\"status\" aria-live=\"polite\"></text></g>\n",
        kMargin, kMargin + 110, kMargin + 200);
    out_ += fmt::format("<text id=\"flame-details\" data-hint=\"{}\" x=\"{}\" y=\"79\"></text>\n", kHint, kMargin);
    Frames(kMargin, kHeadHeight);
    for (size_t i = 0; i < notes.size(); ++i) {
      out_ += fmt::format("<text class=\"note\" x=\"{}\" y=\"{}\">{}</text>\n", kMargin,
                          foot + static_cast<int64_t>(i + 1) * kFootLine, notes[i]);
    }
    out_ += fmt::format("<script><![CDATA[{}]]></script>\n</svg>\n", FlameScript());
    return std::move(out_);
  }

  std::string Html() {
    const std::string title = Escaped(args_.title, kShownCharacters);
    out_ += fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "script-src 'unsafe-inline'\">\n<meta name=\"viewport\" content=\"width=device-width\">\n"
        "<title>{}</title>\n<style>{}{}</style>\n</head>\n<body>\n",
        title, FlamePageStyle(), FlameStyle());
    out_ += fmt::format(
        "<header>\n<h1 id=\"flame-title\">{}</h1>\n<p class=\"note\">{}</p>\n<form id=\"flame-form\" role=\"search\">\n"
        "<label for=\"flame-search\">Search</label>\n"
        "<input id=\"flame-search\" type=\"search\" autocomplete=\"off\" spellcheck=\"false\" "
        "placeholder=\"part of a name, or a regular expression\">\n"
        "<button id=\"flame-reset\" type=\"button\">Reset</button>\n"
        "<output id=\"flame-matched\" for=\"flame-search\" aria-live=\"polite\"></output>\n</form>\n"
        "<p id=\"flame-details\" data-hint=\"{}\"></p>\n</header>\n<main>\n",
        title, Escaped(args_.unit_note, kShownCharacters), kHint);
    OpenSvg(rows_ * kRowHeight);
    Frames(0, 0);
    out_ += "</svg>\n</main>\n<footer>\n";
    for (const std::string& note : Notes()) out_ += fmt::format("<p>{}</p>\n", note);
    out_ += fmt::format("</footer>\n<script>{}</script>\n</body>\n</html>\n", FlameScript());
    return std::move(out_);
  }

 private:
  static constexpr std::string_view kHint =
      "Click a frame to zoom in, one above it to zoom out; arrow keys move, Enter zooms, / searches, Esc resets.";

  int64_t whole() const { return tree_.nodes[0].total_ticks; }

  std::string Time(int64_t ticks) const {
    if (args_.ticks_per_second <= 0) return Grouped(static_cast<uint64_t>(ticks)) + " ticks";
    const Int128 per_second = args_.ticks_per_second;
    const Int128 micros = (Int128{ticks} * 2'000'000 + per_second) / (per_second * 2);
    return fmt::format("{}.{:03} ms", GroupedWide(micros / 1000), static_cast<int>(micros % 1000));
  }

  std::string Share(int64_t ticks) const {
    if (whole() == 0) return "0.00 %";
    const auto parts = static_cast<int>((Int128{ticks} * 20'000 + whole()) / (Int128{whole()} * 2));
    if (parts == 0 && ticks > 0) return "less than 0.01 %";
    return fmt::format("{}.{:02} %", parts / 100, parts % 100);
  }

  void OpenSvg(int64_t height) {
    out_ += fmt::format(
        "<svg id=\"flame\" xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
        "role=\"group\" aria-labelledby=\"flame-title\" data-total=\"{2}\" data-ticks-per-second=\"{3}\">\n",
        kWidth, height, whole(), std::max<int64_t>(args_.ticks_per_second, 0));
  }

  // Thousandths of a pixel from the left edge of the base. Both edges are rounded, never the width, so that neighbours
  // meet and widths add up.
  int64_t Edge(int64_t ticks, int64_t margin) const {
    const int64_t room = (kWidth - 2 * margin) * 1000;
    return static_cast<int64_t>((Int128{ticks} * room * 2 + whole()) / (Int128{whole()} * 2));
  }

  static std::string Pixels(int64_t thousandths) {
    return thousandths % 1000 == 0 ? fmt::format("{}", thousandths / 1000)
                                   : fmt::format("{}.{:03}", thousandths / 1000, thousandths % 1000);
  }

  void Frames(int64_t margin, int64_t top) {
    out_ += "<g role=\"tree\" aria-labelledby=\"flame-title\">\n";
    for (const FlameNode& node : tree_.nodes) {
      int64_t left = 0;
      int64_t right = (kWidth - 2 * margin) * 1000;
      if (whole() > 0) {
        left = Edge(node.start_ticks, margin);
        right = Edge(node.start_ticks + node.total_ticks, margin);
      }
      Frame(node, margin * 1000 + left, right - left, top + node.depth * kRowHeight);
    }
    out_ += "</g>\n";
  }

  // The script reads data-s (start), data-t (total) and data-d (row).
  void Frame(const FlameNode& node, int64_t x, int64_t width, int64_t y) {
    const bool is_rest = node.kind == FlameNode::Kind::kRest;
    const bool is_base = node.parent == kNoFrame;
    const ShownText name(is_base ? "all" : is_rest ? RestName(node) : std::string(node.name), kShownCharacters);
    std::string colour = is_base ? "base" : "rest";
    if (!is_base && !is_rest) {
      colour = fmt::format("c{}", XXH3_64bits(node.name.data(), node.name.size()) % kFlameColours);
    }
    out_ += fmt::format("<g class=\"n{}\" data-s=\"{}\" data-t=\"{}\" data-d=\"{}\"><title>{}\n{}, {}",
                        is_rest ? " more" : "", node.start_ticks, node.total_ticks, node.depth,
                        Escaped(name.characters), Time(node.total_ticks), Share(node.total_ticks));
    if (!is_rest) {
      out_ += fmt::format("; own {}, {}; count {}", Time(node.own_ticks), Share(node.own_ticks), Grouped(node.count));
    }
    out_ += fmt::format("</title><rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>", colour, Pixels(x),
                        y, Pixels(width), kRowHeight - 1);
    const std::u32string shown = Fitting(name.characters, width);
    if (!shown.empty()) {
      out_ += fmt::format("<text{} x=\"{}\" y=\"{}\">{}</text>", is_rest ? " class=\"small\"" : "", Pixels(x + 3000),
                          y + 13, Escaped(shown));
    }
    out_ += "</g>\n";
  }

  static std::string RestName(const FlameNode& node) { return fmt::format("{} not drawn", Grouped(node.count)); }

  // The start of `name` that fits into `width` thousandths of a pixel; what is not ASCII may be two cells wide.
  static std::u32string Fitting(const std::u32string& name, int64_t width) {
    int64_t room = (width - 6'000) / kCellThousandths;
    if (room < 3) return {};
    const auto cells = [](char32_t c) { return c < 128 ? 1 : 2; };
    int64_t needed = 0;
    for (const char32_t c : name) needed += cells(c);
    if (needed <= room) return name;
    room -= 2;
    std::u32string shown;
    for (const char32_t c : name) {
      room -= cells(c);
      if (room < 0) break;
      shown.push_back(c);
    }
    return shown.empty() ? shown : shown + U"..";
  }

  // What a reader must know to trust the drawing.
  std::vector<std::string> Notes() const {
    std::vector<std::string> notes;
    if (whole() == 0) notes.push_back("Nothing to draw: no frame has any time of its own.");
    const FlameLimits limits;
    const auto left_out = [&](const FlameLeftOut& sum, std::string_view why) {
      if (sum.nodes == 0) return;
      notes.push_back(fmt::format("Not drawn: {} {} {}, {} ({}) in all.", Grouped(sum.nodes),
                                  sum.nodes == 1 ? "frame" : "frames", why, Time(sum.ticks), Share(sum.ticks)));
    };
    left_out(tree_.narrow,
             fmt::format("narrower than 1/{} of the whole", Grouped(static_cast<uint64_t>(limits.smallest_share))));
    left_out(tree_.deep, fmt::format("deeper than {} rows", limits.max_rows));
    left_out(tree_.crowded, fmt::format("beyond the {} largest", Grouped(limits.max_nodes)));
    if (!notes.empty() && whole() > 0) notes.push_back("The search sees what is drawn.");
    const auto odd = [&](uint64_t frames, std::string_view what) {
      if (frames != 0)
        notes.push_back(fmt::format("{} {} {}.", Grouped(frames), frames == 1 ? "frame" : "frames", what));
    };
    odd(tree_.negative_frames, "with negative time counted as 0");
    odd(tree_.cut_frames, "cut, since the sum does not fit into 63 bits");
    odd(tree_.orphan_frames, "with an unknown parent drawn on the base");
    return notes;
  }

  const FlameChartArgs& args_;
  const FlameTree tree_;
  int64_t rows_ = 1;
  std::string out_;
};

}  // namespace

std::string FlameChart(const FlameChartArgs& args) {
  Writer writer(args);
  return args.html ? writer.Html() : writer.Svg();
}

}  // namespace etwpipe
