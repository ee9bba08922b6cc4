#!/usr/bin/env python3
"""Opens flame charts in headless Chromium and checks what a person would see and do.

    check_charts.py --chromium PROGRAM --charts FOLDER --frames frames.tsv --shots FOLDER [--analyzed NAME...]

FOLDER holds what etwpipe-flame-charts wrote, and NAME.html and NAME.svg for every --analyzed NAME. What the chart of
frames.tsv must show is computed here from that file. Chromium prints the document as its scripts left it (--dump-dom); a
user's clicks and keys are events that a script at the end of a copy of the chart sends.
"""

import argparse
import html.parser
import re
import struct
import subprocess
import sys
import tempfile
import urllib.parse
import zlib
from pathlib import Path

TICKS_PER_SECOND = 10_000_000  # as write_charts.cc has it
WIDTH, HEIGHT = 1280, 700
MARGIN = 12  # left and right of the base, page and SVG alike

failures = []


def check(condition, text):
    if not condition:
        failures.append(text)
        print(f"    FAILED: {text}")


def equal(got, wanted, text):
    check(got == wanted, f"{text}: got {got!r}, wanted {wanted!r}")


class Browser:
    def __init__(self, program, folder):
        self.folder = Path(folder)
        self.command = [program, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
                        "--disable-dev-shm-usage", f"--window-size={WIDTH},{HEIGHT}",
                        f"--user-data-dir={self.folder / 'profile'}",
                        # Nothing has an address, so nothing can be fetched.
                        "--host-resolver-rules=MAP * ~NOTFOUND"]

    def run(self, options, file, fragment):
        address = f"file://{urllib.parse.quote(str(Path(file).resolve()))}{'#' + fragment if fragment else ''}"
        try:
            return subprocess.run([*self.command, *options, address], capture_output=True, timeout=300, check=False)
        except subprocess.TimeoutExpired:
            sys.exit(f"{file}: Chromium has not shown the chart within 300 s")

    def dom(self, file, fragment="", user=""):
        """The document after loading; with `user`, after that script has acted in a copy."""
        if user:
            text = Path(file).read_text(encoding="utf-8")
            end = "</body>" if file.suffix == ".html" else "</svg>\n"
            at = text.rindex(end)
            text = f"{text[:at]}<script><![CDATA[{user}]]></script>{text[at:]}" if file.suffix == ".svg" else \
                f"{text[:at]}<script>{user}</script>{text[at:]}"
            file = self.folder / file.name
            file.write_text(text, encoding="utf-8")
        done = self.run(["--dump-dom"], file, fragment)
        text = done.stdout.decode("utf-8", "replace")
        if 'id="flame"' not in text:
            sys.exit(f"{file}: Chromium did not show the chart:\n{text[:500]}\n{done.stderr.decode()[-2000:]}")
        return Dom(text)

    def shot(self, file, fragment, image, options=()):
        self.run([f"--screenshot={image}", *options], file, fragment)
        check(image.exists(), f"no screenshot {image}")


class Dom(html.parser.HTMLParser):
    """The parts of a document that the checks look at."""

    VOID = {"meta", "input", "link", "br"}

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.attributes = {}  # by id
        self.texts = {}       # by id
        self.frames = []      # dicts: attributes of g.n; title, rect, text
        self.scripts = 0
        self.stack = []
        self.feed(text)
        self.close()
        for frame in self.frames:
            frame["name"] = frame["title"].split("\n")[0]
            frame["classes"] = frame["class"].split()
            frame["total"] = int(frame["data-t"])
            frame["row"] = int(frame["data-d"])
            frame["x"] = float(frame["rect"]["x"])
            frame["width"] = float(frame["rect"]["width"])
        path = []
        for i, frame in enumerate(self.frames):
            del path[frame["row"]:]
            frame["above"] = list(path)
            path.append(i)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if "id" in attrs:
            self.attributes[attrs["id"]] = attrs
            self.texts.setdefault(attrs["id"], "")
        self.scripts += tag == "script"
        frame = None
        if tag == "g" and "n" in attrs.get("class", "").split():
            frame = {**attrs, "title": "", "text": "", "rect": {}}
            self.frames.append(frame)
        elif self.stack:
            frame = self.stack[-1][2]
            if frame is not None and tag == "rect":
                frame["rect"] = attrs
        if tag not in self.VOID:
            self.stack.append((tag, attrs.get("id"), frame))

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        for i in range(len(self.stack) - 1, -1, -1):
            if self.stack[i][0] == tag:
                del self.stack[i:]
                return

    def handle_data(self, data):
        for tag, name, _ in self.stack:
            if name:
                self.texts[name] += data
        if self.stack and self.stack[-1][2] is not None and self.stack[-1][0] in ("title", "text"):
            self.stack[-1][2][self.stack[-1][0]] += data

    @property
    def matched(self):
        return self.texts["flame-matched"]

    @property
    def zoom(self):
        return int(self.attributes["flame"]["data-zoom"])

    def visible(self):
        return [f for f in self.frames if "off" not in f["classes"]]

    def hits(self):
        return sorted(f["name"] for f in self.frames if "hit" in f["classes"])

    def number_of(self, name):
        return next(i for i, f in enumerate(self.frames) if f["name"] == name)


