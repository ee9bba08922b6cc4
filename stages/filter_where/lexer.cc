#include "stages/filter_where/lexer.h"

#include <fmt/format.h>

#include <limits>
#include <string>

#include "stages/duration.h"
#include "stages/filter_where/source_error.h"

namespace etwpipe::where {
namespace {

constexpr size_t kGuidCharacters = 36;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsWordCharacter(char c) { return IsLetter(c) || IsDigit(c); }
bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

int HexValue(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Eight hexadecimal digits and a hyphen: nothing else of the language looks so.
bool LooksLikeGuid(std::string_view rest) {
  if (rest.starts_with("{")) rest.remove_prefix(1);
  size_t digits = 0;
  while (digits < rest.size() && HexValue(rest[digits]) >= 0) ++digits;
  return digits == 8 && rest.size() > 9 && rest[8] == '-' && HexValue(rest[9]) >= 0;
}

// What somebody used to another language means by an unknown character.
std::string_view Hint(std::string_view rest) {
  if (rest.starts_with("&&")) return "write 'and' for '&&'";
  if (rest.starts_with("||")) return "write 'or' for '||'";
  if (rest.starts_with("!~")) return "write 'not (x =~ ...)' for '!~'";
  if (rest.starts_with("!")) return "write 'not' for '!'";
  if (rest.starts_with("=")) return "write '==' for '='";
  return {};
}

}  // namespace

Status Lexer::Error(size_t offset, std::string_view message) const { return SourceError(source_, offset, message); }

Result<Token> Lexer::Next() {
  while (at_ < source_.size() && IsSpace(source_[at_])) ++at_;
  const size_t begin = at_;
  Token token;
  token.offset = begin;
  if (begin == source_.size()) return token;
  const std::string_view rest = source_.substr(begin);
  const char first = rest.front();

  // A GUID may begin like a name, a number or with a brace, so it is looked for first.
  for (const size_t length : {kGuidCharacters, kGuidCharacters + 2}) {
    if (rest.size() < length || (rest.size() > length && IsWordCharacter(rest[length]))) continue;
    if (const auto guid = ParseGuid(rest.substr(0, length))) {
      token.kind = TokenKind::kGuid;
      token.text = rest.substr(0, length);
      token.guid = *guid;
      at_ = begin + length;
      return token;
    }
  }
  if (LooksLikeGuid(rest)) return Error(begin, "a GUID has 8-4-4-4-12 hexadecimal digits");
  if (first == '\'' || first == '"') return String(begin);
  if (IsDigit(first)) return Number(begin);
  if (IsLetter(first)) {
    size_t end = begin + 1;
    while (end < source_.size() && (IsWordCharacter(source_[end]) ||
                                    (source_[end] == '.' && end + 1 < source_.size() && IsLetter(source_[end + 1])))) {
      ++end;
    }
    token.kind = TokenKind::kName;
    token.text = source_.substr(begin, end - begin);
    at_ = end;
    return token;
  }
  if (const auto hint = rest.starts_with("&&") ? Hint(rest) : std::string_view(); !hint.empty())
    return Error(begin, hint);
  for (const std::string_view symbol :
       {"==", "!=", "<=", ">=", "=~", "<", ">", "&", "(", ")", "[", "]", ",", "-", "~"}) {
    if (!rest.starts_with(symbol)) continue;
    token.kind = TokenKind::kSymbol;
    token.text = rest.substr(0, symbol.size());
    at_ = begin + symbol.size();
    return token;
  }
  if (const auto hint = Hint(rest); !hint.empty()) return Error(begin, hint);
  const auto byte = static_cast<unsigned char>(first);
  if (byte < 0x20 || byte >= 0x7F) return Error(begin, fmt::format("unexpected byte 0x{:02x}", byte));
  return Error(begin, fmt::format("unexpected '{}'", first));
}

Result<Token> Lexer::String(size_t begin) {
  const size_t close = source_.find(source_[begin], begin + 1);
  if (close == std::string_view::npos) return Error(begin, "the string is not closed");
  Token token;
  token.kind = TokenKind::kString;
  token.offset = begin;
  token.text = source_.substr(begin + 1, close - begin - 1);
  at_ = close + 1;
  return token;
}

Result<Token> Lexer::Number(size_t begin) {
  size_t end = begin;
  while (end < source_.size() && (IsWordCharacter(source_[end]) ||
                                  (source_[end] == '.' && end + 1 < source_.size() && IsDigit(source_[end + 1])))) {
    ++end;
  }
  Token token;
  token.offset = begin;
  token.text = source_.substr(begin, end - begin);
  at_ = end;

  const bool hex = token.text.starts_with("0x") || token.text.starts_with("0X");
  const std::string_view digits = token.text.substr(hex ? 2 : 0);
  const unsigned base = hex ? 16 : 10;
  uint64_t value = 0;
  size_t taken = 0;
  for (; taken < digits.size(); ++taken) {
    const int digit = HexValue(digits[taken]);
    if (digit < 0 || static_cast<unsigned>(digit) >= base) break;
    if (value > (std::numeric_limits<uint64_t>::max() - static_cast<unsigned>(digit)) / base) {
      return Error(begin, "the number does not fit in 64 bits");
    }
    value = value * base + static_cast<unsigned>(digit);
  }
  if (taken == digits.size() && taken > 0) {
    token.kind = TokenKind::kInteger;
    token.integer = value;
    return token;
  }
  if (hex) return Error(begin + 2 + taken, "a hexadecimal number needs digits 0-9 and a-f only");
  std::string reason;
  const auto duration = ParseDuration(token.text, &reason);
  if (!duration) return Error(begin, reason);
  token.kind = TokenKind::kDuration;
  token.nanoseconds = *duration;
  return token;
}

}  // namespace etwpipe::where
