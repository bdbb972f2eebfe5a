// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "jinja/string_methods.h"

#include <fmt/format.h>

#include <algorithm>

#include "jinja/compare.h"
#include "jinja/format.h"
#include "jinja/iterate.h"
#include "jinja/methods.h"
#include "jinja/text_search.h"
#include "jinja/unicode.h"

namespace aster::jinja {
namespace {

const String& StringOf(const Call& call) { return call.self.as<String>(); }

Value NewText(Runtime& runtime, std::string_view text) {
  return runtime.NewString(std::string(text));
}

Value ListOfTexts(const Call& call, const std::vector<std::string_view>& pieces) {
  Values items;
  items.reserve(pieces.size());
  for (const std::string_view piece : pieces) items.push_back(NewText(call.runtime, piece));
  return call.runtime.NewList(std::move(items));
}

// The part of the receiver between start and stop; nothing if start is after the end.
struct Window {
  size_t first;  // index of the first code point
  std::string_view text;
};

Result<std::optional<Window>> WindowOf(const Call& call, size_t start_argument) {
  const String& string = StringOf(call);
  const auto size = static_cast<int64_t>(string.CodePoints());
  const Value& start_value = call[start_argument];
  const Value& stop_value = call[start_argument + 1];
  auto is_given = [](const Value& value) { return !value.is_missing() && !value.is_none(); };
  int64_t start = is_given(start_value) ? TRY(WantInt(start_value)) : 0;
  int64_t stop = is_given(stop_value) ? TRY(WantInt(stop_value)) : size;
  if (start < 0) start = std::max<int64_t>(start + size, 0);
  if (stop < 0) stop = std::max<int64_t>(stop + size, 0);
  stop = std::min(stop, size);
  if (start > stop) return std::optional<Window>();
  const std::string_view text = string.text;
  if (string.is_ascii()) {
    return std::optional<Window>({static_cast<size_t>(start), text.substr(start, stop - start)});
  }
  const size_t begin = OffsetOfCodePoint(text, start);
  const size_t length = OffsetOfCodePoint(text.substr(begin), stop - start);
  return std::optional<Window>({static_cast<size_t>(start), text.substr(begin, length)});
}

// The index of the text to find, or -1.
Result<int64_t> Locate(const Call& call, bool from_right) {
  const std::string_view wanted = TRY(WantString(call[0], "the text to find"));
  const std::optional<Window> window = TRY(WindowOf(call, 1));
  if (!window) return -1;
  const size_t offset =
      from_right ? FindLast(window->text, wanted) : FindFirst(window->text, wanted);
  if (offset == std::string_view::npos) return -1;
  return static_cast<int64_t>(window->first + CountCodePoints(window->text.substr(0, offset)));
}

template <bool kFromRight>
Result<Value> Find(const Call& call) {
  return Value::Int(TRY(Locate(call, kFromRight)));
}

Result<Value> Index(const Call& call) {
  const int64_t index = TRY(Locate(call, false));
  if (index < 0) return TemplateError("substring not found");
  return Value::Int(index);
}

Result<Value> Count(const Call& call) {
  const std::string_view wanted = TRY(WantString(call[0], "the text to count"));
  const std::optional<Window> window = TRY(WindowOf(call, 1));
  if (!window) return Value::Int(0);
  if (wanted.empty()) return Value::Int(static_cast<int64_t>(CountCodePoints(window->text) + 1));
  int64_t count = 0;
  for (size_t offset = FindFirst(window->text, wanted); offset != std::string_view::npos;
       offset = FindFirst(window->text, wanted, offset + wanted.size())) {
    ++count;
  }
  return Value::Int(count);
}

template <bool kAtEnd>
Result<Value> HasAffix(const Call& call) {
  const std::optional<Window> window = TRY(WindowOf(call, 1));
  auto matches = [&](const Value& affix) -> Result<bool> {
    const std::string_view text = TRY(WantString(affix, "the prefix or suffix"));
    if (!window) return false;
    return kAtEnd ? window->text.ends_with(text) : window->text.starts_with(text);
  };
  if (!call[0].Is(Kind::kTuple)) return Value::Bool(TRY(matches(call[0])));
  for (const Value& affix : call[0].as<Tuple>().items) {
    if (TRY(matches(affix))) return Value::Bool(true);
  }
  return Value::Bool(false);
}

template <Side kSide>
Result<Value> StripMethod(const Call& call) {
  if (call[0].is_missing() || call[0].is_none())
    return NewText(call.runtime, Strip(call.self.text(), kSide));
  return NewText(call.runtime, Strip(call.self.text(), kSide,
                                     TRY(WantString(call[0], "the characters to strip"))));
}

template <bool kSuffix>
Result<Value> RemoveAffix(const Call& call) {
  std::string_view text = call.self.text();
  const std::string_view affix = TRY(WantString(call[0], "the prefix or suffix"));
  if (kSuffix && text.ends_with(affix)) text.remove_suffix(affix.size());
  if (!kSuffix && text.starts_with(affix)) text.remove_prefix(affix.size());
  return NewText(call.runtime, text);
}

template <bool kFromRight>
Result<Value> Partition(const Call& call) {
  const std::string_view text = call.self.text();
  const std::string_view separator = TRY(WantString(call[0], "the separator"));
  if (separator.empty()) return TemplateError("empty separator");
  const size_t offset = kFromRight ? FindLast(text, separator) : FindFirst(text, separator);
  const bool found = offset != std::string_view::npos;
  std::string_view before = found ? text.substr(0, offset) : kFromRight ? "" : text;
  std::string_view after = found ? text.substr(offset + separator.size()) : kFromRight ? text : "";
  return Value(call.runtime.NewTuple({NewText(call.runtime, before),
                                      NewText(call.runtime, found ? separator : ""),
                                      NewText(call.runtime, after)}));
}

Result<Value> ReplaceMethod(const Call& call) {
  const std::string_view from = TRY(WantString(call[0], "what to replace"));
  const std::string_view to = TRY(WantString(call[1], "the replacement"));
  const int64_t count = call[2].is_missing() ? -1 : TRY(WantInt(call[2]));
  return NewText(call.runtime, TRY(Replace(call.runtime, call.self.text(), from, to, count)));
}

Result<Value> SplitLinesMethod(const Call& call) {
  const bool keep_ends = FlagOf(call[0]);
  return ListOfTexts(call, SplitLines(call.self.text(), keep_ends));
}

// Splits at runs of white space, ignoring those at the ends.
std::vector<std::string_view> SplitAtSpace(std::string_view text, uint64_t limit) {
  std::vector<std::string_view> pieces;
  text = Strip(text, Side::kLeft);
  while (!text.empty()) {
    if (pieces.size() == limit) {
      pieces.push_back(text);
      break;
    }
    size_t end = 0;
    while (end < text.size()) {
      size_t next = end;
      if (IsSpace(DecodeNext(text, next))) break;
      end = next;
    }
    pieces.push_back(text.substr(0, end));
    text = Strip(text.substr(end), Side::kLeft);
  }
  return pieces;
}

std::vector<std::string_view> SplitAtSpaceFromRight(std::string_view text, uint64_t limit) {
  std::vector<std::string_view> pieces;
  text = Strip(text, Side::kRight);
  while (!text.empty()) {
    if (pieces.size() == limit) {
      pieces.push_back(text);
      break;
    }
    size_t begin = text.size();
    while (begin > 0) {
      size_t previous = begin;
      if (IsSpace(DecodePrevious(text, previous))) break;
      begin = previous;
    }
    pieces.push_back(text.substr(begin));
    text = Strip(text.substr(0, begin), Side::kRight);
  }
  std::ranges::reverse(pieces);
  return pieces;
}

std::vector<std::string_view> SplitAt(std::string_view text, std::string_view separator,
                                      uint64_t limit) {
  std::vector<std::string_view> pieces;
  while (pieces.size() < limit) {
    const size_t offset = FindFirst(text, separator);
    if (offset == std::string_view::npos) break;
    pieces.push_back(text.substr(0, offset));
    text.remove_prefix(offset + separator.size());
  }
  pieces.push_back(text);
  return pieces;
}

std::vector<std::string_view> SplitAtFromRight(std::string_view text, std::string_view separator,
                                               uint64_t limit) {
  std::vector<std::string_view> pieces;
  while (pieces.size() < limit) {
    const size_t offset = FindLast(text, separator);
    if (offset == std::string_view::npos) break;
    pieces.push_back(text.substr(offset + separator.size()));
    text = text.substr(0, offset);
  }
  pieces.push_back(text);
  std::ranges::reverse(pieces);
  return pieces;
}

template <bool kFromRight>
Result<Value> Split(const Call& call) {
  const int64_t most = call[1].is_missing() ? -1 : TRY(WantInt(call[1]));
  const uint64_t limit = most < 0 ? UINT64_MAX : static_cast<uint64_t>(most);
  const std::string_view text = call.self.text();
  // A view and a string for every piece: many pieces take more memory than the text itself.
  TRY(call.runtime.CheckBytes(text.size()));
  if (call[0].is_missing() || call[0].is_none()) {
    return ListOfTexts(call,
                       kFromRight ? SplitAtSpaceFromRight(text, limit) : SplitAtSpace(text, limit));
  }
  const std::string_view separator = TRY(WantString(call[0], "the separator"));
  if (separator.empty()) return TemplateError("empty separator");
  return ListOfTexts(call, kFromRight ? SplitAtFromRight(text, separator, limit)
                                      : SplitAt(text, separator, limit));
}

template <std::string (*kChange)(std::string_view)>
Result<Value> Change(const Call& call) {
  // Case mappings may make text up to three times longer.
  TRY(call.runtime.CheckBytes(StringOf(call).text.size() * 3));
  return NewText(call.runtime, kChange(StringOf(call).text));
}

// Whether there are characters and all of them are of this kind.
template <bool (*kIs)(char32_t)>
Result<Value> IsAll(const Call& call) {
  const std::string& text = StringOf(call).text;
  for (size_t offset = 0; offset < text.size();) {
    if (!kIs(DecodeNext(text, offset))) return Value::Bool(false);
  }
  return Value::Bool(!text.empty());
}

bool IsLetterOrNumber(char32_t c) { return IsLetter(c) || IsNumber(c); }

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
    builder.Append(item.text());
    if (builder.overflowed()) break;
  }
  return NewText(call.runtime, TRY(builder.Take()));
}

