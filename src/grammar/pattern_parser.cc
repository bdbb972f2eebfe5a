// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "grammar/pattern_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "base/utf8.h"

namespace aster::grammar {
namespace {

using Kind = PatternNode::Kind;
using Ranges = std::vector<CodePointRange>;

// Nested groups.
constexpr size_t kMaxDepth = 64;

const Ranges kDigits = {{'0', '9'}};
const Ranges kWord = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
const Ranges kSpace = {{0x9, 0xD},       {0x20, 0x20},     {0xA0, 0xA0},     {0x1680, 0x1680},
                       {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F},
                       {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
const Ranges kLineEnds = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};
const Ranges kAll = {{0, kLastCodePoint}};

PatternNode ClassOf(Ranges ranges) {
  return {.kind = Kind::kClass, .ranges = Normalised(std::move(ranges))};
}
PatternNode AnyText() { return {.kind = Kind::kRepeat, .children = {ClassOf(kAll)}}; }

bool IsSurrogate(uint32_t code_point) { return code_point >= 0xD800 && code_point <= 0xDFFF; }

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<PatternNode> Parse() {
    if (text_.size() > kMaxPatternBytes || !IsValidUtf8(text_)) return Wrong("is too long");
    PatternNode all = TRY(ParseChoice(0));
    if (at_ < text_.size()) return Wrong("has a ) too many");
    return all;
  }

 private:
  Error Wrong(std::string_view why) const {
    return Unimplemented(fmt::format("the pattern {} (at {})", why, at_));
  }
  char Peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool Take(std::string_view literal) {
    if (!text_.substr(at_).starts_with(literal)) return false;
    at_ += literal.size();
    return true;
  }

  Result<PatternNode> ParseChoice(size_t depth) {
    if (depth > kMaxDepth) return Wrong("has too many groups within each other");
    PatternNode choice{.kind = Kind::kChoice};
    do {
      choice.children.push_back(TRY(ParseSequence(depth)));
    } while (Take("|"));
    if (choice.children.size() == 1) return std::move(choice.children.front());
    return choice;
  }

  // Only whole alternatives can be anchored: an anchor elsewhere is a lookaround.
  Result<PatternNode> ParseSequence(size_t depth) {
    PatternNode sequence;
    const bool begins = Take("^");
    if (begins && depth > 0) return Wrong("has an anchor within a group");
    bool ends = false;
    while (at_ < text_.size() && Peek() != '|' && Peek() != ')') {
      if (Take("$")) {
        ends = true;
        if (depth == 0 && (at_ == text_.size() || Peek() == '|')) break;
        return Wrong("has an anchor that is not at its end");
      }
      if (Peek() == '^') return Wrong("has an anchor that is not at its beginning");
      PatternNode atom = TRY(ParseAtom(depth));
      sequence.children.push_back(TRY(ParseRepeats(std::move(atom))));
    }
    if (depth == 0 && !begins) sequence.children.insert(sequence.children.begin(), AnyText());
    if (depth == 0 && !ends) sequence.children.push_back(AnyText());
    return sequence;
  }

  Result<PatternNode> ParseAtom(size_t depth) {
    if (Take("(")) return ParseGroup(depth);
    if (Take("[")) return ParseClass();
    if (Take(".")) return ClassOf(Without(kAll, kLineEnds));
    const char c = Peek();
    if (c == '*' || c == '+' || c == '?' || c == '{')
      return Wrong(fmt::format("has a {} that repeats nothing", c));
    if (c != '\\') {
      const uint32_t character = TakeCharacter();
      return ClassOf({{character, character}});
    }
    return ClassOf(TRY(ParseEscape(/*in_class=*/false)));
  }

  Result<PatternNode> ParseGroup(size_t depth) {
    if (Take("?")) {
      if (Peek() == '=' || Peek() == '!' || (Peek() == '<' && (Peek(1) == '=' || Peek(1) == '!')))
        return Wrong("looks ahead or behind, which is not supported");
      if (Take("<")) {
        const size_t end = text_.find('>', at_);
        if (end == std::string_view::npos) return Wrong("has a name without an end");
        at_ = end + 1;
      } else if (!Take(":")) {
        return Wrong("has flags within a group, which are not supported");
      }
    }
    PatternNode inside = TRY(ParseChoice(depth + 1));
    if (!Take(")")) return Wrong("has a ( without a )");
    return inside;
  }

  std::optional<uint32_t> TakeNumber() {
    uint32_t number = 0;
    const char* const begin = text_.data() + at_;
    const auto parsed = std::from_chars(begin, text_.data() + text_.size(), number);
    if (parsed.ec != std::errc()) return std::nullopt;
    at_ += static_cast<size_t>(parsed.ptr - begin);
    return number;
  }

  Result<PatternNode> ParseRepeats(PatternNode atom) {
    PatternNode repeat{.kind = Kind::kRepeat};
    if (Take("+")) {
      repeat.minimum = 1;
    } else if (Take("?")) {
      repeat.maximum = 1;
    } else if (Take("{")) {
      const auto low = TakeNumber();
      if (!low) return Wrong("has a { without a number; write \\{ for the character");
      repeat.minimum = repeat.maximum = *low;
      if (Take(",")) repeat.maximum = TakeNumber().value_or(kNoMaximum);
      if (!Take("}")) return Wrong("has a { without a }");
      const bool is_bounded = repeat.maximum != kNoMaximum;
      if (repeat.minimum > kMaxRepeats || (is_bounded && repeat.maximum > kMaxRepeats))
        return Wrong(fmt::format("repeats something more than {} times", kMaxRepeats));
      if (repeat.maximum < repeat.minimum) return Wrong("has a maximum below its minimum");
    } else if (!Take("*")) {
      return atom;
    }
    // Lazy and greedy match the same texts.
    Take("?");
    if (Peek() == '*' || Peek() == '+' || Peek() == '?' || Peek() == '{')
      return Wrong("repeats a repetition");
    repeat.children.push_back(std::move(atom));
    return repeat;
  }

  uint32_t TakeCharacter() {
    const Utf8Step step = DecodeUtf8(text_.substr(at_));
    at_ += step.size;
    return step.code_point;
  }

  Result<uint32_t> TakeHex(size_t digits) {
    uint32_t value = 0;
    const std::string_view text = text_.substr(std::min(at_, text_.size()), digits);
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (text.size() != digits || parsed.ec != std::errc() || parsed.ptr != text.data() + digits)
      return Wrong("has an escape without its hex digits");
    at_ += digits;
    return value;
  }

  Result<uint32_t> TakeUnicode() {
    if (Take("{")) {
      const size_t end = text_.find('}', at_);
      if (end == std::string_view::npos || end - at_ > 6) return Wrong("has a \\u{ without a }");
      const uint32_t value = TRY(TakeHex(end - at_));
      at_ = end + 1;
      if (value > kLastCodePoint || IsSurrogate(value)) return Wrong("escapes no character");
      return value;
    }
    const uint32_t first = TRY(TakeHex(4));
    if (!IsSurrogate(first)) return first;
    // Two of them are one character.
    if (first >= 0xDC00 || !Take("\\u")) return Wrong("escapes half a character");
    const uint32_t second = TRY(TakeHex(4));
    if (second < 0xDC00 || second > 0xDFFF) return Wrong("escapes half a character");
    return 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
  }

  static Ranges Only(uint32_t character) { return {{character, character}}; }

  Result<Ranges> ParseEscape(bool in_class) {
    ++at_;
    if (at_ >= text_.size()) return Wrong("ends with a backslash");
    const char c = Peek();
    const auto code = static_cast<unsigned char>(c);
    if (code >= 0x80) return Only(TakeCharacter());
    ++at_;
    switch (c) {
      case 'd':
        return kDigits;
      case 'D':
        return Without(kAll, kDigits);
      case 'w':
        return kWord;
      case 'W':
        return Without(kAll, kWord);
      case 's':
        return kSpace;
      case 'S':
        return Without(kAll, kSpace);
      case 'n':
        return Only('\n');
      case 'r':
        return Only('\r');
      case 't':
        return Only('\t');
      case 'f':
        return Only('\f');
      case 'v':
        return Only('\v');
      case 'x':
        return Only(TRY(TakeHex(2)));
      case 'u':
        return Only(TRY(TakeUnicode()));
      case 'b':
        if (in_class) return Only('\b');
        [[fallthrough]];
      case 'B':
        return Wrong("looks for the borders of words, which is not supported");
      case 'p':
      case 'P':
        return Wrong("names properties of characters, which is not supported");
      default:
        break;
    }
    if (c == '0' && !(Peek() >= '0' && Peek() <= '9')) return Only(0);
    if (c >= '0' && c <= '9') return Wrong("refers back to a group, which is not supported");
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
      return Wrong(fmt::format("has the escape \\{}, which is not supported", c));
    return Only(code);
  }

  Result<Ranges> ParseClassItem() {
    if (Peek() == '\\') return ParseEscape(/*in_class=*/true);
    return Only(TakeCharacter());
  }

  Result<PatternNode> ParseClass() {
    const bool is_negated = Take("^");
    Ranges all;
    while (!Take("]")) {
      if (at_ >= text_.size()) return Wrong("has a [ without a ]");
      Ranges item = TRY(ParseClassItem());
      const bool is_range = Peek() == '-' && Peek(1) != ']' && at_ + 1 < text_.size();
      if (is_range) {
        ++at_;
        const Ranges last = TRY(ParseClassItem());
        const bool is_one = item.size() == 1 && item.front().first == item.front().last &&
                            last.size() == 1 && last.front().first == last.front().last;
        if (!is_one || last.front().first < item.front().first)
          return Wrong("has a range of characters that is none");
        item = {{item.front().first, last.front().first}};
      }
      all.insert(all.end(), item.begin(), item.end());
    }
    return ClassOf(is_negated ? Without(kAll, Normalised(std::move(all))) : std::move(all));
  }

  const std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

std::vector<CodePointRange> Normalised(std::vector<CodePointRange> ranges) {
  std::ranges::sort(ranges, {}, &CodePointRange::first);
  std::vector<CodePointRange> merged;
  for (const CodePointRange& range : ranges) {
    if (!merged.empty() && range.first <= merged.back().last + 1) {
      merged.back().last = std::max(merged.back().last, range.last);
    } else {
      merged.push_back(range);
    }
  }
  return merged;
}

std::vector<CodePointRange> Without(const std::vector<CodePointRange>& ranges,
                                    const std::vector<CodePointRange>& others) {
  std::vector<CodePointRange> left;
  for (const CodePointRange& range : ranges) {
    uint32_t next = range.first;
    bool is_over = false;
    for (const CodePointRange& other : others) {
      if (other.last < next || other.first > range.last) continue;
      if (other.first > next) left.push_back({next, other.first - 1});
      next = other.last + 1;
      is_over = other.last >= range.last;
      if (is_over) break;
    }
    if (!is_over) left.push_back({next, range.last});
  }
  return left;
}

Result<PatternNode> ParsePattern(std::string_view pattern) { return Parser(pattern).Parse(); }

}  // namespace aster::grammar
