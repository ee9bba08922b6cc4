#include "tools/fields_text.h"

#include <algorithm>
#include <vector>

#include "formats/schema/character_array.h"
#include "tools/hex_text.h"

namespace etwpipe {
namespace {

using schema::EventSchema;
using schema::Property;
using schema::Token;
using schema::TokenKind;
using schema::Value;
using schema::ValueKind;

// A control character of ASCII or, as UTF-8, of U+0080 to U+009F, which terminals obey as well.
bool IsControl(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  return first < 0x20 || first == 0x7F ||
         (first == 0xC2 && text.size() > 1 && static_cast<unsigned char>(text[1]) < 0xA0);
}

// A text that could be taken for something else stands in quotes.
void AppendQuoted(std::string_view text, std::string& out) {
  if (!text.empty() && text.find_first_of(" \"=,{}[]\t\r\n") == std::string_view::npos) {
    return AppendPrintable(text, out);
  }
  out.push_back('"');
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find_first_of("\"\n\r\t", begin), text.size());
    AppendPrintable(text.substr(begin, end - begin), out);
    begin = end + 1;
    if (end == text.size()) break;
    out.push_back('\\');
    out.push_back(text[end] == '\n' ? 'n' : text[end] == '\r' ? 'r' : text[end] == '\t' ? 't' : '"');
  }
  out.push_back('"');
}

class FieldsText {
 public:
  FieldsText(const DecodedEvent& event, Value& value, std::string& out)
      : event_(event),
        schema_(*event.schema()),
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

  // The token at which each top-level property begins, in the order of properties that the payload has.
  std::vector<size_t> TopLevel() {
    std::vector<size_t> begins;
    for (at_ = 0; at_ < tokens_.size(); Skip()) begins.push_back(at_);
    return begins;
  }

  // The value that begins at a token, as it would stand in a sentence.
  void Bare(size_t token) {
    at_ = token;
    quote_ = false;
    Element();
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
      case TokenKind::kArrayBegin:
        if (const size_t next = schema::ReadCharacters(schema_, tokens_, at_ - 1, payload_, value_); next != 0) {
          at_ = next;
          return Text();
        }
        return Group('[', ']', TokenKind::kArrayEnd, ", ", &FieldsText::Element);
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
    if (value_.kind == ValueKind::kText) return Text();
    const std::string name = event_.NameOf(property, value_);
    if (name.empty()) return schema::AppendText(value_, out_);
    AppendPrintable(name, out_);
    if (!quote_) return;
    out_.push_back('(');
    schema::AppendText(value_, out_);
    out_.push_back(')');
  }

  void Text() { quote_ ? AppendQuoted(value_.text, out_) : AppendPrintable(value_.text, out_); }

  const DecodedEvent& event_;
  const EventSchema& schema_;
  const std::vector<Token>& tokens_;
  std::span<const std::byte> payload_;
  Value& value_;
  std::string& out_;
  size_t at_ = 0;
  bool quote_ = true;
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// A manifest in a trace may hold a text of megabytes, and any text can name a field of 64 KiB again and again.
constexpr size_t kMaxMessage = size_t{1} << 20;

}  // namespace

void AppendPrintable(std::string_view text, std::string& out) {
  while (!text.empty()) {
    const bool control = IsControl(text);
    out.push_back(control ? ' ' : text[0]);
    text.remove_prefix(control && text[0] == '\xC2' ? 2 : 1);
  }
}

void AppendFields(const DecodedEvent& event, Value& scratch, std::string& out) {
  FieldsText(event, scratch, out).All(event.fields().consumed);
}

void AppendMessage(const DecodedEvent& event, Value& scratch, std::string& out) {
  const auto message = std::string_view(event.schema()->message).substr(0, kMaxMessage);
  FieldsText fields(event, scratch, out);
  const auto begins = fields.TopLevel();
  const auto insert = [&](size_t number) {
    const auto begin = std::find_if(begins.begin(), begins.end(), [&](size_t token) {
      return event.fields().tokens[token].property + size_t{1} == number;
    });
    if (begin != begins.end()) fields.Bare(*begin);
  };
  const size_t limit = out.size() + kMaxMessage;
  for (size_t at = 0; at < message.size();) {
    if (out.size() > limit) {
      out += "...";
      return;
    }
    const size_t percent = std::min(message.find('%', at), message.size());
    AppendPrintable(message.substr(at, percent - at), out);
    at = percent + 1;
    if (percent == message.size()) return;
    if (at == message.size()) return out.push_back('%');
    const char next = message[at];
    if (!IsDigit(next)) {
      // Line ends, tabs and blanks by name; any other character stands for itself.
      const bool blank = next == 'n' || next == 'r' || next == 't' || next == 'b';
      if (blank) out.push_back(' ');
      if (blank || next == '%') ++at;
      if (next == '%') out.push_back('%');
      continue;
    }
    auto number = static_cast<size_t>(next - '0');
    if (++at < message.size() && IsDigit(message[at])) number = number * 10 + static_cast<size_t>(message[at++] - '0');
    if (at < message.size() && message[at] == '!') {
      const size_t close = message.find('!', at + 1);
      if (close != std::string_view::npos) at = close + 1;
    }
    insert(number);
  }
}

}  // namespace etwpipe
