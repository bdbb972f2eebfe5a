// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "jinja/access.h"
#include "jinja/format.h"
#include "jinja/number_format.h"
#include "jinja/text.h"
#include "jinja/unicode.h"

namespace aster::jinja {
namespace {

// [[fill]align][sign][#][0][width][grouping][.precision][type]
struct Spec {
  std::string fill = " ";  // one character
  char align = 0;
  char sign = '-';
  bool alternate = false;
  char grouping = 0;
  int64_t width = 0;
  int64_t precision = -1;
  char type = 0;
};

bool IsAlign(char c) { return c == '<' || c == '>' || c == '=' || c == '^'; }

Result<int64_t> TakeNumber(std::string_view& text) {
  int64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::result_out_of_range || number > INT32_MAX) {
    return TemplateError("too many decimal digits in format string");
  }
  text.remove_prefix(stop - text.data());
  return number;
}

bool StartsWithDigit(std::string_view text) {
  return !text.empty() && text[0] >= '0' && text[0] <= '9';
}

bool TakeOne(std::string_view& text, std::string_view choices, char& taken) {
  if (text.empty() || choices.find(text[0]) == std::string_view::npos) return false;
  taken = text[0];
  text.remove_prefix(1);
  return true;
}

Result<Spec> ParseSpec(std::string_view text, bool is_number) {
  Spec spec;
  const std::string_view whole = text;
  if (!text.empty()) {
    size_t after_first = 0;
    DecodeNext(text, after_first);
    if (after_first < text.size() && IsAlign(text[after_first])) {
      spec.fill = text.substr(0, after_first);
      spec.align = text[after_first];
      text.remove_prefix(after_first + 1);
    } else if (IsAlign(text[0])) {
      TakeOne(text, "<>=^", spec.align);
    }
  }
  char taken = 0;
  if (TakeOne(text, "+- ", taken)) spec.sign = taken;
  spec.alternate = TakeOne(text, "#", taken);
  if (TakeOne(text, "0", taken) && spec.align == 0) {
    spec.fill = "0";
    if (is_number) spec.align = '=';
  }
  if (StartsWithDigit(text)) spec.width = TRY(TakeNumber(text));
  TakeOne(text, ",_", spec.grouping);
  if (TakeOne(text, ".", taken)) {
    if (!StartsWithDigit(text)) return TemplateError("Format specifier missing precision");
    spec.precision = TRY(TakeNumber(text));
  }
  if (text.size() > 1) return TemplateError(fmt::format("Invalid format specifier '{}'", whole));
  if (!text.empty()) spec.type = text[0];
  return spec;
}

Result<std::string> Padded(Runtime& runtime, const Spec& spec, std::string_view prefix,
                           std::string_view text, char default_align) {
  const auto size = static_cast<int64_t>(prefix.size() + CountCodePoints(text));
  const auto missing = static_cast<size_t>(std::max<int64_t>(spec.width - size, 0));
  TRY(runtime.CheckBytes(missing * spec.fill.size()));
  const char align = spec.align == 0 ? default_align : spec.align;
  const size_t before = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  std::string fill_before;
  std::string fill_after;
  for (size_t i = 0; i < missing; ++i) (i < before ? fill_before : fill_after) += spec.fill;
  if (align == '=') return std::string(prefix) + fill_before + std::string(text);
  return fill_before + std::string(prefix) + std::string(text) + fill_after;
}

Result<std::string> FormatText(Runtime& runtime, std::string_view text, const Spec& spec) {
  if (spec.type != 0 && spec.type != 's') {
    return TemplateError(
        fmt::format("Unknown format code '{}' for object of type 'str'", spec.type));
  }
  if (spec.sign != '-' || spec.alternate || spec.grouping != 0 || spec.align == '=') {
    return TemplateError("that format is for numbers, not for strings");
  }
  if (spec.precision >= 0) {
    text = text.substr(0, OffsetOfCodePoint(text, static_cast<size_t>(spec.precision)));
  }
  return Padded(runtime, spec, "", text, '<');
}

// Puts the separator between groups of digits, with as many zeros before as the width asks for.
std::string Grouped(std::string_view digits, const Spec& spec, size_t prefix_size) {
  const size_t group = spec.grouping == '_' &&
                               std::string_view("bxXo").find(spec.type) != std::string_view::npos &&
                               spec.type != 0
                           ? 4
                           : 3;
  size_t whole_size = digits.find_first_not_of("0123456789abcdefABCDEF");
  whole_size = std::min(whole_size, digits.size());
  std::string whole(digits.substr(0, whole_size));
  const std::string_view rest = digits.substr(whole_size);
  auto grouped_size = [&] { return whole.size() + (whole.size() - 1) / group; };
  if (spec.fill == "0" && spec.align == '=' && !whole.empty()) {
    while (static_cast<int64_t>(grouped_size() + rest.size() + prefix_size) < spec.width) {
      whole.insert(0, "0");
    }
  }
  std::string grouped;
  for (size_t i = 0; i < whole.size(); ++i) {
    if (i > 0 && (whole.size() - i) % group == 0) grouped += spec.grouping;
    grouped += whole[i];
  }
  return grouped.append(rest);
}

std::string SignText(const Spec& spec, bool is_negative) {
  if (is_negative) return "-";
  return spec.sign == '-' ? "" : std::string(1, spec.sign);
}

Result<std::string> FormatNumber(Runtime& runtime, const Spec& spec, const std::string& prefix,
                                 std::string digits) {
  if (spec.grouping != 0) {
    TRY(runtime.CheckBytes(static_cast<uint64_t>(spec.width)));
    digits = Grouped(digits, spec, prefix.size());
  }
  return Padded(runtime, spec, prefix, digits, '>');
}

Result<std::string> FormatFloat(Runtime& runtime, double value, const Spec& spec) {
  const bool is_negative = std::signbit(value) && !std::isnan(value);
  std::string digits;
  const int64_t precision = spec.precision < 0 ? 6 : spec.precision;
  switch (spec.type) {
    case 0:
      if (spec.precision < 0) {
        digits = ReprOfFloat(std::abs(value));
      } else {
        digits = TRY(FloatDigits(value, 'g', precision, false));
        if (digits.find_first_not_of("0123456789") == std::string::npos) digits += ".0";
      }
      break;
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
      digits = TRY(FloatDigits(value, spec.type, precision, spec.alternate));
      break;
    case 'n':
      digits = TRY(FloatDigits(value, 'g', precision, spec.alternate));
      break;
    case '%':
      digits = TRY(FloatDigits(value * 100, 'f', precision, spec.alternate)) + "%";
      break;
    default:
      return TemplateError(
          fmt::format("Unknown format code '{}' for object of type 'float'", spec.type));
  }
  return FormatNumber(runtime, spec, SignText(spec, is_negative), std::move(digits));
}

Result<std::string> FormatInt(Runtime& runtime, int64_t value, const Spec& spec) {
  if (spec.type != 0 && std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos) {
    return FormatFloat(runtime, static_cast<double>(value), spec);
  }
  if (spec.precision >= 0) {
    return TemplateError("Precision not allowed in integer format specifier");
  }
  int base = 10;
  switch (spec.type) {
    case 0:
    case 'd':
    case 'n':
      break;
    case 'b':
      base = 2;
      break;
    case 'o':
      base = 8;
      break;
    case 'x':
    case 'X':
      base = 16;
      break;
    case 'c': {
      if (value < 0 || value >= kBadByte) return TemplateError("%c arg not in range(0x110000)");
      std::string text;
      AppendCodePoint(text, static_cast<char32_t>(value));
      return Padded(runtime, spec, "", text, '<');
    }
    default:
      return TemplateError(
          fmt::format("Unknown format code '{}' for object of type 'int'", spec.type));
  }
  std::string prefix = SignText(spec, value < 0);
  if (spec.alternate && base != 10) prefix += std::string("0") + spec.type;
  return FormatNumber(runtime, spec, prefix, IntDigits(value, base, spec.type == 'X'));
}

// Walks through one format string.
class BraceFormatter {
 public:
  BraceFormatter(Runtime& runtime, const Arguments& arguments)
      : runtime_(runtime), arguments_(arguments) {}

