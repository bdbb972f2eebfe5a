// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Filters of whole sequences that do not sort.
#include <fmt/format.h>

#include "jinja/access.h"
#include "jinja/arithmetic.h"
#include "jinja/compare.h"
#include "jinja/filters.h"
#include "jinja/iterate.h"
#include "jinja/text.h"
#include "jinja/unicode.h"

namespace aster::jinja {
namespace {

Result<Value> Length(const Call& call) {
  return Value::Int(static_cast<int64_t>(TRY(LengthOf(call.self))));
}

Result<Value> ToListFilter(const Call& call) {
  return Value(call.runtime.NewList(TRY(ItemsOf(call.runtime, call.self))));
}

Result<Value> First(const Call& call) {
  Value first = TRY(TRY(Iterate(call.runtime, call.self))->Next(call.runtime));
  if (!first.is_missing()) return first;
  return call.runtime.UndefinedBecause("No first item, sequence was empty.");
}

Result<Value> Last(const Call& call) {
  const Value backwards = TRY(IterateBackwards(call.runtime, call.self));
  if (backwards.is_missing()) {
    return TemplateError(fmt::format("'{}' object is not reversible", TypeName(call.self)));
  }
  Value last = TRY(backwards.as<Iterator>().Next(call.runtime));
  if (!last.is_missing()) return last;
  return call.runtime.UndefinedBecause("No last item, sequence was empty.");
}

Result<Value> Default(const Call& call) {
  const bool also_false = FlagOf(call[1]);
  if (!call.self.is_undefined() && !(also_false && !IsTrue(call.self))) return call.self;
  return call[0].is_missing() ? Value(call.runtime.NewString("")) : call[0];
}

Result<Value> JoinFilter(const Call& call) {
  Runtime& runtime = call.runtime;
  const std::string separator = call[0].is_missing() ? "" : TRY(StrOf(runtime, call[0]));
  const AttributePath path = TRY(AttributePath::From(runtime, call[1]));
  const Ref<Iterator> iterator = TRY(Iterate(runtime, call.self));
  TextBuilder builder(runtime);
  bool is_first = true;
  while (!builder.overflowed()) {
    const Value item = TRY(iterator->Next(runtime));
    if (item.is_missing()) break;
    TRY(runtime.Charge());
    if (!is_first) builder.Append(separator);
    is_first = false;
    TRY(AppendStr(runtime, builder, TRY(path.Get(runtime, item))));
  }
  return Value(runtime.NewString(TRY(builder.Take())));
}

Result<Value> Reverse(const Call& call) {
  Runtime& runtime = call.runtime;
  if (call.self.is_string()) {
    std::u32string code_points = Decode(call.self.text());
    code_points.assign(code_points.rbegin(), code_points.rend());
    return Value(runtime.NewString(Encode(code_points)));
  }
  if (!IsIterable(call.self)) return TemplateError("argument must be iterable");
  Value backwards = TRY(IterateBackwards(runtime, call.self));
  if (!backwards.is_missing()) return backwards;
  Values items = TRY(ItemsOf(runtime, call.self));
  return Value(runtime.NewList(Values(items.rbegin(), items.rend())));
}

Result<Value> Sum(const Call& call) {
  Runtime& runtime = call.runtime;
  const AttributePath path = TRY(AttributePath::From(runtime, call[0]));
  Value sum = call[1].is_missing() ? Value::Int(0) : call[1];
  if (sum.is_string()) return TemplateError("sum() can't sum strings; use the filter join");
  const Ref<Iterator> iterator = TRY(Iterate(runtime, call.self));
  for (;;) {
    const Value item = TRY(iterator->Next(runtime));
    if (item.is_missing()) return sum;
    TRY(runtime.Charge());
    sum = TRY(Combine(runtime, Operator::kAdd, sum, TRY(path.Get(runtime, item))));
  }
}

constexpr Builtin kSequenceFilters[] = {
    {"count", "", Length},
    {"d", "default_value? boolean?", Default},
    {"default", "default_value? boolean?", Default},
    {"first", "", First},
    {"join", "d? attribute?", JoinFilter},
    {"last", "", Last},
    {"length", "", Length},
    {"list", "", ToListFilter},
    {"reverse", "", Reverse},
    {"sum", "attribute? start?", Sum},
};

}  // namespace

std::span<const Builtin> SequenceFilters() { return kSequenceFilters; }

}  // namespace aster::jinja
