#include "stages/filter_where/parser.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "stages/filter_where/lexer.h"
#include "stages/filter_where/source_error.h"

namespace etwpipe::where {
namespace {

std::optional<CompareOp> CompareOpOf(const Token& token) {
  if (token.kind != TokenKind::kSymbol) return std::nullopt;
  if (token.text == "==") return CompareOp::kEqual;
  if (token.text == "!=") return CompareOp::kNotEqual;
  if (token.text == "<") return CompareOp::kLess;
  if (token.text == "<=") return CompareOp::kLessEqual;
  if (token.text == ">") return CompareOp::kGreater;
  if (token.text == ">=") return CompareOp::kGreaterEqual;
  return std::nullopt;
}

bool IsOperatorWord(std::string_view word) {
  return word == "or" || word == "and" || word == "not" || word == "in" || word == "has";
}

NodePtr MakeNode(NodeKind kind, size_t offset) {
  auto node = std::make_unique<Node>();
  node->kind = kind;
  node->offset = offset;
  return node;
}

// Recursive descent, one function per level of precedence. After an error `status_` is set and every function returns
// null at once.
class Parser {
 public:
  explicit Parser(std::string_view source) : source_(source), lexer_(source) {}

  Result<NodePtr> Parse() {
    Advance();
    NodePtr root = Or();
    if (status_.ok() && token_.kind != TokenKind::kEnd) Unexpected("the expression should end here");
    if (!status_.ok()) return status_;
    return root;
  }

 private:
  // Counts one level of nesting for as long as it lives.
  class Nesting {
   public:
    explicit Nesting(Parser& parser) : parser_(parser) {
      if (++parser_.nesting_ > kMaxNesting) {
        parser_.Fail(parser_.token_.offset, fmt::format("nested more than {} levels deep", kMaxNesting));
      }
    }
    ~Nesting() { --parser_.nesting_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    Parser& parser_;
  };

  void Fail(size_t offset, std::string_view message) {
    if (status_.ok()) status_ = SourceError(source_, offset, message);
  }

  void Unexpected(std::string_view wanted) {
    if (token_.kind == TokenKind::kEnd) return Fail(token_.offset, fmt::format("the expression ends; {}", wanted));
    const std::string shown = token_.kind == TokenKind::kString ? "a string" : fmt::format("'{}'", token_.text);
    Fail(token_.offset, fmt::format("unexpected {}; {}", shown, wanted));
  }

  void Advance() {
    auto next = lexer_.Next();
    if (next.ok()) {
      token_ = *next;
      return;
    }
    if (status_.ok()) status_ = next.status();
    token_ = Token{TokenKind::kEnd, source_.size(), {}, 0, 0, {}};
  }

  bool TakeSymbol(std::string_view symbol) {
    if (!token_.IsSymbol(symbol)) return false;
    Advance();
    return true;
  }

  void Expect(std::string_view symbol, std::string_view wanted) {
    if (!TakeSymbol(symbol)) Unexpected(wanted);
  }

  NodePtr Or() { return Chain("or", NodeKind::kOr, &Parser::And); }
  NodePtr And() { return Chain("and", NodeKind::kAnd, &Parser::Not); }

  // operand (word operand)*, as one node with all operands.
  NodePtr Chain(std::string_view word, NodeKind kind, NodePtr (Parser::*operand)()) {
    NodePtr first = (this->*operand)();
    if (!status_.ok() || !token_.IsWord(word)) return first;
    NodePtr chain = MakeNode(kind, token_.offset);
    chain->children.push_back(std::move(first));
    while (status_.ok() && token_.IsWord(word)) {
      Advance();
      chain->children.push_back((this->*operand)());
    }
    return chain;
  }

  NodePtr Not() {
    if (!token_.IsWord("not")) return Comparison();
    const Nesting nesting(*this);
    NodePtr node = MakeNode(NodeKind::kNot, token_.offset);
    Advance();
    if (status_.ok()) node->children.push_back(Not());
    return node;
  }

  NodePtr Comparison() {
    NodePtr left = BitAnd();
    if (!status_.ok()) return nullptr;
    const size_t offset = token_.offset;
    if (const auto op = CompareOpOf(token_)) {
      Advance();
      NodePtr node = MakeNode(NodeKind::kCompare, offset);
      node->op = *op;
      node->children.push_back(std::move(left));
      node->children.push_back(BitAnd());
      if (status_.ok() && CompareOpOf(token_)) {
        Fail(token_.offset, "comparisons do not chain; write 'a < b and b < c'");
      }
      return node;
    }
    if (token_.IsSymbol("=~")) {
      Advance();
      NodePtr node = MakeNode(NodeKind::kMatch, offset);
      node->children.push_back(std::move(left));
      node->children.push_back(BitAnd());
      return node;
    }
    if (token_.IsWord("in")) return In(std::move(left));
    if (token_.IsWord("not")) Fail(offset, "write 'not x in (..)' for 'x not in (..)'");
    return left;
  }

