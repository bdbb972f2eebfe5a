// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <fmt/format.h>

#include <cmath>

#include "jinja/access.h"
#include "jinja/format.h"
#include "jinja/markup.h"
#include "jinja/number_format.h"
#include "jinja/number_text.h"
#include "jinja/text.h"
#include "jinja/unicode.h"

namespace aster::jinja {
namespace {

struct Conversion {
  bool left = false;
  bool plus = false;
  bool space = false;
  bool alternate = false;
  bool zero = false;
  int64_t width = 0;
  int64_t precision = -1;
  char type = 0;
};

// Walks through one format string, taking arguments as it needs them.
class PercentFormatter {
 public:
  PercentFormatter(Runtime& runtime, const String& format, const Value& arguments)
      : runtime_(runtime), format_(format), arguments_(arguments), builder_(runtime) {
    if (arguments.Is(Kind::kTuple)) {
      values_ = arguments.as<Tuple>().items;
    } else {
      values_ = {arguments};
    }
  }

  Result<Value> Run() {
    const std::string_view text = format_.text;
    while (offset_ < text.size()) {
      const size_t percent = std::min(text.find('%', offset_), text.size());
      builder_.Append(text.substr(offset_, percent - offset_));
      offset_ = percent;
      if (offset_ == text.size()) break;
      ++offset_;
      TRY(FormatOne());
      TRY(runtime_.Charge());
      if (builder_.overflowed()) break;
    }
    // What can be asked for items counts as a mapping, all of which need not be used.
    const bool is_mapping = arguments_.Is(Kind::kDict) || arguments_.Is(Kind::kList) ||
                            arguments_.Is(Kind::kRange) || arguments_.is_undefined();
    if (next_ < values_.size() && !is_mapping && !used_names_) {
      return TemplateError("not all arguments converted during string formatting");
    }
    return Value(runtime_.NewString(TRY(builder_.Take()), format_.is_markup));
  }

 private:
  Result<char> Peek() const {
    if (offset_ >= format_.text.size()) return TemplateError("incomplete format");
    return format_.text[offset_];
  }

  Result<Value> NextArgument() {
    if (next_ >= values_.size()) return TemplateError("not enough arguments for format string");
    return values_[next_++];
  }

  Status FormatOne() {
    Value argument;
    if (TRY(Peek()) == '(') argument = TRY(NamedArgument());
    Conversion conversion = TRY(ParseConversion());
    if (conversion.type == '%') {
      builder_.Append('%');
      return Ok();
    }
    if (argument.is_missing()) argument = TRY(NextArgument());
    return Append(conversion, argument);
  }

  // "(name)"
  Result<Value> NamedArgument() {
    if (!arguments_.Is(Kind::kDict)) return TemplateError("format requires a mapping");
    const size_t begin = ++offset_;
    int depth = 1;
    while (depth > 0) {
      const char c = TRY(Peek());
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
      ++offset_;
    }
    used_names_ = true;
    const std::string name = format_.text.substr(begin, offset_ - 1 - begin);
    const Value* value = arguments_.as<Dict>().Find(name);
    if (value == nullptr) return TemplateError(fmt::format("KeyError: '{}'", name));
    return *value;
  }

  // Digits, or * for an argument.
  Result<int64_t> ParseNumber() {
    if (TRY(Peek()) == '*') {
      ++offset_;
      const Value argument = TRY(NextArgument());
      if (!argument.is_integral()) return TemplateError("* wants int");
      return argument.int_value();
    }
    int64_t number = 0;
    for (char c = TRY(Peek()); c >= '0' && c <= '9'; c = TRY(Peek())) {
      number = number * 10 + (c - '0');
      if (number > INT32_MAX) return TemplateError("width or precision too big");
      ++offset_;
    }
    return number;
  }

  Result<Conversion> ParseConversion() {
    Conversion conversion;
    for (;; ++offset_) {
      const char c = TRY(Peek());
      if (c == '-') {
        conversion.left = true;
      } else if (c == '+') {
        conversion.plus = true;
      } else if (c == ' ') {
        conversion.space = true;
      } else if (c == '#') {
        conversion.alternate = true;
      } else if (c == '0') {
        conversion.zero = true;
      } else {
        break;
      }
    }
    conversion.width = TRY(ParseNumber());
    if (conversion.width < 0) {
      conversion.left = true;
      conversion.width = -std::max(conversion.width, -int64_t{INT32_MAX});
    }
    if (TRY(Peek()) == '.') {
      ++offset_;
      conversion.precision = std::max<int64_t>(TRY(ParseNumber()), 0);
    }
    if (const char c = TRY(Peek()); c == 'h' || c == 'l' || c == 'L') ++offset_;
    conversion.type = TRY(Peek());
    ++offset_;
    return conversion;
  }

  Status Append(const Conversion& conversion, const Value& argument) {
    switch (conversion.type) {
      case 's':
      case 'r':
      case 'a':
        return AppendText(conversion, TRY(TextOf(conversion.type, argument)));
      case 'c':
        return AppendText(conversion, TRY(CharacterOf(argument)));
      case 'd':
      case 'i':
      case 'u':
      case 'o':
      case 'x':
      case 'X':
        return AppendInt(conversion, argument);
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        return AppendFloat(conversion, argument);
      default:
        return TemplateError(fmt::format("unsupported format character '{}' at index {}",
                                         conversion.type, offset_ - 1));
    }
  }