class Expected:
    """Sums by path, from frames.tsv."""

    def __init__(self, file):
        self.totals = {(): 0}
        path = []
        for line in file.read_text(encoding="utf-8").splitlines():
            if line.startswith("#"):
                continue
            row, own, _, name = line.split("\t")
            path[int(row) - 1:] = [name]
            for length in range(len(path) + 1):
                key = tuple(path[:length])
                self.totals[key] = self.totals.get(key, 0) + int(own)
        self.whole = self.totals[()]
        self.drawn = {p: t for p, t in self.totals.items() if t * 10_000 >= self.whole}

    def matched(self, finds):
        """What the chart says of the frames whose name `finds` accepts."""
        found = [p for p in self.drawn if p and finds(p[-1])]
        outermost = [p for p in found if not any(p[:n] in found for n in range(1, len(p)))]
        ticks = sum(self.drawn[p] for p in outermost)
        return found, matched_text(ticks, self.whole, len(found))


def share_text(ticks, whole):
    parts = (ticks * 20_000 + whole) // (2 * whole)
    return "less than 0.01 %" if parts == 0 and ticks > 0 else f"{parts // 100}.{parts % 100:02} %"


def matched_text(ticks, whole, frames):
    micros = (ticks * 2_000_000 + TICKS_PER_SECOND) // (2 * TICKS_PER_SECOND)
    return (f"Matched {share_text(ticks, whole)}, {micros // 1000:,}.{micros % 1000:03} ms, in {frames:,} "
            f"{'frame' if frames == 1 else 'frames'}")


def check_geometry(dom, what):
    """Every visible frame is as wide as its share of the zoomed one, and stands inside its parent."""
    zoomed = dom.frames[dom.zoom]
    room = WIDTH - 2 * MARGIN
    for i, frame in enumerate(dom.frames):
        visible = "off" not in frame["classes"]
        if i == dom.zoom or i in zoomed["above"]:
            check(visible and abs(frame["width"] - room) < 0.01 and abs(frame["x"] - (dom.frames[0]["x"])) < 0.01,
                  f"{what}: {frame['name']} does not take the whole width")
        elif dom.zoom in frame["above"]:
            width = room * frame["total"] / zoomed["total"]
            check(abs(frame["width"] - width) < 0.01 or (not visible and width < 0.11) or
                  ("hit" in frame["classes"] and width < 1), f"{what}: {frame['name']} is {frame['width']} wide, not {width}")
            parent = dom.frames[frame["above"][-1]]
            if visible and "hit" not in frame["classes"]:
                check(frame["x"] > parent["x"] - 0.01 and
                      frame["x"] + frame["width"] < parent["x"] + parent["width"] + 0.01,
                      f"{what}: {frame['name']} sticks out of {parent['name']}")
        else:
            check(not visible, f"{what}: {frame['name']} is outside the zoomed frame and visible")


# Texts wider than their rectangle, and whether the page can be scrolled sideways.
MEASURE = """
document.getElementById("flame").dataset.wide = Array.from(document.querySelectorAll("#flame .n:not(.off) text"))
  .filter(t => t.getComputedTextLength() > Number(t.parentNode.querySelector("rect").getAttribute("width")) - 3)
  .map(t => t.textContent).join("|");
document.getElementById("flame").dataset.sideways =
  String(document.documentElement.scrollWidth > window.innerWidth);
"""

