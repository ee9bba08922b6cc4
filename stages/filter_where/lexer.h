// The words of the expression language (GRAMMAR.md).
#pragma once

#include <cstdint>
#include <string_view>

#include "pipeline/guid.h"
#include "pipeline/status.h"

namespace etwpipe::where {

enum class TokenKind : uint8_t {
  kEnd,
  kName,      ///< field, function or word operator; dots inside
  kInteger,   ///< decimal or 0x
  kDuration,  ///< a number with a unit
  kString,    ///< '..' or "..", `text` without the quotes
  kGuid,      ///< bare, with or without braces
  kSymbol,    ///< operator or punctuation
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  size_t offset = 0;      ///< bytes from the start of the source
  std::string_view text;  ///< into the source
  uint64_t integer = 0;
  int64_t nanoseconds = 0;
  Guid guid;

  bool Is(TokenKind wanted, std::string_view word) const { return kind == wanted && text == word; }
  bool IsSymbol(std::string_view symbol) const { return Is(TokenKind::kSymbol, symbol); }
  bool IsWord(std::string_view word) const { return Is(TokenKind::kName, word); }
};

/// Reads tokens one after another. The source must outlive the tokens.
class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}
  /// The next token, kEnd at the end; an error points at the column.
  Result<Token> Next();

 private:
  Result<Token> Number(size_t begin);
  Result<Token> String(size_t begin);
  Status Error(size_t offset, std::string_view message) const;

  std::string_view source_;
  size_t at_ = 0;
};

}  // namespace etwpipe::where