Result<Value> FormatMethod(const Call& call) {
  return NewText(call.runtime, TRY(Format(call.runtime, StringOf(call).text, call.given)));
}

constexpr Builtin kStringMethods[] = {
    {"capitalize", "", Change<ToCapitalized>},
    {"count", "/sub start? end?", Count},
    {"endswith", "/suffix start? end?", HasAffix<true>},
    {"find", "/sub start? end?", Find<false>},
    {"format", "...", FormatMethod},
    {"index", "/sub start? end?", Index},
    {"isalnum", "", IsAll<IsLetterOrNumber>},
    {"isalpha", "", IsAll<IsLetter>},
    {"isdigit", "", IsAll<IsDigit>},
    {"isspace", "", IsAll<IsSpace>},
    {"join", "/iterable", Join},
    {"lower", "", Change<ToLower>},
    {"lstrip", "/chars?", StripMethod<Side::kLeft>},
    {"partition", "/sep", Partition<false>},
    {"removeprefix", "/prefix", RemoveAffix<false>},
    {"removesuffix", "/suffix", RemoveAffix<true>},
    {"replace", "/old new count?", ReplaceMethod},
    {"rfind", "/sub start? end?", Find<true>},
    {"rpartition", "/sep", Partition<true>},
    {"rsplit", "sep? maxsplit?", Split<true>},
    {"rstrip", "/chars?", StripMethod<Side::kRight>},
    {"split", "sep? maxsplit?", Split<false>},
    {"splitlines", "keepends?", SplitLinesMethod},
    {"startswith", "/prefix start? end?", HasAffix<false>},
    {"strip", "/chars?", StripMethod<Side::kBoth>},
    {"title", "", Change<ToTitle>},
    {"upper", "", Change<ToUpper>},
};

