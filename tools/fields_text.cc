#include "tools/fields_text.h"

#include <fmt/format.h>

#include <iterator>

#include "tools/hex_text.h"

namespace etwpipe {
namespace {

using schema::EventSchema;
using schema::Property;
using schema::Token;
using schema::TokenKind;
using schema::Value;
using schema::ValueKind;

// One line whatever the text holds.
void AppendPrintable(std::string_view text, std::string& out) {
  for (const char c : text) out.push_back(static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c);
}

// A text that could be taken for something else stands in quotes.
void AppendQuoted(std::string_view text, std::string& out) {
  if (!text.empty() && text.find_first_of(" \"=,{}[]\t\r\n") == std::string_view::npos) {
    return AppendPrintable(text, out);
  }
  out.push_back('"');
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default: out.push_back(static_cast<unsigned char>(c) < 0x20 ? ' ' : c);
    }
  }
  out.push_back('"');
}

class FieldsText {
 public:
  FieldsText(const DecodedEvent& event, Value& value, std::string& out)
      : schema_(*event.schema()),
        tokens_(event.fields().tokens),
        payload_(event.row().payload()),
        value_(value),
        out_(out) {}

  void All(size_t consumed) {
    while (at_ < tokens_.size()) {
      out_.push_back(' ');
      Named();
    }
    if (consumed < payload_.size()) {
      out_ += " _extra=";
      std::string text;
      out_ += HexText(payload_.subspan(consumed), text);
    }
  }

  // The value of one top-level property, as it would stand in a sentence.
  void Bare(size_t property) {
    for (at_ = 0; at_ < tokens_.size();) {
      if (tokens_[at_].property == property) {
        quote_ = false;
        Element();
        return;
      }
      Skip();
    }
  }

 private:
  void Named() {
    AppendPrintable(schema_.properties[tokens_[at_].property].name, out_);
    out_.push_back('=');
    Element();
  }

  void Skip() {
    int depth = 0;
    do {
      const TokenKind kind = tokens_[at_++].kind;
      depth += kind == TokenKind::kArrayBegin || kind == TokenKind::kStructBegin ? 1 : 0;
      depth -= kind == TokenKind::kArrayEnd || kind == TokenKind::kStructEnd ? 1 : 0;
    } while (depth > 0);
  }

  void Element() {
    const Token& token = tokens_[at_++];
    switch (token.kind) {
      case TokenKind::kValue: return Single(token);
      case TokenKind::kStructBegin: return Group('{', '}', TokenKind::kStructEnd, " ", &FieldsText::Named);
      case TokenKind::kArrayBegin: return Group('[', ']', TokenKind::kArrayEnd, ", ", &FieldsText::Element);
      case TokenKind::kArrayEnd:
      case TokenKind::kStructEnd: return;
    }
  }

  void Group(char open, char close, TokenKind end, std::string_view between, void (FieldsText::*one)()) {
    out_.push_back(open);
    for (bool first = true; tokens_[at_].kind != end; first = false) {
      if (!first) out_ += between;
      (this->*one)();
    }
    ++at_;
    out_.push_back(close);
  }

  void Single(const Token& token) {
    const Property& property = schema_.properties[token.property];
    schema::ReadValue(property, payload_.subspan(token.offset, token.size), value_);
    if (value_.kind == ValueKind::kText) {
      quote_ ? AppendQuoted(value_.text, out_) : AppendPrintable(value_.text, out_);
      return;
    }
    const std::string name =
        property.map == schema::kNoMap ? std::string() : schema_.maps[property.map]->NameOf(value_.bits);
    if (name.empty()) return schema::AppendText(value_, out_);
    AppendPrintable(name, out_);
    if (!quote_) return;
    out_.push_back('(');
    schema::AppendText(value_, out_);
    out_.push_back(')');
  }

  const EventSchema& schema_;
  const std::vector<Token>& tokens_;
  std::span<const std::byte> payload_;
  Value& value_;
  std::string& out_;
  size_t at_ = 0;
  bool quote_ = true;
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

void AppendFields(const DecodedEvent& event, Value& scratch, std::string& out) {
  FieldsText(event, scratch, out).All(event.fields().consumed);
}

void AppendMessage(const DecodedEvent& event, Value& scratch, std::string& out) {
  const std::string_view message = event.schema()->message;
  for (size_t at = 0; at < message.size(); ++at) {
    if (message[at] != '%' || at + 1 == message.size()) {
      AppendPrintable(message.substr(at, 1), out);
      continue;
    }
    const char next = message[++at];
    if (next == '%') out.push_back('%');
    if (next == 'n' || next == 'r' || next == 't') out.push_back(' ');
    if (!IsDigit(next)) continue;
    size_t number = static_cast<size_t>(next - '0');
    if (at + 1 < message.size() && IsDigit(message[at + 1]))
      number = number * 10 + static_cast<size_t>(message[++at] - '0');
    if (at + 1 < message.size() && message[at + 1] == '!') {
      const size_t close = message.find('!', at + 2);
      if (close != std::string_view::npos) at = close;
    }
    if (number >= 1) FieldsText(event, scratch, out).Bare(number - 1);
  }
}

}  // namespace etwpipe
