// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Filters that lay text out: indenting, centring, wrapping, cutting short.
#include <fmt/format.h>

#include "jinja/compare.h"
#include "jinja/filters.h"
#include "jinja/iterate.h"
#include "jinja/string_methods.h"
#include "jinja/unicode.h"

namespace aster::jinja {
namespace {

bool FlagOf(const Value& value) { return !value.is_missing() && IsTrue(value); }

Result<Value> Center(const Call& call) {
  const Ref<String> text = TRY(SoftString(call.runtime, call.self));
  const int64_t width = call[0].is_missing() ? 80 : TRY(WantInt(call[0]));
  return Value(call.runtime.NewString(TRY(Centered(call.runtime, *text, width)), text->is_markup));
}

Result<std::string> IndentionOf(Runtime& runtime, const Value& width) {
  if (width.is_string()) return std::string(width.text());
  const int64_t spaces = width.is_missing() ? 4 : TRY(WantInt(width));
  if (spaces <= 0) return std::string();
  TRY(runtime.CheckBytes(static_cast<uint64_t>(spaces)));
  return std::string(static_cast<size_t>(spaces), ' ');
}

Result<Value> Indent(const Call& call) {
  const std::string_view text = TRY(WantString(call.self, "what to indent"));
  const std::string indention = TRY(IndentionOf(call.runtime, call[0]));
  const bool first = FlagOf(call[1]);
  const bool blank = FlagOf(call[2]);
  TextBuilder builder(call.runtime);
  // With a line break at the end, an empty last line is a line too.
  const std::string broken = std::string(text) + "\n";
  bool is_first = true;
  for (const std::string_view line : SplitLines(broken)) {
    if (!is_first) builder.Append('\n');
    if (is_first ? first : blank || !line.empty()) builder.Append(indention);
    builder.Append(line);
    is_first = false;
  }
  return Value(call.runtime.NewString(TRY(builder.Take()), call.self.as<String>().is_markup));
}

Result<Value> Truncate(const Call& call) {
  const int64_t length = call[0].is_missing() ? 255 : TRY(WantInt(call[0]));
  const std::string_view end =
      call[2].is_missing() ? "..." : TRY(WantString(call[2], "the end of a truncated text"));
  const int64_t leeway = call[3].is_missing() || call[3].is_none() ? 5 : TRY(WantInt(call[3]));
  const auto end_size = static_cast<int64_t>(CountCodePoints(end));
  if (length < end_size) {
    return TemplateError(fmt::format("expected length >= {}, got {}", end_size, length));
  }
  if (leeway < 0) return TemplateError(fmt::format("expected leeway >= 0, got {}", leeway));
  const auto size = static_cast<int64_t>(TRY(LengthOf(call.self)));
  if (size <= length || size - length <= leeway) return call.self;
  const std::string_view text = TRY(WantString(call.self, "what to truncate"));
  std::string_view kept = text.substr(0, OffsetOfCodePoint(text, length - end_size));
  if (!FlagOf(call[1])) kept = kept.substr(0, kept.rfind(' '));
  return Value(call.runtime.NewString(std::string(kept) + std::string(end)));
}

Result<Value> WordWrap(const Call& call) {
  const std::string_view text = TRY(WantString(call.self, "what to wrap"));
  WrapStyle style;
  if (!call[0].is_missing()) style.width = TRY(WantInt(call[0]));
  if (!call[1].is_missing()) style.break_long_words = IsTrue(call[1]);
  if (!call[3].is_missing()) style.break_on_hyphens = IsTrue(call[3]);
  std::string_view line_break = "\n";
  if (!call[2].is_missing() && !call[2].is_none()) {
    line_break = TRY(WantString(call[2], "wrapstring"));
  }
  TextBuilder builder(call.runtime);
  bool is_first = true;
  for (const std::string_view paragraph : SplitLines(text)) {
    if (!is_first) builder.Append(line_break);
    is_first = false;
    bool is_first_line = true;
    for (const std::string& line : TRY(WrapLine(call.runtime, paragraph, style))) {
      if (!is_first_line) builder.Append(line_break);
      is_first_line = false;
      builder.Append(line);
    }
  }
  return Value(call.runtime.NewString(TRY(builder.Take())));
}

Result<Value> PrettyPrint(const Call& call) {
  return Value(call.runtime.NewString(TRY(PrettyRepr(call.runtime, call.self))));
}

constexpr Builtin kLayoutFilters[] = {
    {"center", "width?", Center},
    {"indent", "width? first? blank?", Indent},
    {"pprint", "", PrettyPrint},
    {"truncate", "length? killwords? end? leeway?", Truncate},
    {"wordwrap", "width? break_long_words? wrapstring? break_on_hyphens?", WordWrap},
};

}  // namespace

std::span<const Builtin> LayoutFilters() { return kLayoutFilters; }

}  // namespace aster::jinja