bool EndsLine(char32_t c) {
  return (c >= '\n' && c <= '\r') || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

}  // namespace

std::string_view Strip(std::string_view text, Side side,
                       std::optional<std::string_view> characters) {
  std::u32string set = characters ? Decode(*characters) : std::u32string();
  std::ranges::sort(set);
  auto goes = [&](char32_t c) {
    return characters ? std::ranges::binary_search(set, c) : IsSpace(c);
  };
  while (side != Side::kRight && !text.empty()) {
    size_t offset = 0;
    if (!goes(DecodeNext(text, offset))) break;
    text.remove_prefix(offset);
  }
  while (side != Side::kLeft && !text.empty()) {
    size_t offset = text.size();
    if (!goes(DecodePrevious(text, offset))) break;
    text.remove_suffix(text.size() - offset);
  }
  return text;
}

std::vector<std::string_view> SplitLines(std::string_view text, bool keep_ends) {
  std::vector<std::string_view> lines;
  size_t begin = 0;
  for (size_t offset = 0; offset < text.size();) {
    const size_t end = offset;
    const char32_t c = DecodeNext(text, offset);
    if (!EndsLine(c)) continue;
    if (c == '\r' && offset < text.size() && text[offset] == '\n') ++offset;
    lines.push_back(text.substr(begin, (keep_ends ? offset : end) - begin));
    begin = offset;
  }
  if (begin < text.size()) lines.push_back(text.substr(begin));
  return lines;
}

Result<std::string> Replace(Runtime& runtime, std::string_view text, std::string_view from,
                            std::string_view to, int64_t count) {
  uint64_t left = count < 0 ? UINT64_MAX : static_cast<uint64_t>(count);
  TextBuilder builder(runtime);
  // The empty text is found before, between and after all characters.
  if (from.empty()) {
    size_t offset = 0;
    while (left > 0 && !builder.overflowed()) {
      builder.Append(to);
      --left;
      if (offset == text.size()) return builder.Take();
      const size_t begin = offset;
      DecodeNext(text, offset);
      builder.Append(text.substr(begin, offset - begin));
    }
    builder.Append(text.substr(offset));
    return builder.Take();
  }
  while (left > 0 && !builder.overflowed()) {
    const size_t offset = FindFirst(text, from);
    if (offset == std::string_view::npos) break;
    builder.Append(text.substr(0, offset));
    builder.Append(to);
    text.remove_prefix(offset + from.size());
    --left;
  }
  builder.Append(text);
  return builder.Take();
}

std::span<const Builtin> StringMethods() { return kStringMethods; }

}  // namespace aster::jinja
