#include "tools/flame_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace etwpipe {
namespace {

// #rrggbb of a hue in degrees, saturation and lightness from 0 to 1; CSS Color 4, section 7.1 (hsl() itself is not
// known to every SVG viewer).
std::string Colour(double hue, double saturation, double lightness) {
  const double reach = saturation * std::min(lightness, 1 - lightness);
  const auto channel = [&](double n) {
    const double k = std::fmod(n + hue / 30, 12);
    return std::lround(255 * (lightness - reach * std::max(-1.0, std::min({k - 3, 9 - k, 1.0}))));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", channel(0), channel(8), channel(4));
}

// Hues from yellow-green over blue to purple and from red to yellow; the pinks between belong to what a search finds.
double Hue(unsigned colour) { return colour * 300.0 / kFlameColours; }

constexpr std::string_view kLight = R"css(
#flame{font:12px "DejaVu Sans Mono",Menlo,Consolas,monospace}
#flame text{fill:#1b1b1b;pointer-events:none;white-space:pre}
#flame .bg{fill:#fff}
#flame:root{background:#fff}
#flame .big{font:bold 16px sans-serif}
#flame .note{font:12px sans-serif;fill:#555}
#flame a text{font:12px sans-serif;fill:#0b57d0;text-decoration:underline;pointer-events:auto;cursor:pointer}
#flame .n rect{stroke:#fff;stroke-width:.6}
#flame .n{cursor:pointer;outline:none}
#flame .base{fill:#d9d9d9}
#flame .rest{fill:#efefef}
#flame .n .small{fill:#666;font-style:italic}
#flame .n:hover rect,#flame .n:focus rect{stroke:#000;stroke-width:1.6}
#flame .above rect{opacity:.55}
#flame .off{display:none}
#flame.searching .n rect{opacity:.35}
#flame.searching .hit rect{fill:#c2006b;opacity:1}
#flame.searching .hit text{fill:#fff}
)css";

constexpr std::string_view kDark = R"css(
#flame text{fill:#f0f0f0}
#flame .bg{fill:#181818}
#flame:root{background:#181818}
#flame .note{fill:#b0b0b0}
#flame a text{fill:#8ab4f8}
#flame .n rect{stroke:#181818}
#flame .base{fill:#4a4a4a}
#flame .rest{fill:#2b2b2b}
#flame .n .small{fill:#aaa}
#flame .n:hover rect,#flame .n:focus rect{stroke:#fff}
#flame.searching .hit rect{fill:#e5268d}
)css";