  NodePtr In(NodePtr left) {
    NodePtr node = MakeNode(NodeKind::kIn, token_.offset);
    node->children.push_back(std::move(left));
    Advance();
    Expect("(", "'in' needs a list such as (1, 2, 3)");
    while (status_.ok()) {
      node->children.push_back(BitAnd());
      if (!TakeSymbol(",")) break;
    }
    Expect(")", "the list needs ',' or ')'");
    return node;
  }

  NodePtr BitAnd() {
    NodePtr left = Unary();
    while (status_.ok() && token_.IsSymbol("&")) {
      NodePtr node = MakeNode(NodeKind::kBitAnd, token_.offset);
      Advance();
      // Each '&' makes the tree one deeper, which whoever walks it pays for.
      if (++bit_ands_ > kMaxNesting) Fail(node->offset, fmt::format("more than {} '&'", kMaxNesting));
      node->children.push_back(std::move(left));
      node->children.push_back(Unary());
      left = std::move(node);
    }
    return left;
  }

  NodePtr Unary() {
    const bool negate = token_.IsSymbol("-");
    if (!negate && !token_.IsSymbol("~")) return Primary();
    const Nesting nesting(*this);
    NodePtr node = MakeNode(negate ? NodeKind::kNegate : NodeKind::kComplement, token_.offset);
    Advance();
    if (status_.ok()) node->children.push_back(Unary());
    return node;
  }

  NodePtr Primary() {
    if (!status_.ok()) return nullptr;
    const Token token = token_;
    if (TakeSymbol("(")) {
      const Nesting nesting(*this);
      NodePtr inner = status_.ok() ? Or() : nullptr;
      Expect(")", "a ')' is missing");
      return inner;
    }
    switch (token.kind) {
      case TokenKind::kName: return Name();
      case TokenKind::kInteger: return Literal(NodeKind::kInteger, token.integer);
      case TokenKind::kDuration: return Literal(NodeKind::kDuration, token.nanoseconds);
      case TokenKind::kString: {
        NodePtr node = Literal(NodeKind::kString, 0);
        node->text = token.text;
        return node;
      }
      case TokenKind::kGuid: {
        NodePtr node = Literal(NodeKind::kGuid, 0);
        node->guids.push_back(token.guid);
        return node;
      }
      case TokenKind::kEnd:
      case TokenKind::kSymbol: break;
    }
    Unexpected("a name, a value or '(' should stand here");
    return nullptr;
  }

  NodePtr Literal(NodeKind kind, Int128 value) {
    NodePtr node = MakeNode(kind, token_.offset);
    node->integer = value;
    Advance();
    return node;
  }

  NodePtr Name() {
    const Token token = token_;
    if (token.text == "true" || token.text == "false") {
      NodePtr node = Literal(NodeKind::kBool, 0);
      node->truth = token.text == "true";
      return node;
    }
    if (token.text == "has") return Has();
    if (IsOperatorWord(token.text)) {
      Unexpected("a name, a value or '(' should stand here");
      return nullptr;
    }
    Advance();
    if (token_.IsSymbol("(")) {
      Fail(token.offset, fmt::format("there is no function '{}'; the only one is has(name)", token.text));
      return nullptr;
    }
    NodePtr node = MakeNode(NodeKind::kField, token.offset);
    node->text = token.text;
    if (token.text == "payload" && TakeSymbol("[")) {
      // payload['Raw Script']: a name that is no word of the language.
      if (token_.kind != TokenKind::kString || token_.text.empty()) {
        Unexpected("payload[ needs a field's name in quotes");
        return nullptr;
      }
      node->text = fmt::format("{}{}", kPayloadPrefix, token_.text);
      Advance();
      Expect("]", "a ']' is missing");
    }
    return node;
  }

  NodePtr Has() {
    NodePtr node = MakeNode(NodeKind::kHas, token_.offset);
    Advance();
    Expect("(", "has needs a name in parentheses: has(pid)");
    if (status_.ok() && (token_.kind != TokenKind::kName || IsOperatorWord(token_.text))) {
      Unexpected("has needs a name: has(pid)");
    }
    if (!status_.ok()) return nullptr;
    node->children.push_back(Name());
    Expect(")", "a ')' is missing");
    return node;
  }

  std::string_view source_;
  Lexer lexer_;
  Token token_;
  Status status_;
  int nesting_ = 0;
  int bit_ands_ = 0;
};

}  // namespace

Result<NodePtr> ParseExpression(std::string_view source) {
  if (source.size() > kMaxExpressionBytes) {
    return Status::InvalidArgument(
        fmt::format("the expression has {} bytes; at most {} are allowed", source.size(), kMaxExpressionBytes));
  }
  return Parser(source).Parse();
}

}  // namespace etwpipe::where
