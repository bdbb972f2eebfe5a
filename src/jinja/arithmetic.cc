// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "jinja/arithmetic.h"

#include <fmt/format.h>

#include <cmath>

#include "jinja/number_text.h"

namespace aster::jinja {
namespace {

std::string_view SignOf(Operator op) {
  constexpr std::string_view kSigns[] = {"+", "-", "*", "/", "//", "%"};
  return kSigns[static_cast<size_t>(op)];
}

Error Unsupported(Operator op, const Value& a, const Value& b) {
  if (a.is_undefined()) return TemplateError(a.as<Undefined>().Message());
  if (b.is_undefined()) return TemplateError(b.as<Undefined>().Message());
  if (a.Is(Kind::kBigInt) || b.Is(Kind::kBigInt)) return IntegerTooLarge();
  if (op == Operator::kAdd && a.is_string()) {
    return TemplateError(fmt::format("can only concatenate str (not \"{}\") to str", TypeName(b)));
  }
  return TemplateError(fmt::format("unsupported operand type(s) for {}: '{}' and '{}'", SignOf(op),
                                   TypeName(a), TypeName(b)));
}

Result<Value> Checked(bool overflowed, int64_t result) {
  if (overflowed) return IntegerTooLarge();
  return Value::Int(result);
}

Error DivisionByZero() { return TemplateError("division by zero"); }

Result<Value> FloorDivideInts(int64_t a, int64_t b) {
  if (b == 0) return DivisionByZero();
  if (b == -1) {
    int64_t result = 0;
    const bool overflowed = __builtin_sub_overflow(int64_t{0}, a, &result);
    return Checked(overflowed, result);
  }
  const int64_t quotient = a / b;
  return Value::Int(a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient);
}

Result<Value> RemainderOfInts(int64_t a, int64_t b) {
  if (b == 0) return DivisionByZero();
  if (b == -1) return Value::Int(0);
  const int64_t remainder = a % b;
  return Value::Int(remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder);
}

Result<Value> CombineInts(Operator op, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflowed = false;
  switch (op) {
    case Operator::kAdd:
      overflowed = __builtin_add_overflow(a, b, &result);
      return Checked(overflowed, result);
    case Operator::kSubtract:
      overflowed = __builtin_sub_overflow(a, b, &result);
      return Checked(overflowed, result);
    case Operator::kMultiply:
      overflowed = __builtin_mul_overflow(a, b, &result);
      return Checked(overflowed, result);
    case Operator::kDivide:
      if (b == 0) return DivisionByZero();
      return Value::Float(static_cast<double>(static_cast<long double>(a) / b));
    case Operator::kFloorDivide:
      return FloorDivideInts(a, b);
    case Operator::kRemainder:
      return RemainderOfInts(a, b);
  }
  return Value();
}

double RemainderOfFloats(double a, double b) {
  const double remainder = std::fmod(a, b);
  if (remainder == 0) return std::copysign(0.0, b);
  return (b < 0) != (remainder < 0) ? remainder + b : remainder;
}

double FloorDivideFloats(double a, double b) {
  const double remainder = std::fmod(a, b);
  double quotient = (a - remainder) / b;
  if (remainder != 0 && (b < 0) != (remainder < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double floor = std::floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}

Result<Value> CombineFloats(Operator op, double a, double b) {
  const bool divides =
      op == Operator::kDivide || op == Operator::kFloorDivide || op == Operator::kRemainder;
  if (divides && b == 0) return DivisionByZero();
  switch (op) {
    case Operator::kAdd:
      return Value::Float(a + b);
    case Operator::kSubtract:
      return Value::Float(a - b);
    case Operator::kMultiply:
      return Value::Float(a * b);
    case Operator::kDivide:
      return Value::Float(a / b);
    case Operator::kFloorDivide:
      return Value::Float(FloorDivideFloats(a, b));
    case Operator::kRemainder:
      return Value::Float(RemainderOfFloats(a, b));
  }
  return Value();
}

Result<Value> Repeat(Runtime& runtime, const Value& sequence, int64_t count) {
  const auto times = static_cast<uint64_t>(std::max<int64_t>(count, 0));
  const size_t size = sequence.is_string()       ? sequence.text().size()
                      : sequence.Is(Kind::kList) ? sequence.as<List>().items.size()
                                                 : sequence.as<Tuple>().items.size();
  const size_t element_bytes = sequence.is_string() ? 1 : sizeof(Value);
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(times, size * element_bytes, &bytes)) bytes = UINT64_MAX;
  TRY(runtime.CheckBytes(bytes));
  if (sequence.is_string()) {
    std::string repeated;
    repeated.reserve(bytes);
    if (size > 0) {
      for (uint64_t i = 0; i < times; ++i) repeated += sequence.text();
    }
    return Value(runtime.NewString(std::move(repeated)));
  }
  const Values& items =
      sequence.Is(Kind::kList) ? sequence.as<List>().items : sequence.as<Tuple>().items;
  Values repeated;
  repeated.reserve(size * times);
  if (size > 0) {
    for (uint64_t i = 0; i < times; ++i)
      repeated.insert(repeated.end(), items.begin(), items.end());
  }
  if (sequence.Is(Kind::kList)) return Value(runtime.NewList(std::move(repeated)));
  return Value(runtime.NewTuple(std::move(repeated)));
}

Result<Value> AddSequences(Runtime& runtime, const Value& a, const Value& b) {
  if (a.is_string()) {
    TRY(runtime.CheckBytes(a.text().size() + b.text().size()));
    return Value(runtime.NewString(a.as<String>().text + b.as<String>().text));
  }
  const bool is_list = a.Is(Kind::kList);
  const Values& head = is_list ? a.as<List>().items : a.as<Tuple>().items;
  const Values& tail = is_list ? b.as<List>().items : b.as<Tuple>().items;
  TRY(runtime.CheckBytes((head.size() + tail.size()) * sizeof(Value)));
  Values items = head;
  items.insert(items.end(), tail.begin(), tail.end());
  if (is_list) return Value(runtime.NewList(std::move(items)));
  return Value(runtime.NewTuple(std::move(items)));
}

}  // namespace

Result<Value> Combine(Runtime& runtime, Operator op, const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) return CombineInts(op, a.int_value(), b.int_value());
  if (a.is_number() && b.is_number()) return CombineFloats(op, a.as_float(), b.as_float());
  const bool a_repeats = a.is_string() || a.is_sequence();
  const bool b_repeats = b.is_string() || b.is_sequence();
  if (op == Operator::kAdd && a_repeats && a.kind() == b.kind()) {
    return AddSequences(runtime, a, b);
  }
  if (op == Operator::kMultiply) {
    if (a_repeats && b.is_integral()) return Repeat(runtime, a, b.int_value());
    if (b_repeats && a.is_integral()) return Repeat(runtime, b, a.int_value());
  }
  if (op == Operator::kRemainder && a.is_string()) {
    return Unimplemented("formatting with % is not supported; use ~ or format()");
  }
  return Unsupported(op, a, b);
}

Result<Value> Negate(const Value& value) {
  if (value.is_integral()) return CombineInts(Operator::kSubtract, 0, value.int_value());
  if (value.Is(Kind::kFloat)) return Value::Float(-value.float_value());
  if (value.is_undefined()) return TemplateError(value.as<Undefined>().Message());
  return TemplateError(fmt::format("bad operand type for unary -: '{}'", TypeName(value)));
}

Result<Value> Affirm(const Value& value) {
  if (value.is_integral()) return Value::Int(value.int_value());
  if (value.Is(Kind::kFloat)) return value;
  if (value.is_undefined()) return TemplateError(value.as<Undefined>().Message());
  return TemplateError(fmt::format("bad operand type for unary +: '{}'", TypeName(value)));
}

}  // namespace aster::jinja
