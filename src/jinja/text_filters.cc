// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Filters from text to text: case, white space, replacing, indenting.

#include "jinja/compare.h"
#include "jinja/filters.h"
#include "jinja/string_methods.h"
#include "jinja/text.h"
#include "jinja/unicode.h"

namespace aster::jinja {
namespace {

template <std::string (*kChange)(std::string_view)>
Result<Value> ChangeText(const Call& call) {
  const Ref<String> text = TRY(SoftString(call.runtime, call.self));
  TRY(call.runtime.CheckBytes(text->text.size() * 3));
  return Value(call.runtime.NewString(kChange(text->text)));
}

// Unlike the string method, this keeps apostrophes within a word and starts words at brackets.
std::string Title(std::string_view text) {
  std::string title;
  size_t word_begin = 0;
  auto finish_word = [&](size_t end) {
    if (end == word_begin) return;
    size_t rest = word_begin;
    DecodeNext(text, rest);
    title += ToUpper(text.substr(word_begin, rest - word_begin));
    title += ToLower(text.substr(rest, end - rest));
  };
  for (size_t offset = 0; offset < text.size();) {
    const size_t begin = offset;
    const char32_t c = DecodeNext(text, offset);
    const bool separates = c == '-' || c == '(' || c == '{' || c == '[' || c == '<' || IsSpace(c);
    if (!separates) continue;
    finish_word(begin);
    title += text.substr(begin, offset - begin);
    word_begin = offset;
  }
  finish_word(text.size());
  return title;
}

Result<Value> ToStringFilter(const Call& call) {
  return Value(TRY(SoftString(call.runtime, call.self)));
}

Result<Value> Trim(const Call& call) {
  const Ref<String> text = TRY(SoftString(call.runtime, call.self));
  std::string_view stripped;
  if (call[0].is_missing() || call[0].is_none()) {
    stripped = Strip(text->text, Side::kBoth);
  } else {
    stripped = Strip(text->text, Side::kBoth, TRY(WantString(call[0], "the characters to trim")));
  }
  return Value(call.runtime.NewString(std::string(stripped)));
}

Result<Value> ReplaceFilter(const Call& call) {
  const std::string text = TRY(StrOf(call.runtime, call.self));
  const std::string from = TRY(StrOf(call.runtime, call[0]));
  const std::string to = TRY(StrOf(call.runtime, call[1]));
  const int64_t count = call[2].is_missing() || call[2].is_none() ? -1 : TRY(WantInt(call[2]));
  return Value(call.runtime.NewString(TRY(Replace(call.runtime, text, from, to, count))));
}

Result<std::string> IndentionOf(Runtime& runtime, const Value& width) {
  if (width.is_string()) return std::string(width.text());
  const int64_t spaces = width.is_missing() ? 4 : TRY(WantInt(width));
  if (spaces <= 0) return std::string();
  TRY(runtime.CheckBytes(static_cast<uint64_t>(spaces)));
  return std::string(static_cast<size_t>(spaces), ' ');
}

Result<Value> Indent(const Call& call) {
  const std::string_view text = TRY(WantString(call.self, "the text to indent"));
  const std::string indention = TRY(IndentionOf(call.runtime, call[0]));
  const bool first = FlagOf(call[1]);
  const bool blank = FlagOf(call[2]);
  TextBuilder builder(call.runtime);
  // With a line break at the end, an empty last line also counts.
  const std::string broken = std::string(text) + "\n";
  bool is_first = true;
  for (const std::string_view line : SplitLines(broken)) {
    if (!is_first) builder.Append('\n');
    if (is_first ? first : blank || !line.empty()) builder.Append(indention);
    builder.Append(line);
    is_first = false;
  }
  return Value(call.runtime.NewString(TRY(builder.Take())));
}

// Nothing is ever escaped, so `safe` is the same as `string`.
constexpr Builtin kTextFilters[] = {
    {"capitalize", "", ChangeText<ToCapitalized>},
    {"indent", "width? first? blank?", Indent},
    {"lower", "", ChangeText<ToLower>},
    {"replace", "old new count?", ReplaceFilter},
    {"safe", "", ToStringFilter},
    {"string", "", ToStringFilter},
    {"title", "", ChangeText<Title>},
    {"trim", "chars?", Trim},
    {"upper", "", ChangeText<ToUpper>},
};

}  // namespace

std::span<const Builtin> TextFilters() { return kTextFilters; }

}  // namespace aster::jinja