  // `depth` is how many levels of braces may still follow within each other.
  Result<std::string> Format(std::string_view text, int depth) {
    if (depth < 0) return TemplateError("Max string recursion exceeded");
    TextBuilder builder(runtime_);
    while (!text.empty()) {
      const size_t brace = std::min(text.find_first_of("{}"), text.size());
      builder.Append(text.substr(0, brace));
      text.remove_prefix(brace);
      if (text.empty()) break;
      if (text.size() > 1 && text[1] == text[0]) {
        builder.Append(text[0]);
        text.remove_prefix(2);
        continue;
      }
      if (text[0] == '}') return TemplateError("Single '}' encountered in format string");
      const std::string_view field = TRY(TakeField(text));
      builder.Append(TRY(FormatField(field, depth)));
      TRY(runtime_.Charge());
      if (builder.overflowed()) break;
    }
    return builder.Take();
  }

 private:
  // What stands between the braces that `text` begins with; moves past them.
  static Result<std::string_view> TakeField(std::string_view& text) {
    if (text.size() == 1) return TemplateError("Single '{' encountered in format string");
    int depth = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      depth += text[i] == '{' ? 1 : text[i] == '}' ? -1 : 0;
      if (depth == 0) {
        const std::string_view field = text.substr(1, i - 1);
        text.remove_prefix(i + 1);
        return field;
      }
    }
    return TemplateError("expected '}' before end of string");
  }