constexpr std::string_view kPage = R"css(
:root{color-scheme:light dark}
body{margin:0;background:#fff;color:#1b1b1b;font:14px sans-serif}
header{position:sticky;top:0;background:#fff;border-bottom:1px solid #ccc;padding:10px 12px 6px}
h1{font-size:17px;margin:0 0 2px;overflow-wrap:anywhere}
p{margin:2px 0;overflow-wrap:anywhere}
.note,footer{color:#555}
form{display:flex;flex-wrap:wrap;gap:8px;align-items:center;margin:8px 0 4px}
input{font:inherit;padding:3px 6px;width:22em;max-width:60vw}
button{font:inherit;padding:3px 10px}
#flame-details{font:12px "DejaVu Sans Mono",Menlo,Consolas,monospace;min-height:1.4em;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
main{padding:8px 12px}
#flame{display:block}
footer{padding:0 12px 12px}
@media (prefers-color-scheme:dark){
body,header{background:#181818;color:#f0f0f0}
header{border-color:#444}
.note,footer{color:#b0b0b0}
}
)css";

constexpr std::string_view kScript = R"js(
(function () {
  "use strict";
  const svg = document.getElementById("flame");
  const page = document.getElementById("flame-form");
  const search = document.getElementById("flame-search");
  const reset = document.getElementById("flame-reset");
  const details = document.getElementById("flame-details");
  const matched = document.getElementById("flame-matched");
  const whole = BigInt(svg.dataset.total);
  const perSecond = BigInt(svg.dataset.ticksPerSecond);
  const cell = 7.3;  // width of a character
  let zoomed = 0;
  let query = "";

  // Nodes stand in the order of a walk: what is inside a node follows it.
  const nodes = Array.from(svg.querySelectorAll(".n"), function (element) {
    const label = element.querySelector("title").textContent;
    return {
      element: element, rect: element.querySelector("rect"), text: element.querySelector("text"),
      label: label, name: label.split("\n", 1)[0], depth: Number(element.dataset.d),
      start: Number(element.dataset.s), size: Number(element.dataset.t), ticks: BigInt(element.dataset.t),
      isFrame: !element.classList.contains("more"), parent: -1, end: 0, hit: false
    };
  });
  const places = new Map();
  const open = [];
  nodes.forEach(function (node, i) {
    places.set(node.element, i);
    while (open.length > 0 && nodes[open[open.length - 1]].depth >= node.depth) nodes[open.pop()].end = i;
    if (open.length > 0) node.parent = open[open.length - 1];
    open.push(i);
    node.element.setAttribute("role", "treeitem");
    node.element.setAttribute("aria-level", String(node.depth + 1));
    node.element.setAttribute("tabindex", i === 0 ? "0" : "-1");
  });
  while (open.length > 0) nodes[open.pop()].end = nodes.length;

  function grouped(digits) { return digits.replace(/\B(?=(\d{3})+$)/g, ","); }
  function timeText(ticks) {
    if (perSecond <= 0n) return grouped(String(ticks)) + " ticks";
    const micros = (ticks * 2000000n + perSecond) / (perSecond * 2n);
    return grouped(String(micros / 1000n)) + "." + String(micros % 1000n).padStart(3, "0") + " ms";
  }
  function shareText(ticks) {
    if (whole === 0n) return "0.00 %";
    const parts = (ticks * 20000n + whole) / (whole * 2n);
    if (parts === 0n && ticks > 0n) return "less than 0.01 %";
    return String(parts / 100n) + "." + String(parts % 100n).padStart(2, "0") + " %";
  }

  // The start of `name` that fits: a character beyond ASCII may be two cells wide.
  function fitting(name, width) {
    let room = Math.floor((width - 6) / cell);
    if (room < 3) return "";
    const characters = Array.from(name);
    const cells = characters.map(function (c) { return c.codePointAt(0) < 128 ? 1 : 2; });
    if (cells.reduce(function (a, b) { return a + b; }, 0) <= room) return name;
    let shown = "";
    room -= 2;
    for (let i = 0; i < characters.length && cells[i] <= room; ++i) {
      room -= cells[i];
      shown += characters[i];
    }
    return shown === "" ? "" : shown + "..";
  }

  function place(node, x, width) {
    const drawn = node.hit ? Math.max(width, 1) : width;
    node.element.classList.toggle("off", drawn < 0.1);
    if (drawn < 0.1) return;
    node.rect.setAttribute("x", x.toFixed(3));
    node.rect.setAttribute("width", drawn.toFixed(3));
    const shown = fitting(node.name, width);
    if (!node.text && shown === "") return;
    if (!node.text) {
      node.text = document.createElementNS("http://www.w3.org/2000/svg", "text");
      node.text.setAttribute("y", String(Number(node.rect.getAttribute("y")) + 13));
      if (!node.isFrame) node.text.setAttribute("class", "small");
      node.element.appendChild(node.text);
    }
    node.text.setAttribute("x", (x + 3).toFixed(3));
    node.text.textContent = shown;
  }

  function layout() {
    const available = page ? svg.parentNode.clientWidth - 24 : window.innerWidth;
    const width = Math.max(320, available || 1200);
    svg.setAttribute("width", String(width));
    svg.setAttribute("viewBox", "0 0 " + width + " " + svg.getAttribute("height"));
    const margin = page ? 0 : 12;
    const room = width - 2 * margin;
    const view = nodes[zoomed];
    const scale = view.size > 0 ? room / view.size : 0;
    const above = new Set();
    for (let i = view.parent; i >= 0; i = nodes[i].parent) above.add(i);
    nodes.forEach(function (node, i) {
      const inside = i >= zoomed && i < view.end;
      node.element.classList.toggle("above", above.has(i));
      if (above.has(i) || i === zoomed) {
        place(node, margin, room);
      } else if (inside) {
        place(node, margin + (node.start - view.start) * scale, node.size * scale);
      } else {
        node.element.classList.add("off");
      }
    });
    svg.dataset.zoom = String(zoomed);
    if (reset) reset.style.visibility = page || zoomed !== 0 || query !== "" ? "visible" : "hidden";
  }

  // A frame is found by a part of its name in any case, or by a regular expression.
  function matcher(text) {
    const part = text.toLowerCase();
    let expression = null;
    try { expression = new RegExp(text, "i"); } catch (error) { expression = null; }
    return function (name) { return name.toLowerCase().includes(part) || (expression !== null && expression.test(name)); };
  }

  function find(text) {
    query = text;
    const matches = text === "" ? function () { return false; } : matcher(text);
    let frames = 0;
    let ticks = 0n;
    let counted = 0;  // up to here everything is inside a match
    nodes.forEach(function (node, i) {
      node.hit = i > 0 && node.isFrame && matches(node.name);
      node.element.classList.toggle("hit", node.hit);
      if (!node.hit) return;
      ++frames;
      if (i < counted) return;
      ticks += node.ticks;
      counted = node.end;
    });
    svg.classList.toggle("searching", text !== "");
    matched.textContent = text === "" ? "" : "Matched " + shareText(ticks) + ", " + timeText(ticks) + ", in " +
      grouped(String(frames)) + (frames === 1 ? " frame" : " frames");
  }

  // A long name is cut at the right edge, so it comes last.
  function show(node) {
    details.textContent = node ? node.label.slice(node.name.length + 1) + " | " + node.name : details.dataset.hint;
  }

  function remember() {
    const parts = [];
    if (query !== "") parts.push("search=" + encodeURIComponent(query));
    if (zoomed !== 0) parts.push("zoom=" + zoomed);
    try { history.replaceState(null, "", parts.length > 0 ? "#" + parts.join("&") : location.pathname + location.search); } catch (error) {
      // Where the address cannot change, the chart still works.
    }
  }

  function zoom(i) {
    zoomed = nodes[i].isFrame ? i : nodes[i].parent;
    layout();
    remember();
  }
  function searchFor(text) {
    find(text);
    layout();
    remember();
  }
  function resetAll() {
    zoomed = 0;
    if (page) search.value = "";
    searchFor("");
  }
  function ask() {
    if (page) {
      search.focus();
      search.select();
      return;
    }
    const text = window.prompt("Part of a name, or a regular expression:", query);
    if (text !== null) searchFor(text);
  }

  function readAddress() {
    let text = "";
    zoomed = 0;
    location.hash.slice(1).split("&").forEach(function (part) {
      const at = part.indexOf("=");
      let value = part.slice(at + 1);
      try { value = decodeURIComponent(value); } catch (error) { value = part.slice(at + 1); }
      if (part.startsWith("search=")) text = value;
      if (part.startsWith("zoom=") && /^\d+$/.test(value) && Number(value) < nodes.length) zoomed = Number(value);
    });
    if (!nodes[zoomed].isFrame) zoomed = nodes[zoomed].parent;
    if (page) search.value = text;
    find(text);
    layout();
  }

  function indexOf(target) {
    const element = target.closest ? target.closest(".n") : null;
    return places.has(element) ? places.get(element) : -1;
  }
  // One frame takes part in the order of the Tab key; arrows move it.
  let tabbed = 0;
  function focus(i) {
    nodes[tabbed].element.setAttribute("tabindex", "-1");
    tabbed = i;
    nodes[i].element.setAttribute("tabindex", "0");
    nodes[i].element.focus();
  }
  function visible(i) { return i >= 0 && i < nodes.length && !nodes[i].element.classList.contains("off"); }

  svg.addEventListener("click", function (event) {
    const i = indexOf(event.target);
    if (i >= 0) zoom(i);
  });
  svg.addEventListener("mouseover", function (event) {
    const i = indexOf(event.target);
    show(i >= 0 ? nodes[i] : null);
  });
  svg.addEventListener("focusin", function (event) {
    const i = indexOf(event.target);
    show(i >= 0 ? nodes[i] : null);
  });
  document.addEventListener("keydown", function (event) {
    if (event.key === "f" && (event.ctrlKey || event.metaKey) && !(page && event.target === search)) {
      event.preventDefault();
      ask();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") resetAll();
    if (page && event.target === search) return;
    if (event.key === "/") {
      event.preventDefault();
      ask();
      return;
    }
    const i = indexOf(event.target);
    if (i < 0) return;
    let next = -1;
    if (event.key === "ArrowUp") next = nodes[i].parent;
    if (event.key === "ArrowDown") next = i + 1 < nodes[i].end ? i + 1 : -1;
    if (event.key === "ArrowRight" && nodes[i].end < nodes.length) next = nodes[i].end;
    if (event.key === "ArrowLeft") next = i - 1;
    while (event.key === "ArrowLeft" && next >= 0 && nodes[next].depth > nodes[i].depth) next = nodes[next].parent;
    if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      if (next >= 0 && nodes[next].depth !== nodes[i].depth) next = -1;
    }
    if (event.key === "Enter" || event.key === " ") zoom(i);
    if (/^Arrow|^Enter$|^ $/.test(event.key)) event.preventDefault();
    if (visible(next)) focus(next);
  });
  window.addEventListener("resize", layout);
  window.addEventListener("hashchange", readAddress);
  if (page) {
    page.addEventListener("submit", function (event) { event.preventDefault(); });
    search.addEventListener("input", function () { searchFor(search.value); });
    reset.addEventListener("click", resetAll);
  } else {
    document.getElementById("flame-links").style.visibility = "visible";
    [[search, ask], [reset, resetAll]].forEach(function (link) {
      link[0].addEventListener("click", function (event) {
        event.preventDefault();
        link[1]();
      });
    });
  }
  show(null);
  readAddress();
})();
)js";

}  // namespace

std::string FlameStyle() {
  std::string light(kLight);
  std::string dark(kDark);
  for (unsigned i = 0; i < kFlameColours; ++i) {
    light += fmt::format("#flame .c{}{{fill:{}}}\n", i, Colour(Hue(i), 0.62, i % 2 == 0 ? 0.80 : 0.72));
    dark += fmt::format("#flame .c{}{{fill:{}}}\n", i, Colour(Hue(i), 0.45, i % 2 == 0 ? 0.30 : 0.25));
  }
  return light + "@media (prefers-color-scheme:dark){" + dark + "}\n";
}

std::string_view FlamePageStyle() { return kPage; }

std::string_view FlameScript() { return kScript; }

}  // namespace etwpipe
