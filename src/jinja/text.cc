// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "jinja/text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "jinja/builtin.h"
#include "jinja/unicode.h"

namespace aster::jinja {
namespace {

void AppendEscaped(std::string& repr, char32_t c, char quote) {
  switch (c) {
    case '\t':
      repr += "\\t";
      return;
    case '\n':
      repr += "\\n";
      return;
    case '\r':
      repr += "\\r";
      return;
    default:
      break;
  }
  if (c == static_cast<unsigned char>(quote) || c == '\\') {
    repr += '\\';
    repr += static_cast<char>(c);
  } else if (IsPrintable(c)) {
    AppendUtf8(repr, c);
  } else if (c < 0x100) {
    repr += fmt::format("\\x{:02x}", static_cast<uint32_t>(c));
  } else if (c < 0x10000) {
    repr += fmt::format("\\u{:04x}", static_cast<uint32_t>(c));
  } else {
    repr += fmt::format("\\U{:08x}", static_cast<uint32_t>(c));
  }
}

Status AppendReprs(Runtime& runtime, TextBuilder& builder, const Values& items) {
  // By index: nothing here changes the list, whatever its items are.
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) builder.Append(", ");
    TRY(AppendRepr(runtime, builder, items[i]));
    if (builder.overflowed()) break;
  }
  return Ok();
}

Status AppendDict(Runtime& runtime, TextBuilder& builder, const Dict& dict) {
  builder.Append('{');
  bool is_first = true;
  for (const Dict::Entry& entry : dict.entries()) {
    if (!is_first) builder.Append(", ");
    is_first = false;
    TRY(AppendRepr(runtime, builder, entry.key));
    builder.Append(": ");
    TRY(AppendRepr(runtime, builder, entry.value));
    if (builder.overflowed()) break;
  }
  builder.Append('}');
  return Ok();
}

Status AppendDictView(Runtime& runtime, TextBuilder& builder, const DictView& view) {
  constexpr std::string_view kOpenings[] = {"dict_keys([", "dict_values([", "dict_items(["};
  builder.Append(kOpenings[static_cast<size_t>(view.part)]);
  bool is_first = true;
  for (const Dict::Entry& entry : view.dict->entries()) {
    if (!is_first) builder.Append(", ");
    is_first = false;
    const bool is_item = view.part == DictView::Part::kItems;
    if (is_item) builder.Append('(');
    if (view.part != DictView::Part::kValues) TRY(AppendRepr(runtime, builder, entry.key));
    if (is_item) builder.Append(", ");
    if (view.part != DictView::Part::kKeys) TRY(AppendRepr(runtime, builder, entry.value));
    if (is_item) builder.Append(')');
    if (builder.overflowed()) break;
  }
  builder.Append("])");
  return Ok();
}

void AppendRange(TextBuilder& builder, const Range& range) {
  builder.Append(range.step == 1
                     ? fmt::format("range({}, {})", range.start, range.stop)
                     : fmt::format("range({}, {}, {})", range.start, range.stop, range.step));
}

Status AppendReprOfObject(Runtime& runtime, TextBuilder& builder, const Value& value) {
  const Deeper deeper(runtime);
  TRY(deeper.Check());
  switch (value.kind()) {
    case Kind::kList:
      builder.Append('[');
      TRY(AppendReprs(runtime, builder, value.as<List>().items));
      builder.Append(']');
      return Ok();
    case Kind::kTuple:
      builder.Append('(');
      TRY(AppendReprs(runtime, builder, value.as<Tuple>().items));
      builder.Append(value.as<Tuple>().items.size() == 1 ? ",)" : ")");
      return Ok();
    case Kind::kDict:
      return AppendDict(runtime, builder, value.as<Dict>());
    case Kind::kDictView:
      return AppendDictView(runtime, builder, value.as<DictView>());
    case Kind::kNamespace:
      builder.Append("<Namespace ");
      TRY(AppendDict(runtime, builder, *value.as<Namespace>().attributes));
      builder.Append('>');
      return Ok();
    case Kind::kRange:
      AppendRange(builder, value.as<Range>());
      return Ok();
    case Kind::kFunction:
      builder.Append(fmt::format("<function {}>", value.as<Function>().builtin.name));
      return Ok();
    case Kind::kIterator:
    case Kind::kMacro:
    case Kind::kLoop:
      builder.Append(value.special().Repr());
      return Ok();
    default:
      builder.Append(fmt::format("<{} object>", TypeName(value)));
      return Ok();
  }
}

}  // namespace

Status AppendRepr(Runtime& runtime, TextBuilder& builder, const Value& value) {
  switch (value.kind()) {
    case Kind::kMissing:
    case Kind::kNone:
      builder.Append("None");
      return Ok();
    case Kind::kBool:
      builder.Append(value.bool_value() ? "True" : "False");
      return Ok();
    case Kind::kInt:
      builder.Append(fmt::format_int(value.int_value()).c_str());
      return Ok();
    case Kind::kFloat:
      builder.Append(ReprOfFloat(value.float_value()));
      return Ok();
    case Kind::kUndefined:
      builder.Append("Undefined");
      return Ok();
    case Kind::kBigInt:
      builder.Append(value.as<BigInt>().digits);
      return Ok();
    case Kind::kString:
      TRY(runtime.CheckBytes(value.text().size()));
      builder.Append(ReprOfString(value.text()));
      return Ok();
    default:
      return AppendReprOfObject(runtime, builder, value);
  }
}

Status AppendStr(Runtime& runtime, TextBuilder& builder, const Value& value) {
  if (value.is_string()) {
    builder.Append(value.text());
    return Ok();
  }
  if (value.is_undefined()) return Ok();
  return AppendRepr(runtime, builder, value);
}

Result<std::string> StrOf(Runtime& runtime, const Value& value) {
  if (value.is_string()) return std::string(value.text());
  TextBuilder builder(runtime);
  TRY(AppendStr(runtime, builder, value));
  return builder.Take();
}

Result<std::string> ReprOf(Runtime& runtime, const Value& value) {
  TextBuilder builder(runtime);
  TRY(AppendRepr(runtime, builder, value));
  return builder.Take();
}

std::string ReprOfString(std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const bool has_double = text.find('"') != std::string_view::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  std::string repr(1, quote);
  repr.reserve(text.size() + 2);
  for (size_t offset = 0; offset < text.size();) {
    AppendEscaped(repr, DecodeNext(text, offset), quote);
  }
  return repr += quote;
}

std::string ReprOfFloat(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[32];
  const auto [end, error] =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific);
  const std::string_view shortest(buffer, end - buffer);
  const size_t e = shortest.find('e');
  int exponent = 0;
  const std::string_view exponent_text = shortest.substr(e + 1);
  std::from_chars(exponent_text.data() + (exponent_text[0] == '+' ? 1 : 0),
                  exponent_text.data() + exponent_text.size(), exponent);
  // Python only writes exponents outside this range.
  if (exponent < -4 || exponent >= 16) {
    return fmt::format("{}e{}{:02}", shortest.substr(0, e), exponent < 0 ? '-' : '+',
                       std::abs(exponent));
  }
  const auto [fixed_end, fixed_error] =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::fixed);
  std::string fixed(buffer, fixed_end);
  if (fixed.find('.') == std::string::npos) fixed += ".0";
  return fixed;
}

}  // namespace aster::jinja