HELPERS = """
const frame = name => Array.from(document.querySelectorAll("#flame .n"))
  .find(g => g.querySelector("title").textContent.split("\\n")[0] === name);
const click = element => element.dispatchEvent(new MouseEvent("click", {bubbles: true, cancelable: true}));
const key = (name, more) => (document.activeElement || document.documentElement)
  .dispatchEvent(new KeyboardEvent("keydown", {key: name, bubbles: true, cancelable: true, ...more}));
const note = (name, text) => { document.getElementById("flame").dataset[name] = String(text); };
"""


def check_build(browser, file, expected):
    what = file.name
    dom = browser.dom(file, user=MEASURE)
    frames = {}
    for frame in dom.frames:
        path = tuple(dom.frames[i]["name"] for i in frame["above"][1:]) + ((frame["name"],) if frame["row"] else ())
        frames[path] = frame["total"]
    equal(frames, expected.drawn, f"{what}: frames")
    equal(dom.scripts, 2, f"{what}: scripts, the one of the check among them")
    equal(dom.attributes["flame"]["data-wide"], "", f"{what}: labels wider than their frame")
    equal(dom.attributes["flame"]["data-sideways"], "false", f"{what}: the page is wider than the window")
    equal(dom.matched, "", f"{what}: matched without a search")
    check_geometry(dom, what)
    labelled = [f for f in dom.visible() if f["width"] > 60]
    check(len(labelled) > 10 and all(f["text"] for f in labelled), f"{what}: wide frames without a label")

    searches = {
        "vector": lambda name: "vector" in name,                   # nested: a template inside the front end
        "INCLUDE|template": lambda name: name.startswith(("Include", "Template")),
        "^GC$": lambda name: name == "GC",
        "^(CL|Link).*(proj|exe)$": lambda name: name.startswith(("CL.exe", "Link")),
        "Draw(const": lambda name: "Draw(const" in name,           # no regular expression
        "Größe_日本": lambda name: "Größe_日本" in name,
        "</title>": lambda name: "</title>" in name,
        "a&b=100%": lambda name: False,
    }
    for text, finds in searches.items():
        found, says = expected.matched(finds)
        dom = browser.dom(file, "search=" + urllib.parse.quote(text, safe=""))
        equal(dom.matched, says, f"{what}: search for {text}")
        equal(dom.hits(), sorted(p[-1] for p in found), f"{what}: frames found by {text}")
        check("searching" in dom.attributes["flame"].get("class", ""), f"{what}: nothing is dimmed")

    for name in ("Build/Solution", "FrontEnd: render.cpp", "Include: geometry.h", "GC/Suspension"):
        number = dom.number_of(name)
        zoomed = browser.dom(file, f"zoom={number}&search=Include")
        equal(zoomed.zoom, number, f"{what}: zoomed to {name}")
        check_geometry(zoomed, f"{what}, zoomed to {name}")
        equal(zoomed.matched, expected.matched(lambda n: "Include" in n)[1], f"{what}: search while zoomed")
    for wrong in ("zoom=999999", "zoom=-1&=&&zoom", "zoom=x&search=%E0%A4%A"):
        equal(browser.dom(file, wrong).zoom, 0, f"{what}: zoom by #{wrong}")


