// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "jinja/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "jinja/string_literal.h"
#include "jinja/string_methods.h"
#include "jinja/unicode.h"

namespace aster::jinja {
namespace {

bool IsAsciiDigit(char c) { return c >= '0' && c <= '9'; }

// With one kind of line break, and none at the very end.
std::string Normalized(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      text += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      text += source[i];
    }
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(Normalized(source)) {}

  Result<std::vector<Token>> Run() {
    while (position_ < source_.size()) TRY(LexRoot());
    Add(TokenKind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  // Whether `text` is at an offset from the position.
  bool IsAt(size_t offset, std::string_view text) const {
    return std::string_view(source_)
        .substr(std::min(position_ + offset, source_.size()))
        .starts_with(text);
  }
  bool IsAt(std::string_view text) const { return IsAt(0, text); }
  char CharAt(size_t position) const {
    return position < source_.size() ? source_[position] : '\0';
  }

  void Add(TokenKind kind, std::string text) { tokens_.push_back({kind, line_, std::move(text)}); }

  // Moves the position, counting lines.
  void MoveTo(size_t position) {
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<ptrdiff_t>(position_),
                                         source_.begin() + static_cast<ptrdiff_t>(position), '\n'));
    position_ = position;
  }
  // Moves past something that may be followed by a tag; records whether the tag then begins a line.
  void MovePast(size_t position) {
    MoveTo(position);
    line_starting_ = position > 0 && source_[position - 1] == '\n';
  }

  size_t SkipSpace(size_t position) const {
    while (position < source_.size()) {
      size_t next = position;
      if (!IsSpace(DecodeNext(source_, next))) break;
      position = next;
    }
    return position;
  }

  // Text up to the next tag, and the tag's beginning.
  Status LexRoot() {
    size_t tag = position_;
    for (;; ++tag) {
      tag = source_.find('{', tag);
      if (tag == std::string::npos) {
        AddData(source_.substr(position_));
        MoveTo(source_.size());
        return Ok();
      }
      const char c = CharAt(tag + 1);
      if (c == '{' || c == '%' || c == '#') break;
    }
    const char type = source_[tag + 1];
    const char sign = CharAt(tag + 2);
    if (const size_t raw_end = type == '%' ? EndOfRawBegin(tag) : 0) {
      TakeText(tag, sign, true);
      MovePast(raw_end);
      return LexRaw();
    }
    TakeText(tag, sign, type != '{');
    const int begin_line = line_;
    MovePast(tag + (sign == '-' || sign == '+' ? 3 : 2));
    if (type == '#') return LexComment(begin_line);
    Add(type == '{' ? TokenKind::kVariableBegin : TokenKind::kBlockBegin, "");
    return LexTag(type == '{');
  }

  // Takes the text before a tag, without the white space that the tag removes.
  void TakeText(size_t tag, char sign, bool is_block) {
    std::string_view text = std::string_view(source_).substr(position_, tag - position_);
    if (sign == '-') {
      text = Strip(text, Side::kRight);
    } else if (sign != '+' && is_block) {
      // A block tag alone on its line also removes the line's indentation.
      const size_t line_break = text.rfind('\n');
      const size_t line = line_break == std::string_view::npos ? 0 : line_break + 1;
      const bool begins_line = line > 0 || line_starting_;
      if (begins_line && Strip(text.substr(line), Side::kBoth).empty()) text = text.substr(0, line);
    }
    AddData(std::string(text));
    MoveTo(tag);
  }

  void AddData(std::string text) {
    if (!text.empty()) Add(TokenKind::kData, std::move(text));
  }

  // "{% raw %}" at `tag`: its end, or 0.
  size_t EndOfRawBegin(size_t tag) const {
    size_t position = tag + 2;
    if (CharAt(position) == '-' || CharAt(position) == '+') ++position;
    position = SkipSpace(position);
    if (source_.compare(position, 3, "raw") != 0) return 0;
    position = SkipSpace(position + 3);
    if (source_.compare(position, 2, "%}") == 0) return position + 2;
    if (source_.compare(position, 3, "-%}") == 0) return SkipSpace(position + 3);
    return 0;
  }

  // The end of a block tag that closes at `position`, including the white space that it removes; 0
  // if it does not close there.
  size_t EndOfBlock(size_t position) const {
    if (source_.compare(position, 3, "+%}") == 0) return position + 3;
    if (source_.compare(position, 3, "-%}") == 0) return SkipSpace(position + 3);
    if (source_.compare(position, 2, "%}") != 0) return 0;
    return position + (CharAt(position + 2) == '\n' ? 3 : 2);
  }

  Status LexRaw() {
    for (size_t tag = source_.find("{%", position_); tag != std::string::npos;
         tag = source_.find("{%", tag + 1)) {
      size_t position = tag + 2;
      const char sign = CharAt(position);
      if (sign == '-' || sign == '+') ++position;
      position = SkipSpace(position);
      if (source_.compare(position, 6, "endraw") != 0) continue;
      const size_t end = EndOfBlock(SkipSpace(position + 6));
      if (end == 0) continue;
      TakeText(tag, sign, true);
      MovePast(end);
      return Ok();
    }
    return ErrorAt(line_, "Missing end of raw directive");
  }

  Status LexComment(int begin_line) {
    const size_t close = source_.find("#}", position_);
    if (close == std::string::npos) return ErrorAt(begin_line, "Missing end of comment tag");
    const char sign = close > position_ ? source_[close - 1] : '\0';
    size_t end = close + 2;
    if (sign == '-') {
      end = SkipSpace(end);
    } else if (sign != '+' && CharAt(end) == '\n') {
      ++end;
    }
    MovePast(end);
    return Ok();
  }

