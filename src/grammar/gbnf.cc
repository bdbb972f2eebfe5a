// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "grammar/gbnf.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string>

#include "base/utf8.h"

namespace aster::grammar {
namespace {

constexpr size_t kMaxNesting = 128;

class GbnfParser {
 public:
  explicit GbnfParser(std::string_view text) : text_(text), grammar_(std::make_shared<Grammar>()) {
    rules_["root"] = grammar_->AddRule();
  }

  Result<std::shared_ptr<const Grammar>> Parse() {
    if (text_.size() > kMaxGbnfBytes || !IsValidUtf8(text_)) return Wrong("no UTF-8, or too large");
    for (SkipSpace(/*over_lines=*/true); at_ < text_.size(); SkipSpace(true)) TRY(ParseRule());
    for (const auto& [name, rule] : rules_) {
      if (!defined_.contains(name))
        return InvalidArgument(fmt::format("the grammar has no rule {}", name));
    }
    TRY(grammar_->Finish());
    return std::shared_ptr<const Grammar>(grammar_);
  }

 private:
  Error Wrong(std::string_view why) const {
    const auto line = 1 + std::ranges::count(text_.substr(0, at_), '\n');
    return InvalidArgument(fmt::format("line {}: {}", line, why));
  }
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool Take(std::string_view literal) {
    if (!text_.substr(at_).starts_with(literal)) return false;
    at_ += literal.size();
    return true;
  }
  void SkipSpace(bool over_lines) {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
        --at_;
        continue;
      }
      const bool is_line = c == '\n' || c == '\r';
      if (c != ' ' && c != '\t' && !(over_lines && is_line)) return;
    }
  }
  static bool IsNameChar(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  }
  std::string TakeName() {
    const size_t begin = at_;
    while (IsNameChar(Peek())) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }
  RuleId RuleNamed(const std::string& name) {
    const auto found = rules_.find(name);
    if (found != rules_.end()) return found->second;
    return rules_[name] = grammar_->AddRule();
  }

  Status ParseRule() {
    const std::string name = TakeName();
    SkipSpace(false);
    if (name.empty() || !Take("::=")) return Wrong("expected a rule: name ::= …");
    if (!defined_.emplace(name, true).second) return Wrong(fmt::format("a second rule {}", name));
    const RuleId rule = RuleNamed(name);
    SkipSpace(true);
    for (Sequence& sequence : TRY(ParseAlternatives(0)))
      grammar_->AddAlternative(rule, std::move(sequence));
    return Ok();
  }

  // Within brackets a line may end anywhere; in a rule only before its end.
  Result<std::vector<Sequence>> ParseAlternatives(size_t depth) {
    if (depth > kMaxNesting) return Wrong("too many brackets within each other");
    std::vector<Sequence> alternatives;
    do {
      SkipSpace(true);
      alternatives.push_back(TRY(ParseSequence(depth)));
      if (depth == 0) SkipToBar();
    } while (Take("|"));
    return alternatives;
  }
  // A bar may begin the next line of a rule.
  void SkipToBar() {
    const size_t before = at_;
    SkipSpace(true);
    if (Peek() != '|') at_ = before;
  }

  Result<Sequence> ParseSequence(size_t depth) {
    Sequence all;
    for (;;) {
      SkipSpace(/*over_lines=*/depth > 0);
      Sequence piece;
      const char c = Peek();
      if (c == '"') {
        piece = TRY(ParseLiteral());
      } else if (c == '[') {
        piece = {TRY(ParseClass())};
      } else if (c == '(') {
        ++at_;
        piece = {Grammar::Rule(grammar_->AddRule(TRY(ParseAlternatives(depth + 1))))};
        SkipSpace(true);
        if (!Take(")")) return Wrong("expected )");
      } else if (c == '.') {
        ++at_;
        piece = {grammar_->Characters({{0, kLastCodePoint}})};
      } else if (IsNameChar(c)) {
        piece = {Grammar::Rule(RuleNamed(TakeName()))};
      } else {
        return all;
      }
      piece = TRY(ParseRepeats(std::move(piece)));
      all.insert(all.end(), piece.begin(), piece.end());
      if (all.size() > kMaxElements) return Wrong("too much");
    }
  }

