// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The string methods that look at characters one by one, change their case, or pad.
#include <fmt/format.h>

#include "jinja/format.h"
#include "jinja/iterate.h"
#include "jinja/markup.h"
#include "jinja/methods.h"
#include "jinja/string_methods.h"
#include "jinja/unicode.h"

namespace aster::jinja {
namespace {

const String& StringOf(const Call& call) { return call.self.as<String>(); }

// A result that is as safe, or not, as its receiver.
Value Like(const Call& call, std::string text) {
  return call.runtime.NewString(std::move(text), StringOf(call).is_markup);
}

template <std::string (*kChange)(std::string_view)>
Result<Value> Change(const Call& call) {
  // Case mappings may make text up to three times longer.
  TRY(call.runtime.CheckBytes(StringOf(call).text.size() * 3));
  return Like(call, kChange(StringOf(call).text));
}

// Whether there are characters and all of them are such.
template <bool (*kIs)(char32_t)>
Result<Value> IsAll(const Call& call) {
  const std::string& text = StringOf(call).text;
  for (size_t offset = 0; offset < text.size();) {
    if (!kIs(DecodeNext(text, offset))) return Value::Bool(false);
  }
  return Value::Bool(!text.empty());
}

bool IsLetterOrNumber(char32_t c) { return IsLetter(c) || IsNumeric(c); }

Result<Value> IsAsciiMethod(const Call& call) { return Value::Bool(IsAscii(StringOf(call).text)); }

Result<Value> IsPrintableMethod(const Call& call) {
  return StringOf(call).text.empty() ? Value::Bool(true) : IsAll<IsPrintable>(call);
}

// Whether there are letters with case and all of them have the one that `kIs` finds.
template <bool (*kIs)(char32_t), bool (*kIsOther)(char32_t)>
Result<Value> IsCase(const Call& call) {
  const std::string& text = StringOf(call).text;
  bool found = false;
  for (size_t offset = 0; offset < text.size();) {
    const char32_t c = DecodeNext(text, offset);
    if (kIsOther(c) || IsTitle(c)) return Value::Bool(false);
    found = found || kIs(c);
  }
  return Value::Bool(found);
}

Result<Value> IsTitleMethod(const Call& call) {
  const std::string& text = StringOf(call).text;
  bool found = false;
  bool in_word = false;
  for (size_t offset = 0; offset < text.size();) {
    const char32_t c = DecodeNext(text, offset);
    const bool is_capital = IsUpper(c) || IsTitle(c);
    const bool is_small = !is_capital && IsLower(c);
    if ((is_capital && in_word) || (is_small && !in_word)) return Value::Bool(false);
    in_word = is_capital || is_small;
    found = found || in_word;
  }
  return Value::Bool(found);
}

Result<Value> IsIdentifier(const Call& call) {
  const std::string& text = StringOf(call).text;
  for (size_t offset = 0; offset < text.size();) {
    const bool is_first = offset == 0;
    const char32_t c = DecodeNext(text, offset);
    if (is_first ? !IsNameStart(c) : !IsNameContinue(c)) return Value::Bool(false);
  }
  return Value::Bool(!text.empty());
}

Result<std::string_view> FillOf(const Value& value) {
  if (value.is_missing()) return std::string_view(" ");
  const std::string_view fill = TRY(WantString(value, "the fill character"));
  if (CountCodePoints(fill) != 1) {
    return TemplateError("The fill character must be exactly one character long");
  }
  return fill;
}

Result<std::string> Padding(Runtime& runtime, std::string_view fill, int64_t count) {
  std::string padding;
  if (count <= 0) return padding;
  TRY(runtime.CheckBytes(std::min<uint64_t>(count, UINT32_MAX) * fill.size()));
  for (int64_t i = 0; i < count; ++i) padding += fill;
  return padding;
}

int64_t MissingTo(const String& string, int64_t width) {
  const auto size = static_cast<int64_t>(string.CodePoints());
  return width > size ? width - size : 0;
}

Result<Value> Center(const Call& call) {
  const std::string_view fill = TRY(FillOf(call[1]));
  return Like(call, TRY(Centered(call.runtime, StringOf(call), TRY(WantInt(call[0])), fill)));
}

Result<Value> JustifyLeft(const Call& call) {
  const int64_t missing = MissingTo(StringOf(call), TRY(WantInt(call[0])));
  return Like(call,
              StringOf(call).text + TRY(Padding(call.runtime, TRY(FillOf(call[1])), missing)));
}

Result<Value> JustifyRight(const Call& call) {
  const int64_t missing = MissingTo(StringOf(call), TRY(WantInt(call[0])));
  return Like(call,
              TRY(Padding(call.runtime, TRY(FillOf(call[1])), missing)) + StringOf(call).text);
}

Result<Value> FillWithZeros(const Call& call) {
  const int64_t missing = MissingTo(StringOf(call), TRY(WantInt(call[0])));
  std::string text = StringOf(call).text;
  const bool has_sign = text.starts_with('+') || text.starts_with('-');
  text.insert(has_sign ? 1 : 0, TRY(Padding(call.runtime, "0", missing)));
  return Like(call, std::move(text));
}

Result<Value> ExpandTabs(const Call& call) {
  const int64_t tab_size = call[0].is_missing() ? 8 : TRY(WantInt(call[0]));
  const std::string& text = StringOf(call).text;
  std::string expanded;
  int64_t column = 0;
  for (size_t offset = 0; offset < text.size();) {
    const char32_t c = DecodeNext(text, offset);
    if (c == '\t') {
      const int64_t spaces = tab_size > 0 ? tab_size - column % tab_size : 0;
      TRY(call.runtime.CheckBytes(expanded.size() + static_cast<size_t>(spaces)));
      expanded.append(static_cast<size_t>(spaces), ' ');
      column += spaces;
      continue;
    }
    AppendCodePoint(expanded, c);
    column = c == '\n' || c == '\r' ? 0 : column + 1;
  }
  return Like(call, std::move(expanded));
}

Result<Value> Join(const Call& call) {
  const String& separator = StringOf(call);
  const Ref<Iterator> iterator = TRY(Iterate(call.runtime, call[0]));
  TextBuilder builder(call.runtime);
  for (int64_t index = 0;; ++index) {
    const Value item = TRY(iterator->Next(call.runtime));
    if (item.is_missing()) break;
    TRY(call.runtime.Charge());
    if (!item.is_string()) {
      return TemplateError(
          fmt::format("sequence item {}: expected str instance, {} found", index, TypeName(item)));
    }
    if (index > 0) builder.Append(separator.text);
    const bool escapes = separator.is_markup && !item.as<String>().is_markup;
    if (escapes) {
      builder.Append(EscapeHtml(item.text()));
    } else {
      builder.Append(item.text());
    }
    if (builder.overflowed()) break;
  }
  return Like(call, TRY(builder.Take()));
}

Result<Value> Format(const Call& call) {
  return Like(call, TRY(FormatBraces(call.runtime, StringOf(call).text, call.given)));
}

Result<Value> FormatMap(const Call& call) {
  if (!call[0].Is(Kind::kDict)) return TemplateError("format_map() takes a mapping");
  Arguments arguments;
  for (const Dict::Entry& entry : call[0].as<Dict>().entries()) {
    if (entry.key.is_string()) arguments.named.emplace_back(entry.key.text(), entry.value);
  }
  return Like(call, TRY(FormatBraces(call.runtime, StringOf(call).text, arguments)));
}

constexpr Builtin kStringTextMethods[] = {
    {"capitalize", "", Change<ToCapitalized>},
    {"casefold", "", Change<CaseFold>},
    {"center", "/width fillchar?", Center},
    {"expandtabs", "tabsize?", ExpandTabs},
    {"format", "...", Format},
    {"format_map", "/mapping", FormatMap},
    {"isalnum", "", IsAll<IsLetterOrNumber>},
    {"isalpha", "", IsAll<IsLetter>},
    {"isascii", "", IsAsciiMethod},
    {"isdecimal", "", IsAll<IsDecimal>},
    {"isdigit", "", IsAll<IsDigit>},
    {"isidentifier", "", IsIdentifier},
    {"islower", "", IsCase<IsLower, IsUpper>},
    {"isnumeric", "", IsAll<IsNumeric>},
    {"isprintable", "", IsPrintableMethod},
    {"isspace", "", IsAll<IsSpace>},
    {"istitle", "", IsTitleMethod},
    {"isupper", "", IsCase<IsUpper, IsLower>},
    {"join", "/iterable", Join},
    {"ljust", "/width fillchar?", JustifyLeft},
    {"lower", "", Change<ToLower>},
    {"rjust", "/width fillchar?", JustifyRight},
    {"swapcase", "", Change<SwapCase>},
    {"title", "", Change<ToTitle>},
    {"upper", "", Change<ToUpper>},
    {"zfill", "/width", FillWithZeros},
};

}  // namespace

Result<std::string> Centered(Runtime& runtime, const String& text, int64_t width,
                             std::string_view fill) {
  const int64_t missing = MissingTo(text, width);
  // The odd one goes to the left where the width is odd too.
  const int64_t left = missing / 2 + (missing & width & 1);
  return TRY(Padding(runtime, fill, left)) + text.text +
         TRY(Padding(runtime, fill, missing - left));
}

std::span<const Builtin> StringTextMethods() { return kStringTextMethods; }

}  // namespace aster::jinja
