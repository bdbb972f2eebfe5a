// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Filters that make or change numbers.
#include <fmt/format.h>

#include <cmath>

#include "jinja/arithmetic.h"
#include "jinja/compare.h"
#include "jinja/filters.h"
#include "jinja/number_format.h"
#include "jinja/number_text.h"

namespace aster::jinja {
namespace {

Result<Value> Abs(const Call& call) {
  const Value& value = call.self;
  if (value.Is(Kind::kFloat)) return Value::Float(std::abs(value.float_value()));
  if (!value.is_integral()) {
    return TemplateError(fmt::format("bad operand type for abs(): '{}'", TypeName(value)));
  }
  return value.int_value() < 0 ? Negate(value) : Value::Int(value.int_value());
}

Result<Value> ToIntFilter(const Call& call) {
  const Value& value = call.self;
  const Value fallback = call[0].is_missing() ? Value::Int(0) : call[0];
  if (value.is_undefined()) return TemplateError(value.as<Undefined>().Message());
  if (value.is_integral()) return Value::Int(value.int_value());
  if (value.Is(Kind::kBigInt)) return value;
  if (value.Is(Kind::kFloat)) {
    return std::isnan(value.float_value()) ? fallback : Truncated(value.float_value());
  }
  if (!value.is_string()) return fallback;
  const int64_t base = call[1].is_missing() ? 10 : TRY(WantInt(call[1]));
  if (std::optional<Value> number = ParseInt(call.runtime, value.text(), base)) {
    return *std::move(number);
  }
  // "42.23" is 42.
  const std::optional<double> number = ParseFloat(value.text());
  return !number || std::isnan(*number) ? fallback : Truncated(*number);
}

Result<Value> ToFloatFilter(const Call& call) {
  const Value& value = call.self;
  if (value.is_undefined()) return TemplateError(value.as<Undefined>().Message());
  if (value.is_number()) return Value::Float(value.as_float());
  std::string_view text;
  if (value.is_string()) text = value.text();
  if (value.Is(Kind::kBigInt)) text = value.as<BigInt>().digits;
  if (const std::optional<double> number = ParseFloat(text)) return Value::Float(*number);
  return call[0].is_missing() ? Value::Float(0) : call[0];
}

// Of an integer, to tens, hundreds and so on.
Result<Value> RoundInt(int64_t value, int64_t digits) {
  if (digits >= 0) return Value::Int(value);
  if (digits < -18) return Value::Int(0);
  int64_t unit = 1;
  for (int64_t i = digits; i < 0; ++i) unit *= 10;
  const int64_t remainder = ((value % unit) + unit) % unit;
  const int64_t floor = value - remainder;
  const bool is_half = remainder * 2 == unit;
  const bool up = is_half ? (floor / unit) % 2 != 0 : remainder > unit / 2;
  int64_t rounded = floor;
  if (up && __builtin_add_overflow(floor, unit, &rounded)) return IntegerTooLarge();
  return Value::Int(rounded);
}

Result<Value> Round(const Call& call) {
  const Value& value = call.self;
  const int64_t digits = call[0].is_missing() ? 0 : TRY(WantInt(call[0]));
  const std::string_view method =
      call[1].is_missing() ? "common" : TRY(WantString(call[1], "the method of rounding"));
  if (method != "common" && method != "ceil" && method != "floor") {
    return TemplateError("method must be common, ceil or floor");
  }
  if (!value.is_number()) {
    return TemplateError(fmt::format("type {} doesn't define __round__ method", TypeName(value)));
  }
  if (method == "common") {
    if (value.is_integral()) return RoundInt(value.int_value(), digits);
    return Value::Float(Rounded(value.float_value(), digits));
  }
  const Value unit =
      TRY(Combine(call.runtime, Operator::kPower, Value::Int(10), Value::Int(digits)));
  const Value scaled = TRY(Combine(call.runtime, Operator::kMultiply, value, unit));
  if (scaled.Is(Kind::kFloat)) {
    const double number = scaled.float_value();
    if (!std::isfinite(number)) return Truncated(number);
    const double whole = method == "ceil" ? std::ceil(number) : std::floor(number);
    // The whole number is an integer, which has no negative zero.
    return Value::Float(whole == 0 ? 0.0 : whole / unit.as_float());
  }
  return Combine(call.runtime, Operator::kDivide, scaled, unit);
}

Result<Value> FileSizeFormat(const Call& call) {
  std::optional<double> size;
  if (call.self.is_number()) size = call.self.as_float();
  if (call.self.is_string()) size = ParseFloat(call.self.text());
  if (!size) return TemplateError("filesizeformat wants a number");
  const bool binary = !call[0].is_missing() && IsTrue(call[0]);
  const double base = binary ? 1024 : 1000;
  if (*size == 1) return Value(call.runtime.NewString("1 Byte"));
  if (*size < base) {
    const Value whole = TRY(Truncated(*size));
    return Value(call.runtime.NewString(fmt::format("{} Bytes", whole.int_value())));
  }
  constexpr std::string_view kPrefixes = "kMGTPEZY";
  double unit = base;
  std::string text;
  for (const char prefix : kPrefixes) {
    unit *= base;
    const std::string amount = TRY(FloatDigits(base * *size / unit, 'f', 1, false));
    text = amount + " " +
           (binary ? std::string(1, prefix == 'k' ? 'K' : prefix) + "iB"
                   : std::string(1, prefix) + "B");
    if (*size < unit) break;
  }
  return Value(call.runtime.NewString(std::move(text)));
}

constexpr Builtin kNumberFilters[] = {
    {"abs", "", Abs},
    {"filesizeformat", "binary?", FileSizeFormat},
    {"float", "default?", ToFloatFilter},
    {"int", "default? base?", ToIntFilter},
    {"round", "precision? method?", Round},
};

}  // namespace

std::span<const Builtin> NumberFilters() { return kNumberFilters; }

}  // namespace aster::jinja
