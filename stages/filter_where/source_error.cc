#include "stages/filter_where/source_error.h"

#include <fmt/format.h>

#include <algorithm>

namespace etwpipe::where {
namespace {

constexpr size_t kCharactersBefore = 60;
constexpr size_t kCharactersAfter = 40;

bool StartsCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

size_t CountCharacters(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), StartsCharacter));
}

size_t Back(std::string_view text, size_t at, size_t characters) {
  while (at > 0 && characters > 0) {
    --at;
    if (StartsCharacter(text[at])) --characters;
  }
  return at;
}

size_t Forward(std::string_view text, size_t at, size_t characters) {
  while (at < text.size()) {
    if (StartsCharacter(text[at]) && characters-- == 0) break;
    ++at;
  }
  return at;
}

// A control character would move the caret or the terminal.
std::string Printable(std::string_view text) {
  std::string line(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, ' ');
  return line;
}

}  // namespace

Status SourceError(std::string_view source, size_t offset, std::string_view message) {
  offset = std::min(offset, source.size());
  const size_t newline = offset == 0 ? std::string_view::npos : source.rfind('\n', offset - 1);
  const size_t line_begin = newline == std::string_view::npos ? 0 : newline + 1;
  const size_t line_end = std::min(source.find('\n', offset), source.size());
  const std::string_view line = source.substr(line_begin, line_end - line_begin);
  const size_t at = offset - line_begin;
  const size_t from = Back(line, at, kCharactersBefore);
  const size_t to = Forward(line, at, kCharactersAfter);

  const auto line_number =
      std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(line_begin), '\n') + 1;
  const std::string place =
      source.find('\n') == std::string_view::npos
          ? fmt::format("column {}", CountCharacters(line.substr(0, at)) + 1)
          : fmt::format("line {}, column {}", line_number, CountCharacters(line.substr(0, at)) + 1);
  const std::string_view lead = from > 0 ? "..." : "";
  const std::string_view tail = to < line.size() ? "..." : "";
  const size_t indent = lead.size() + CountCharacters(line.substr(from, at - from));
  return Status::InvalidArgument(fmt::format("{}: {}\n  {}{}{}\n  {:>{}}", place, message, lead,
                                             Printable(line.substr(from, to - from)), tail, "^", indent + 1));
}

std::string DidYouMean(const std::vector<std::string>& names) {
  if (names.empty()) return {};
  std::string text = " (did you mean ";
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text + "?)";
}

}  // namespace etwpipe::where