  Result<std::string> TextOf(char type, const Value& argument) {
    std::string text =
        type == 's' ? TRY(StrOf(runtime_, argument)) : TRY(ReprOf(runtime_, argument));
    if (type == 'a') text = AsciiOnly(text);
    const bool is_safe = type == 's' && argument.is_string() && argument.as<String>().is_markup;
    return format_.is_markup && !is_safe ? EscapeHtml(text) : text;
  }

  static std::string AsciiOnly(std::string_view text) {
    std::string ascii;
    for (size_t offset = 0; offset < text.size();) {
      const auto c = static_cast<uint32_t>(DecodeNext(text, offset));
      if (c < 0x80) {
        ascii += static_cast<char>(c);
      } else {
        ascii += c < 0x100     ? fmt::format("\\x{:02x}", c)
                 : c < 0x10000 ? fmt::format("\\u{:04x}", c)
                               : fmt::format("\\U{:08x}", c);
      }
    }
    return ascii;
  }

  static Result<std::string> CharacterOf(const Value& argument) {
    if (argument.is_integral()) {
      const int64_t c = argument.int_value();
      if (c < 0 || c >= kBadByte) return TemplateError("%c arg not in range(0x110000)");
      std::string text;
      AppendCodePoint(text, static_cast<char32_t>(c));
      return text;
    }
    if (argument.is_string() && argument.as<String>().CodePoints() == 1) {
      return std::string(argument.text());
    }
    return TemplateError("%c requires int or char");
  }

  Status AppendText(const Conversion& conversion, std::string_view text) {
    if (conversion.precision >= 0) {
      text = text.substr(0, OffsetOfCodePoint(text, static_cast<size_t>(conversion.precision)));
    }
    Pad(conversion, "", text, ' ');
    return Ok();
  }

  Status AppendInt(const Conversion& conversion, const Value& argument) {
    const bool decimal = conversion.type == 'd' || conversion.type == 'i' || conversion.type == 'u';
    Value number = argument;
    if (decimal && argument.Is(Kind::kFloat)) number = TRY(Truncated(argument.float_value()));
    if (argument.is_undefined()) return TemplateError(argument.as<Undefined>().Message());
    if (decimal && argument.Is(Kind::kBigInt)) {
      return AppendText(conversion, argument.as<BigInt>().digits);
    }
    if (!number.is_integral()) {
      return TemplateError(fmt::format("%{} format: a number is required, not {}", conversion.type,
                                       TypeName(argument)));
    }
    const int base = decimal ? 10 : conversion.type == 'o' ? 8 : 16;
    std::string digits = IntDigits(number.int_value(), base, conversion.type == 'X');
    if (conversion.precision > static_cast<int64_t>(digits.size())) {
      TRY(runtime_.CheckBytes(static_cast<uint64_t>(conversion.precision)));
      digits.insert(0, static_cast<size_t>(conversion.precision) - digits.size(), '0');
    }
    std::string prefix = SignOf(conversion, number.int_value() < 0);
    if (conversion.alternate && !decimal) {
      prefix += '0';
      prefix += conversion.type;
    }
    Pad(conversion, prefix, digits, conversion.zero ? '0' : ' ');
    return Ok();
  }

  Status AppendFloat(const Conversion& conversion, const Value& argument) {
    if (argument.is_undefined()) return TemplateError(argument.as<Undefined>().Message());
    if (!argument.is_number()) {
      return TemplateError(fmt::format("must be real number, not {}", TypeName(argument)));
    }
    const double number = argument.as_float();
    const int64_t precision = conversion.precision < 0 ? 6 : conversion.precision;
    const std::string digits =
        TRY(FloatDigits(number, conversion.type, precision, conversion.alternate));
    const bool is_negative = std::signbit(number) && !std::isnan(number);
    Pad(conversion, SignOf(conversion, is_negative), digits, conversion.zero ? '0' : ' ');
    return Ok();
  }

  static std::string SignOf(const Conversion& conversion, bool is_negative) {
    if (is_negative) return "-";
    return conversion.plus ? "+" : conversion.space ? " " : "";
  }

  // Signs and prefixes stand before zeros, but after spaces.
  void Pad(const Conversion& conversion, std::string_view prefix, std::string_view text,
           char fill) {
    const auto size = static_cast<int64_t>(prefix.size() + CountCodePoints(text));
    const auto missing = static_cast<size_t>(std::max<int64_t>(conversion.width - size, 0));
    if (!conversion.left && fill == ' ') builder_.AppendRepeated(' ', missing);
    builder_.Append(prefix);
    if (!conversion.left && fill != ' ') builder_.AppendRepeated(fill, missing);
    builder_.Append(text);
    if (conversion.left) builder_.AppendRepeated(' ', missing);
  }

  Runtime& runtime_;
  const String& format_;
  const Value& arguments_;
  TextBuilder builder_;
  Values values_;
  size_t next_ = 0;
  size_t offset_ = 0;
  bool used_names_ = false;
};

}  // namespace

Result<Value> FormatPercent(Runtime& runtime, const String& format, const Value& arguments) {
  TRY(runtime.ChargeBytes(format.text.size()));
  return PercentFormatter(runtime, format, arguments).Run();
}

}  // namespace aster::jinja
