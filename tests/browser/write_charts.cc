// Writes the charts that check_charts.py opens: of the frames in a file, and of what is hard to draw.
//   etwpipe-flame-charts frames.tsv FOLDER
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tools/flame_chart.h"

namespace etwpipe {
namespace {

// As the head of frames.tsv describes it.
std::vector<FlameFrame> ReadFrames(const std::string& file) {
  std::vector<FlameFrame> frames;
  std::vector<uint32_t> open;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream cells(line);
    size_t row = 0;
    FlameFrame frame;
    cells >> row >> frame.own_ticks >> frame.count;
    cells.ignore(1);
    std::getline(cells, frame.name);
    if (!cells || row == 0 || row > open.size() + 1) {
      std::cerr << file << ": not a frame: " << line << '\n';
      return {};
    }
    open.resize(row - 1);
    if (!open.empty()) frame.parent = open.back();
    open.push_back(static_cast<uint32_t>(frames.size()));
    frames.push_back(std::move(frame));
  }
  return frames;
}

// 12,000 frames in 60 rows, all of them wide enough: more than are drawn.
std::vector<FlameFrame> Large() {
  std::vector<FlameFrame> frames;
  for (uint32_t tower = 0; tower < 200; ++tower) {
    for (uint32_t row = 0; row < 60; ++row) {
      frames.push_back({.name = "tower " + std::to_string(tower) + " floor " + std::to_string(row),
                        .parent = row == 0 ? kNoFrame : static_cast<uint32_t>(frames.size() - 1),
                        .own_ticks = row == 59 ? 40 : tower % 3});
    }
  }
  return frames;
}

std::vector<FlameFrame> Deep() {
  std::vector<FlameFrame> frames;
  for (uint32_t i = 0; i < 1'000'000; ++i) {
    frames.push_back({.name = "call " + std::to_string(i), .parent = i == 0 ? kNoFrame : i - 1, .own_ticks = 1});
  }
  return frames;
}

int Run(const std::string& frames_file, const std::filesystem::path& folder) {
  const std::vector<FlameFrame> build = ReadFrames(frames_file);
  if (build.empty()) return 4;
  const std::vector<std::pair<std::string, std::vector<FlameFrame>>> charts = {
      {"build", build}, {"large", Large()}, {"deep", Deep()}, {"empty", {}}};
  for (const auto& [name, frames] : charts) {
    for (const bool html : {false, true}) {
      std::ofstream out(folder / (name + (html ? ".html" : ".svg")), std::ios::binary);
      out << FlameChart(
          {.title = name + ".etl: a build, by responsibility",
           .unit_note = "Width is the wall-clock time an activity and those inside it are responsible for.",
           .ticks_per_second = 10'000'000,
           .frames = frames,
           .html = html});
      if (!out.flush()) return 5;
    }
  }
  return 0;
}

}  // namespace
}  // namespace etwpipe

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::cerr << "usage: etwpipe-flame-charts frames.tsv FOLDER\n";
    return 2;
  }
  return etwpipe::Run(argv[1], argv[2]);
} catch (const std::exception& error) {
  std::cerr << "etwpipe-flame-charts: " << error.what() << '\n';
  return 1;
}