  // The words of a tag up to its end.
  Status LexTag(bool is_variable) {
    std::string open;  // open brackets
    while (position_ < source_.size()) {
      if (open.empty()) {
        if (const size_t end = is_variable ? EndOfVariable() : EndOfBlock(position_)) {
          Add(is_variable ? TokenKind::kVariableEnd : TokenKind::kBlockEnd, "");
          MovePast(end);
          return Ok();
        }
      }
      if (const size_t end = SkipSpace(position_); end > position_) {
        MoveTo(end);
        continue;
      }
      TRY(LexWord(open));
    }
    return Ok();
  }

  size_t EndOfVariable() const {
    if (IsAt("-}}")) return SkipSpace(position_ + 3);
    return IsAt("}}") ? position_ + 2 : 0;
  }

  Status LexWord(std::string& open) {
    if (IsAsciiDigit(source_[position_])) return LexNumber();
    size_t next = position_;
    const char32_t c = DecodeNext(source_, next);
    if (IsNameStart(c)) return LexName();
    if (c == '"' || c == '\'') {
      if (const size_t end = EndOfString(position_)) return LexString(end);
    }
    return LexOperator(open, c);
  }

  size_t EndOfDigits(size_t position) const {
    while (IsAsciiDigit(CharAt(position))) ++position;
    return position;
  }

  size_t EndOfExponent(size_t position) const {
    if ((CharAt(position) | 0x20) != 'e') return position;
    size_t digits = position + 1;
    if (CharAt(digits) == '+' || CharAt(digits) == '-') ++digits;
    return IsAsciiDigit(CharAt(digits)) ? EndOfDigits(digits) : position;
  }

  Status LexNumber() {
    const bool after_point = position_ > 0 && source_[position_ - 1] == '.';
    const size_t whole = EndOfDigits(position_);
    if (!after_point) {
      size_t end = whole;
      if (CharAt(end) == '.' && IsAsciiDigit(CharAt(end + 1))) {
        end = EndOfDigits(end + 1);
      }
      end = EndOfExponent(end);
      if (end > whole) return AddNumber(TokenKind::kFloat, end);
    }
    return AddNumber(TokenKind::kInteger, whole);
  }

  Status AddNumber(TokenKind kind, size_t end) {
    Add(kind, source_.substr(position_, end - position_));
    MoveTo(end);
    return Ok();
  }

  Status LexName() {
    size_t end = position_;
    for (size_t next = end; next < source_.size();) {
      if (!IsNameContinue(DecodeNext(source_, next))) break;
      end = next;
    }
    Add(TokenKind::kName, source_.substr(position_, end - position_));
    MoveTo(end);
    return Ok();
  }

  // The position after the closing quote of the string that begins there, or 0 if there is none.
  size_t EndOfString(size_t begin) const {
    for (size_t i = begin + 1; i < source_.size(); ++i) {
      if (source_[i] == '\\') {
        ++i;
      } else if (source_[i] == source_[begin]) {
        return i + 1;
      }
    }
    return 0;
  }

  Status LexString(size_t end) {
    const std::string_view body =
        std::string_view(source_).substr(position_ + 1, end - position_ - 2);
    Result<std::string> text = UnescapeLiteral(body);
    if (!text.ok()) return ErrorAt(line_, text.error().message());
    Add(TokenKind::kString, *std::move(text));
    MoveTo(end);
    return Ok();
  }

  Status LexOperator(std::string& open, char32_t c) {
    constexpr std::string_view kOperators[] = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                               "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                               ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};
    const auto* op = std::ranges::find_if(kOperators, [this](auto text) { return IsAt(text); });
    if (op == std::end(kOperators)) {
      std::string shown;
      AppendUtf8(shown, c);
      return ErrorAt(line_, fmt::format("unexpected char '{}'", shown));
    }
    if (*op == "(" || *op == "[" || *op == "{") {
      open += *op == "(" ? ')' : *op == "[" ? ']' : '}';
    } else if (*op == ")" || *op == "]" || *op == "}") {
      if (open.empty()) return ErrorAt(line_, fmt::format("unexpected '{}'", *op));
      const char expected = open.back();
      open.pop_back();
      if (expected != op->front()) {
        return ErrorAt(line_, fmt::format("unexpected '{}', expected '{}'", *op, expected));
      }
    }
    Add(TokenKind::kOperator, std::string(*op));
    MoveTo(position_ + op->size());
    return Ok();
  }

  const std::string source_;
  size_t position_ = 0;
  int line_ = 1;
  bool line_starting_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::string Describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::kEnd:
      return "end of template";
    case TokenKind::kData:
      return "template data / text";
    case TokenKind::kVariableBegin:
      return "begin of print statement";
    case TokenKind::kVariableEnd:
      return "end of print statement";
    case TokenKind::kBlockBegin:
      return "begin of statement block";
    case TokenKind::kBlockEnd:
      return "end of statement block";
    case TokenKind::kString:
      return "string";
    case TokenKind::kInteger:
      return "integer";
    case TokenKind::kFloat:
      return "float";
    default:
      return token.text;
  }
}

Error ErrorAt(int line, std::string_view message) {
  return InvalidArgument(fmt::format("line {}: {}", line, message));
}

Result<std::vector<Token>> Tokenize(std::string_view source) { return Lexer(source).Run(); }

}  // namespace aster::jinja
