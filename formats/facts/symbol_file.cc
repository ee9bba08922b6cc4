#include "formats/facts/symbol_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <vector>

namespace etwpipe::facts {
namespace {

constexpr size_t kMaxLine = 64 * 1024;
constexpr uint64_t kMaxFile = uint64_t{4} << 30;

// Takes the next word off `text`.
std::string_view Word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  return word;
}

std::string_view Rest(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return text;
}

std::optional<uint64_t> Hex(std::string_view word) {
  if (word.starts_with("0x") || word.starts_with("0X")) word.remove_prefix(2);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, 16);
  if (word.empty() || error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

}  // namespace

void SymbolParser::Line(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty()) return;
  if (!(format_ == SymbolFormat::kBreakpad ? Breakpad(line) : PerfMap(line))) BadLine();
}

// The form: "MODULE os arch id name", "FUNC [m] address size parameter_size name", "PUBLIC [m] address parameter_size
// name"; numbers are hex. Other records, of which most begin with a number, are not names of code.
bool SymbolParser::Breakpad(std::string_view line) {
  std::string_view rest = line;
  const std::string_view kind = Word(rest);
  if (kind == "MODULE") {
    Word(rest);
    Word(rest);
    const std::string_view id = Word(rest);
    const std::string_view name = Rest(rest);
    if (id.empty() || name.empty() || !file_.id.empty()) return false;
    file_.id = id;
    for (char& c : file_.id) c = c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c;
    file_.name = name;
    return true;
  }
  const bool function = kind == "FUNC";
  if (!function && kind != "PUBLIC") return true;
  std::string_view word = Word(rest);
  if (word == "m") word = Word(rest);
  const auto address = Hex(word);
  const auto size = function ? Hex(Word(rest)) : std::optional<uint64_t>(0);
  const auto parameters = Hex(Word(rest));
  const std::string_view name = Rest(rest);
  if (!address || !size || !parameters || name.empty()) return false;
  *size != 0 ? builder_.AddRange(*address, *size, name) : builder_.AddPlace(*address, name);
  return true;
}

bool SymbolParser::PerfMap(std::string_view line) {
  const auto start = Hex(Word(line));
  const auto size = Hex(Word(line));
  const std::string_view name = Rest(line);
  if (!start || !size || *size == 0 || name.empty()) return false;
  builder_.AddRange(*start, *size, name);
  return true;
}

SymbolFile SymbolParser::Finish() {
  file_.dropped = builder_.dropped();
  file_.table = builder_.Build();
  return std::move(file_);
}

std::optional<uint32_t> PerfMapProcess(std::string_view file_name) {
  constexpr std::string_view kBefore = "perf-";
  constexpr std::string_view kAfter = ".map";
  if (!file_name.starts_with(kBefore) || !file_name.ends_with(kAfter)) return std::nullopt;
  if (file_name.size() <= kBefore.size() + kAfter.size()) return std::nullopt;
  const auto digits = file_name.substr(kBefore.size(), file_name.size() - kBefore.size() - kAfter.size());
  uint32_t pid = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), pid);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return pid;
}

Result<SymbolFile> ReadSymbolFile(const std::filesystem::path& path, const SymbolTable::Limits& limits) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Status::Input(fmt::format("{}: cannot open it: {}", path.string(), std::strerror(errno)));
  const bool perf_map = PerfMapProcess(path.filename().string()).has_value();
  SymbolParser parser(perf_map ? SymbolFormat::kPerfMap : SymbolFormat::kBreakpad, limits);
  std::vector<char> buffer(2 * kMaxLine);
  size_t kept = 0;        // bytes of a line that has not ended
  bool too_long = false;  // the rest of a line is passed over
  uint64_t total = 0;
  bool first = !perf_map;
  const auto take = [&](std::string_view line) {
    if (first && !line.starts_with("MODULE ")) return false;
    first = false;
    too_long || line.size() > kMaxLine ? parser.BadLine() : parser.Line(line);
    too_long = false;
    return true;
  };
  const auto not_symbols = [&] {
    return Status::InvalidArgument(
        fmt::format("{}: not a symbol file; a Breakpad .sym begins with MODULE, a perf map is called perf-<pid>.map",
                    path.string()));
  };
  while (in && total < kMaxFile) {
    in.read(buffer.data() + kept, static_cast<std::streamsize>(kMaxLine));
    const auto got = static_cast<size_t>(in.gcount());
    total += got;
    std::string_view text(buffer.data(), kept + got);
    for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
      if (!take(text.substr(0, end))) return not_symbols();
      text.remove_prefix(end + 1);
    }
    if (text.size() > kMaxLine) {
      if (first && !text.starts_with("MODULE ")) return not_symbols();
      first = false;
      too_long = true;
      text = {};
    }
    kept = text.size();
    if (kept != 0) std::memmove(buffer.data(), text.data(), kept);
  }
  if (in.bad()) return Status::Input(fmt::format("{}: cannot read it: {}", path.string(), std::strerror(errno)));
  if ((kept != 0 || too_long || first) && !take({buffer.data(), kept})) return not_symbols();
  return parser.Finish();
}

}  // namespace etwpipe::facts