def check_user(browser, file, expected):
    """Clicks and keys."""
    what = f"{file.name}, used"
    plain = browser.dom(file)
    front_end = plain.number_of("FrontEnd: render.cpp")
    search = 'const input = document.getElementById("flame-search"); '
    if file.suffix == ".html":
        type_gc = search + 'input.value = "GC"; input.dispatchEvent(new Event("input", {bubbles: true}));'
    else:
        type_gc = search + 'window.prompt = () => "GC"; click(input.firstChild);'
    dom = browser.dom(file, user=HELPERS + 'click(frame("FrontEnd: render.cpp").querySelector("rect"));' + type_gc +
                      'note("hash", location.hash);')
    equal(dom.zoom, front_end, f"{what}: click zooms")
    check(dom.matched.endswith("in 2 frames"), f"{what}: typing searches ({dom.matched})")
    equal(dom.attributes["flame"]["data-hash"], f"#search=GC&zoom={front_end}", f"{what}: address")
    check_geometry(dom, what)

    dom = browser.dom(file, user=HELPERS + 'click(frame("FrontEnd: render.cpp")); click(frame("Build/Solution"));')
    equal(dom.zoom, plain.number_of("Build/Solution"), f"{what}: click on one above zooms out")
    dom = browser.dom(file, f"zoom={front_end}&search=GC", HELPERS + 'click(document.getElementById("flame-reset"));'
                      'note("hash", location.hash);')
    equal((dom.zoom, dom.matched, dom.attributes["flame"]["data-hash"]), (0, "", ""), f"{what}: reset")
    dom = browser.dom(file, f"zoom={front_end}&search=GC", HELPERS + 'key("Escape");')
    equal((dom.zoom, dom.matched), (0, ""), f"{what}: Escape")

    # all -> Build/Solution -> GC -> its Suspension -> back up -> JIT; then zoom.
    keys = ["ArrowDown", "ArrowRight", "ArrowDown", "ArrowUp", "ArrowRight", "ArrowRight", "ArrowLeft", "Enter"]
    dom = browser.dom(file, user=HELPERS + 'frame("all").focus();' + "".join(f'key("{k}");' for k in keys) +
                      'note("focus", document.activeElement.querySelector("title").textContent);')
    wanted = [f["name"] for f in plain.frames if f["row"] == 1]
    equal(wanted[:3], ["Build/Solution", "GC", "JIT"], f"{what}: the frames on the base")
    equal(dom.attributes["flame"]["data-focus"].split("\n")[0], "JIT", f"{what}: arrow keys")
    equal(dom.zoom, plain.number_of("JIT"), f"{what}: Enter zooms")
    share = share_text(1_730_000, expected.whole)
    equal(dom.texts["flame-details"], f"173.000 ms, {share}; own 173.000 ms, {share}; count 380 | JIT",
          f"{what}: details of the frame with the focus")
    equal([f["tabindex"] for f in dom.frames].count("0"), 1, f"{what}: frames in the order of the Tab key")

    if file.suffix == ".html":
        for press in ('key("/")', 'key("f", {ctrlKey: true})'):
            dom = browser.dom(file, user=HELPERS + press + ';note("focus", document.activeElement.id);')
            equal(dom.attributes["flame"]["data-focus"], "flame-search", f"{what}: {press} goes to the search")
    else:
        dom = browser.dom(file, user=HELPERS + 'window.prompt = () => "JIT"; key("f", {ctrlKey: true});')
        check(dom.matched.endswith("in 1 frame"), f"{what}: Ctrl-F searches ({dom.matched})")


def check_analyzed(browser, file):
    """A chart of real activities: it opens, and what the search says of its widest name is what its frames say."""
    what = file.name
    dom = browser.dom(file, user=MEASURE)
    equal(dom.attributes["flame"]["data-wide"], "", f"{what}: labels wider than their frame")
    named = [f for f in dom.frames[1:] if "more" not in f["classes"]]
    check(len(named) > 0 and dom.frames[0]["total"] > 0, f"{what}: no frames")
    if not named:
        return
    check_geometry(dom, what)
    widest = max(named, key=lambda f: f["total"])
    dom = browser.dom(file, f"search={urllib.parse.quote('^' + re.escape(widest['name']) + '$', safe='')}")
    check(widest["name"] in dom.hits(), f"{what}: {widest['name']} is not found")
    hits = [i for i, f in enumerate(dom.frames) if "hit" in f["classes"]]
    outermost = [dom.frames[i]["total"] for i in hits if not set(dom.frames[i]["above"]) & set(hits)]
    check(f", in {len(hits):,} frame" in dom.matched and
          f" {share_text(sum(outermost), dom.frames[0]['total'])}, " in dom.matched, f"{what}: {dom.matched}")