  Result<std::string> FormatField(std::string_view field, int depth) {
    // A bracket may hold what would end the name elsewhere.
    size_t name_end = 0;
    while (name_end < field.size() && field[name_end] != '!' && field[name_end] != ':') {
      if (field[name_end] == '[') name_end = std::min(field.find(']', name_end), field.size() - 1);
      ++name_end;
    }
    Value value = TRY(Lookup(field.substr(0, name_end)));
    std::string_view rest = field.substr(name_end);
    if (rest.starts_with('!')) {
      if (rest.size() < 2 || (rest.size() > 2 && rest[2] != ':')) {
        return TemplateError("expected ':' after conversion specifier");
      }
      value = TRY(Convert(value, rest[1]));
      rest.remove_prefix(2);
    }
    if (rest.starts_with(':')) rest.remove_prefix(1);
    const std::string spec = TRY(Format(rest, depth - 1));
    return FormatBySpec(runtime_, value, spec);
  }

  Result<Value> Convert(const Value& value, char conversion) {
    if (conversion == 's') return Value(runtime_.NewString(TRY(StrOf(runtime_, value))));
    if (conversion == 'r') return Value(runtime_.NewString(TRY(ReprOf(runtime_, value))));
    return TemplateError(fmt::format("Unknown conversion specifier '{}'", conversion));
  }

  Result<Value> Lookup(std::string_view name) {
    const size_t first_end = std::min(name.find_first_of(".["), name.size());
    Value value = TRY(First(name.substr(0, first_end)));
    name.remove_prefix(first_end);
    while (!name.empty()) {
      const bool is_attribute = name[0] == '.';
      size_t end =
          std::min(is_attribute ? name.find_first_of(".[", 1) : name.find(']'), name.size());
      const std::string_view part = name.substr(1, end - 1);
      if (part.empty()) return TemplateError("Empty attribute in format string");
      if (!is_attribute && end == name.size()) {
        return TemplateError("expected '}' before end of string");
      }
      name.remove_prefix(is_attribute ? end : end + 1);
      if (is_attribute) {
        value = TRY(AttributeOf(runtime_, value, part));
      } else {
        value = TRY(ItemOf(runtime_, value, KeyFrom(part)));
      }
    }
    return value;
  }

  Value KeyFrom(std::string_view part) {
    int64_t index = 0;
    const auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), index);
    const bool is_index = error == std::errc() && stop == part.data() + part.size() && index >= 0;
    return is_index ? Value::Int(index) : Value(runtime_.NewString(std::string(part)));
  }

  Result<Value> First(std::string_view name) {
    size_t index = next_;
    if (name.empty()) {
      ++next_;
    } else {
      const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), index);
      if (error != std::errc() || stop != name.data() + name.size()) return Named(name);
    }
    if (numbered_by_hand_ && *numbered_by_hand_ == name.empty()) {
      return TemplateError("cannot switch between manual and automatic field numbering");
    }
    numbered_by_hand_ = !name.empty();
    if (index >= arguments_.positional.size()) {
      return TemplateError(
          fmt::format("Replacement index {} out of range for positional args tuple", index));
    }
    return arguments_.positional[index];
  }

  Result<Value> Named(std::string_view name) const {
    for (const auto& [key, value] : arguments_.named) {
      if (key == name) return value;
    }
    return TemplateError(fmt::format("KeyError: '{}'", name));
  }

  Runtime& runtime_;
  const Arguments& arguments_;
  size_t next_ = 0;
  std::optional<bool> numbered_by_hand_;
};

}  // namespace

Result<std::string> FormatBySpec(Runtime& runtime, const Value& value, std::string_view spec) {
  if (spec.empty()) return StrOf(runtime, value);
  if (value.is_string()) {
    return FormatText(runtime, value.text(), TRY(ParseSpec(spec, false)));
  }
  if (value.is_number()) {
    const Spec parsed = TRY(ParseSpec(spec, true));
    if (value.is_integral()) return FormatInt(runtime, value.int_value(), parsed);
    return FormatFloat(runtime, value.float_value(), parsed);
  }
  return TemplateError(
      fmt::format("unsupported format string passed to {}.__format__", TypeName(value)));
}

Result<std::string> FormatBraces(Runtime& runtime, std::string_view format,
                                 const Arguments& arguments) {
  constexpr int kLevels = 2;  // the field, and fields in its specification
  return BraceFormatter(runtime, arguments).Format(format, kLevels);
}

}  // namespace aster::jinja