  std::optional<uint32_t> TakeNumber() {
    uint32_t number = 0;
    const char* const begin = text_.data() + at_;
    const auto parsed = std::from_chars(begin, text_.data() + text_.size(), number);
    if (parsed.ec != std::errc()) return std::nullopt;
    at_ += static_cast<size_t>(parsed.ptr - begin);
    return number;
  }

  Result<Sequence> ParseRepeats(Sequence piece) {
    for (;;) {
      uint32_t minimum = 0;
      uint32_t maximum = kNoMaximum;
      if (Take("*")) {
      } else if (Take("+")) {
        minimum = 1;
      } else if (Take("?")) {
        maximum = 1;
      } else if (Take("{")) {
        const auto low = TakeNumber();
        if (!low) return Wrong("expected a number behind {");
        minimum = maximum = *low;
        if (Take(",")) maximum = TakeNumber().value_or(kNoMaximum);
        if (!Take("}")) return Wrong("expected }");
      } else {
        return piece;
      }
      auto repeated = grammar_->Repeat(piece, minimum, maximum);
      if (!repeated.ok()) return Wrong(repeated.error().message());
      piece = {*repeated};
      if (grammar_->rule_count() > kMaxElements) return Wrong("too much");
    }
  }

  // A character, or an escape.
  Result<uint32_t> TakeCharacter() {
    if (at_ >= text_.size() || text_[at_] == '\n') return Wrong("a text without an end");
    if (!Take("\\")) {
      const Utf8Step step = DecodeUtf8(text_.substr(at_));
      at_ += step.size;
      return step.code_point;
    }
    const char c = Peek();
    ++at_;
    switch (c) {
      case 'n':
        return uint32_t{'\n'};
      case 'r':
        return uint32_t{'\r'};
      case 't':
        return uint32_t{'\t'};
      case 'x':
        return TakeHex(2);
      case 'u':
        return TakeHex(4);
      case 'U':
        return TakeHex(8);
      case '\\':
      case '"':
      case '[':
      case ']':
      case '-':
      case '^':
        return static_cast<uint32_t>(c);
      default:
        return Wrong("an unknown escape");
    }
  }
  Result<uint32_t> TakeHex(size_t digits) {
    uint32_t value = 0;
    const std::string_view text = text_.substr(std::min(at_, text_.size()), digits);
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (text.size() != digits || parsed.ec != std::errc() || parsed.ptr != text.data() + digits ||
        value > kLastCodePoint) {
      return Wrong("expected hex digits of a character");
    }
    at_ += digits;
    return value;
  }

  Result<Sequence> ParseLiteral() {
    ++at_;
    std::string literal;
    while (!Take("\"")) AppendUtf8(literal, TRY(TakeCharacter()));
    return grammar_->Literal(literal);
  }

  Result<Element> ParseClass() {
    ++at_;
    const bool is_negated = Take("^");
    std::vector<CodePointRange> ranges;
    while (!Take("]")) {
      CodePointRange range;
      range.first = range.last = TRY(TakeCharacter());
      if (Peek() == '-' && text_.substr(at_ + 1, 1) != "]") {
        ++at_;
        range.last = TRY(TakeCharacter());
      }
      if (range.last < range.first) return Wrong("a range that ends before it begins");
      ranges.push_back(range);
    }
    return grammar_->Characters(std::move(ranges), is_negated);
  }

  const std::string_view text_;
  size_t at_ = 0;
  std::shared_ptr<Grammar> grammar_;
  std::map<std::string, RuleId> rules_;
  std::map<std::string, bool> defined_;
};

}  // namespace

Result<std::shared_ptr<const Grammar>> ParseGbnf(std::string_view text) {
  return GbnfParser(text).Parse();
}

}  // namespace aster::grammar
