// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The tests after `is`: defined, none, string, divisibleby and the others.
#include "jinja/arithmetic.h"
#include "jinja/compare.h"
#include "jinja/filters.h"
#include "jinja/iterate.h"

namespace aster::jinja {
namespace {

template <bool (*kIs)(const Value&)>
Result<Value> Is(const Call& call) {
  return Value::Bool(kIs(call.self));
}

bool IsDefined(const Value& value) { return !value.is_undefined(); }
bool IsUndefined(const Value& value) { return value.is_undefined(); }
bool IsNone(const Value& value) { return value.is_none(); }
bool IsBoolean(const Value& value) { return value.Is(Kind::kBool); }
bool IsFalseTest(const Value& value) { return value.Is(Kind::kBool) && !value.bool_value(); }
bool IsTrueTest(const Value& value) { return value.Is(Kind::kBool) && value.bool_value(); }
bool IsInteger(const Value& value) { return value.Is(Kind::kInt) || value.Is(Kind::kBigInt); }
bool IsFloat(const Value& value) { return value.Is(Kind::kFloat); }
bool IsNumber(const Value& value) { return value.is_number() || value.Is(Kind::kBigInt); }
bool IsString(const Value& value) { return value.is_string(); }
bool IsMapping(const Value& value) { return value.Is(Kind::kDict); }

// Includes a dict, as it has a length and items.
bool IsSequence(const Value& value) { return HasLength(value) && !value.Is(Kind::kDictView); }

bool IsIterableTest(const Value& value) { return IsIterable(value) || value.Is(Kind::kLoop); }

bool IsCallable(const Value& value) {
  switch (value.kind()) {
    case Kind::kFunction:
    case Kind::kMacro:
    case Kind::kLoop:
    case Kind::kUndefined:
      return true;
    default:
      return false;
  }
}

// Whether the remainder of a division by `divisor` equals `wanted`.
Result<Value> HasRemainder(const Call& call, const Value& divisor, int64_t wanted) {
  const Value remainder = TRY(Combine(call.runtime, Operator::kRemainder, call.self, divisor));
  return Value::Bool(TRY(Equal(call.runtime, remainder, Value::Int(wanted))));
}

Result<Value> IsOdd(const Call& call) { return HasRemainder(call, Value::Int(2), 1); }
Result<Value> IsEven(const Call& call) { return HasRemainder(call, Value::Int(2), 0); }
Result<Value> IsDivisibleBy(const Call& call) { return HasRemainder(call, call[0], 0); }

template <bool kEqual>
Result<Value> IsEqual(const Call& call) {
  return Value::Bool(TRY(Equal(call.runtime, call.self, call[0])) == kEqual);
}

template <Order kOrder>
Result<Value> IsOrdered(const Call& call) {
  return Value::Bool(TRY(Ordered(call.runtime, kOrder, call.self, call[0])));
}

Result<Value> IsIn(const Call& call) {
  return Value::Bool(TRY(Contains(call.runtime, call[0], call.self)));
}

Result<Value> IsSameAs(const Call& call) { return Value::Bool(Identical(call.self, call[0])); }

constexpr Builtin kTests[] = {
    {"!=", "/other", IsEqual<false>},
    {"<", "/other", IsOrdered<Order::kLess>},
    {"<=", "/other", IsOrdered<Order::kLessOrEqual>},
    {"==", "/other", IsEqual<true>},
    {">", "/other", IsOrdered<Order::kGreater>},
    {">=", "/other", IsOrdered<Order::kGreaterOrEqual>},
    {"boolean", "", Is<IsBoolean>},
    {"callable", "", Is<IsCallable>},
    {"defined", "", Is<IsDefined>},
    {"divisibleby", "num", IsDivisibleBy},
    {"eq", "/other", IsEqual<true>},
    {"equalto", "/other", IsEqual<true>},
    {"even", "", IsEven},
    {"false", "", Is<IsFalseTest>},
    {"float", "", Is<IsFloat>},
    {"ge", "/other", IsOrdered<Order::kGreaterOrEqual>},
    {"greaterthan", "/other", IsOrdered<Order::kGreater>},
    {"gt", "/other", IsOrdered<Order::kGreater>},
    {"in", "seq", IsIn},
    {"integer", "", Is<IsInteger>},
    {"iterable", "", Is<IsIterableTest>},
    {"le", "/other", IsOrdered<Order::kLessOrEqual>},
    {"lessthan", "/other", IsOrdered<Order::kLess>},
    {"lt", "/other", IsOrdered<Order::kLess>},
    {"mapping", "", Is<IsMapping>},
    {"ne", "/other", IsEqual<false>},
    {"none", "", Is<IsNone>},
    {"number", "", Is<IsNumber>},
    {"odd", "", IsOdd},
    {"sameas", "other", IsSameAs},
    {"sequence", "", Is<IsSequence>},
    {"string", "", Is<IsString>},
    {"true", "", Is<IsTrueTest>},
    {"undefined", "", Is<IsUndefined>},
};

}  // namespace

std::span<const Builtin> Tests() { return kTests; }

}  // namespace aster::jinja