def pixels(image):
    """Rows of (r, g, b) of a PNG as Chromium writes it: 8 bits a channel, not interlaced."""
    data = image.read_bytes()
    at, packed, width, channels = 8, b"", 0, 0
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, _, depth, colour = struct.unpack(">IIBB", body[:10])
            channels = {2: 3, 6: 4}[colour]
            assert depth == 8
        elif kind == b"IDAT":
            packed += body
        at += size + 12
    raw = zlib.decompress(packed)
    step = width * channels
    above = bytearray(step)
    rows = []
    for begin in range(0, len(raw), step + 1):
        method = raw[begin]
        row = bytearray(raw[begin + 1:begin + 1 + step])
        for i in range(step):
            left = row[i - channels] if i >= channels else 0
            up = above[i]
            corner = above[i - channels] if i >= channels else 0
            if method == 1:
                row[i] = (row[i] + left) & 255
            elif method == 2:
                row[i] = (row[i] + up) & 255
            elif method == 3:
                row[i] = (row[i] + (left + up) // 2) & 255
            elif method == 4:
                guess = left + up - corner
                nearest = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))
                row[i] = (row[i] + nearest[2]) & 255
        rows.append([tuple(row[i:i + 3]) for i in range(0, step, channels)])
        above = row
    return rows


def check_shot(browser, file, fragment, image, options, background):
    """The picture shows frames in several colours, and the background of its scheme."""
    browser.shot(file, fragment, image, options)
    if not image.exists():
        return
    counts = {}
    for row in pixels(image):
        for pixel in row:
            counts[pixel] = counts.get(pixel, 0) + 1
    large = [p for p, count in counts.items() if count > 300]
    equal(max(counts, key=counts.get), background, f"{image.name}: background")
    check(len(large) > 8, f"{image.name}: only {len(large)} colours")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--chromium", required=True)
    parser.add_argument("--charts", required=True, type=Path)
    parser.add_argument("--frames", required=True, type=Path)
    parser.add_argument("--shots", required=True, type=Path)
    parser.add_argument("--analyzed", action="append", default=[])
    args = parser.parse_args()
    expected = Expected(args.frames)
    with tempfile.TemporaryDirectory() as folder:
        browser = Browser(args.chromium, folder)
        for kind in ("html", "svg"):
            print(f"    build.{kind}: frames, widths, labels, searches, zoom")
            check_build(browser, args.charts / f"build.{kind}", expected)
            print(f"    build.{kind}: clicks and keys")
            check_user(browser, args.charts / f"build.{kind}", expected)
            print(f"    large.{kind}, deep.{kind}, empty.{kind}")
            large = browser.dom(args.charts / f"large.{kind}", "search=floor 59")
            check_geometry(large, f"large.{kind}")
            check(10_000 <= len(large.frames) <= 20_000, f"large.{kind}: {len(large.frames)} frames")
            deep = browser.dom(args.charts / f"deep.{kind}", "zoom=150")
            equal((len(deep.frames), deep.zoom), (201, 150), f"deep.{kind}: frames, zoom")
            empty = browser.dom(args.charts / f"empty.{kind}", "search=a")
            equal((len(empty.frames), empty.matched), (1, "Matched 0.00 %, 0.000 ms, in 0 frames"), f"empty.{kind}")
        for name in args.analyzed:
            for kind in ("html", "svg"):
                print(f"    {name}.{kind}")
                check_analyzed(browser, args.charts / f"{name}.{kind}")
        args.shots.mkdir(parents=True, exist_ok=True)
        light, dark = (255, 255, 255), (0x18, 0x18, 0x18)
        page, picture = args.charts / "build.html", args.charts / "build.svg"
        as_dark = ["--blink-settings=preferredColorScheme=0"]
        check_shot(browser, page, "", args.shots / "page.png", [], light)
        check_shot(browser, page, "search=Include", args.shots / "page-search.png", [], light)
        check_shot(browser, page, "search=Include", args.shots / "page-dark.png", as_dark, dark)
        check_shot(browser, picture, "", args.shots / "svg.png", [], light)
        check_shot(browser, picture, "zoom=3", args.shots / "svg-zoom-dark.png", as_dark, dark)
    if failures:
        sys.exit(f"{len(failures)} checks failed")
    print(f"    screenshots: {args.shots}")


if __name__ == "__main__":
    main()
