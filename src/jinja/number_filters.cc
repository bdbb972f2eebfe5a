// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Filters that make or change numbers.
#include <fmt/format.h>

#include <cmath>

#include "jinja/arithmetic.h"
#include "jinja/filters.h"
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
  if (std::optional<Value> number = ParseInt(call.runtime, value.text())) {
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

Result<Value> Round(const Call& call) {
  const Value& value = call.self;
  const int64_t digits = call[0].is_missing() ? 0 : TRY(WantInt(call[0]));
  if (digits < 0) return Unimplemented("round() to tens or hundreds is not supported");
  if (value.is_integral()) return Value::Int(value.int_value());
  if (value.Is(Kind::kFloat)) return Value::Float(Rounded(value.float_value(), digits));
  return TemplateError(fmt::format("type {} doesn't define __round__ method", TypeName(value)));
}

constexpr Builtin kNumberFilters[] = {
    {"abs", "", Abs},
    {"float", "default?", ToFloatFilter},
    {"int", "default?", ToIntFilter},
    {"round", "precision?", Round},
};

}  // namespace

std::span<const Builtin> NumberFilters() { return kNumberFilters; }

}  // namespace aster::jinja
