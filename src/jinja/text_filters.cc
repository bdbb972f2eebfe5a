// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Filters from text to text: case, escaping, replacing, formatting.
#include <fmt/format.h>

#include <algorithm>

#include "jinja/compare.h"
#include "jinja/filters.h"
#include "jinja/format.h"
#include "jinja/iterate.h"
#include "jinja/markup.h"
#include "jinja/string_methods.h"
#include "jinja/text.h"
#include "jinja/unicode.h"

namespace aster::jinja {
namespace {

template <std::string (*kChange)(std::string_view)>
Result<Value> ChangeText(const Call& call) {
  const Ref<String> text = TRY(SoftString(call.runtime, call.self));
  TRY(call.runtime.CheckBytes(text->text.size() * 3));
  return Value(call.runtime.NewString(kChange(text->text), text->is_markup));
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

Result<Value> Escape(const Call& call) {
  if (call.self.is_string() && call.self.as<String>().is_markup) return call.self;
  const std::string text = TRY(StrOf(call.runtime, call.self));
  TRY(call.runtime.CheckBytes(text.size() * 5));
  return Value(call.runtime.NewString(EscapeHtml(text), true));
}

Result<Value> ForceEscape(const Call& call) {
  const std::string text = TRY(StrOf(call.runtime, call.self));
  TRY(call.runtime.CheckBytes(text.size() * 5));
  return Value(call.runtime.NewString(EscapeHtml(text), true));
}

Result<Value> Safe(const Call& call) {
  return Value(call.runtime.NewString(TRY(StrOf(call.runtime, call.self)), true));
}

Result<Value> ToStringFilter(const Call& call) {
  return Value(TRY(SoftString(call.runtime, call.self)));
}

Result<Value> StripTagsFilter(const Call& call) {
  return Value(call.runtime.NewString(StripTags(TRY(StrOf(call.runtime, call.self)))));
}

Result<Value> Trim(const Call& call) {
  const Ref<String> text = TRY(SoftString(call.runtime, call.self));
  std::string_view stripped;
  if (call[0].is_missing() || call[0].is_none()) {
    stripped = Strip(text->text, Side::kBoth);
  } else {
    stripped = Strip(text->text, Side::kBoth, TRY(WantString(call[0], "the characters to trim")));
  }
  return Value(call.runtime.NewString(std::string(stripped), text->is_markup));
}

Result<Value> ReplaceFilter(const Call& call) {
  const std::string text = TRY(StrOf(call.runtime, call.self));
  const std::string from = TRY(StrOf(call.runtime, call[0]));
  const std::string to = TRY(StrOf(call.runtime, call[1]));
  const int64_t count = call[2].is_missing() || call[2].is_none() ? -1 : TRY(WantInt(call[2]));
  return Value(call.runtime.NewString(TRY(Replace(call.runtime, text, from, to, count))));
}

Result<Value> FormatFilter(const Call& call) {
  if (!call.given.positional.empty() && !call.given.named.empty()) {
    return TemplateError("can't handle positional and keyword arguments at the same time");
  }
  const Ref<String> format = TRY(SoftString(call.runtime, call.self));
  if (call.given.named.empty()) {
    return FormatPercent(call.runtime, *format, call.runtime.NewTuple(call.given.positional));
  }
  const Ref<Dict> names = call.runtime.NewDict();
  for (const auto& [name, value] : call.given.named) {
    names->Set(call.runtime.NewString(name), value);
  }
  return FormatPercent(call.runtime, *format, names);
}

std::string PercentEncoded(std::string_view text, bool for_query) {
  std::string encoded;
  for (const char c : text) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                          (c >= 'A' && c <= 'Z') ||
                          std::string_view("_.-~").find(c) != std::string_view::npos;
    if (is_plain || (c == '/' && !for_query)) {
      encoded += c;
    } else if (c == ' ' && for_query) {
      encoded += '+';
    } else {
      encoded += fmt::format("%{:02X}", static_cast<uint8_t>(c));
    }
  }
  return encoded;
}

Result<Value> UrlEncode(const Call& call) {
  Runtime& runtime = call.runtime;
  if (call.self.is_string() || !IsIterable(call.self)) {
    const std::string text = TRY(StrOf(runtime, call.self));
    TRY(runtime.CheckBytes(text.size() * 3));
    return Value(runtime.NewString(PercentEncoded(text, false)));
  }
  Value pairs = call.self;
  if (call.self.Is(Kind::kDict)) {
    pairs = runtime.heap().New<DictView>(call.self.ref<Dict>(), DictView::Part::kItems);
  }
  TextBuilder builder(runtime);
  for (const Value& item : TRY(ItemsOf(runtime, pairs))) {
    const Values pair = TRY(ItemsOf(runtime, item));
    if (pair.size() != 2) return TemplateError("urlencode wants pairs of a key and a value");
    if (!builder.text().empty()) builder.Append('&');
    builder.Append(PercentEncoded(TRY(StrOf(runtime, pair[0])), true));
    builder.Append('=');
    builder.Append(PercentEncoded(TRY(StrOf(runtime, pair[1])), true));
  }
  return Value(runtime.NewString(TRY(builder.Take())));
}

Result<Value> WordCount(const Call& call) {
  const Ref<String> string = TRY(SoftString(call.runtime, call.self));
  int64_t count = 0;
  bool in_word = false;
  for (size_t offset = 0; offset < string->text.size();) {
    const bool is_word = IsWord(DecodeNext(string->text, offset));
    if (is_word && !in_word) ++count;
    in_word = is_word;
  }
  return Value::Int(count);
}

Result<Value> XmlAttributes(const Call& call) {
  if (!call.self.Is(Kind::kDict)) return TemplateError("xmlattr wants a dict");
  Runtime& runtime = call.runtime;
  TextBuilder builder(runtime);
  const bool autospace = call[0].is_missing() || IsTrue(call[0]);
  for (const Dict::Entry& entry : call.self.as<Dict>().entries()) {
    if (entry.value.is_none() || entry.value.is_undefined()) continue;
    const std::string_view key = TRY(WantString(entry.key, "the attribute's name"));
    if (key.find_first_of(" \t\n\r\f\v/>=") != std::string_view::npos) {
      return TemplateError(fmt::format("Invalid character in attribute name: '{}'", key));
    }
    const bool is_safe = entry.value.is_string() && entry.value.as<String>().is_markup;
    const std::string text = TRY(StrOf(runtime, entry.value));
    if (!builder.text().empty() || autospace) builder.Append(' ');
    builder.Append(fmt::format("{}=\"{}\"", EscapeHtml(key), is_safe ? text : EscapeHtml(text)));
  }
  return Value(runtime.NewString(TRY(builder.Take())));
}

Result<Value> Urlize(const Call& /*call*/) {
  return Unimplemented("the filter urlize makes HTML and is not supported");
}

constexpr Builtin kTextFilters[] = {
    {"capitalize", "", ChangeText<ToCapitalized>},
    {"e", "", Escape},
    {"escape", "", Escape},
    {"forceescape", "", ForceEscape},
    {"format", "...", FormatFilter},
    {"lower", "", ChangeText<ToLower>},
    {"replace", "old new count?", ReplaceFilter},
    {"safe", "", Safe},
    {"string", "", ToStringFilter},
    {"striptags", "", StripTagsFilter},
    {"title", "", ChangeText<Title>},
    {"trim", "chars?", Trim},
    {"upper", "", ChangeText<ToUpper>},
    {"urlencode", "", UrlEncode},
    {"urlize", "...", Urlize},
    {"wordcount", "", WordCount},
    {"xmlattr", "autospace?", XmlAttributes},
};

}  // namespace

std::span<const Builtin> TextFilters() { return kTextFilters; }

}  // namespace aster::jinja
