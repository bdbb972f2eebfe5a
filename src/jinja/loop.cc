// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "jinja/loop.h"

#include <fmt/format.h>

#include "jinja/builtin.h"

namespace aster::jinja {

Result<Value> LoopCycle(const Call& call) {
  if (call.given.positional.empty()) return TemplateError("no items for cycling given");
  const auto index = static_cast<uint64_t>(call.self.as<LoopValue>().index_);
  return call.given.positional[index % call.given.positional.size()];
}

namespace {

constexpr Builtin kCycle = {"cycle", "...", LoopCycle};

}  // namespace

void LoopValue::DropReferences() {
  items_ = {};
  iterable_ = before_ = current_ = after_ = Value();
}

std::string LoopValue::Repr() const {
  return fmt::format("<LoopContext {}/{}>", index_ + 1, length_.value_or(index_ + 1));
}

Result<Value> LoopValue::Next(Runtime& runtime) {
  Value item = after_.is_missing() ? TRY(items_->Next(runtime)) : std::move(after_);
  after_ = Value();
  if (item.is_missing()) return item;
  ++index_;
  before_ = std::move(current_);
  current_ = item;
  return item;
}

Result<Value> LoopValue::Peek(Runtime& runtime) {
  if (after_.is_missing()) after_ = TRY(items_->Next(runtime));
  return after_;
}

Result<int64_t> LoopValue::Length(Runtime& runtime) {
  if (length_) return *length_;
  if (HasLength(iterable_)) {
    length_ = static_cast<int64_t>(TRY(LengthOf(iterable_)));
    return *length_;
  }
  // The length is only known after iterating over the rest.
  const Value rest = runtime.NewList(TRY(ItemsOf(runtime, items_)));
  items_ = TRY(Iterate(runtime, rest));
  length_ = static_cast<int64_t>(rest.as<List>().items.size()) + index_ + 1 +
            (after_.is_missing() ? 0 : 1);
  return *length_;
}

Result<Value> LoopValue::Attribute(Runtime& runtime, std::string_view name) {
  if (name == "index0") return Value::Int(index_);
  if (name == "index") return Value::Int(index_ + 1);
  if (name == "first") return Value::Bool(index_ == 0);
  if (name == "last") return Value::Bool(TRY(Peek(runtime)).is_missing());
  if (name == "length") return Value::Int(TRY(Length(runtime)));
  if (name == "revindex0") return Value::Int(TRY(Length(runtime)) - index_ - 1);
  if (name == "revindex") return Value::Int(TRY(Length(runtime)) - index_);
  if (name == "previtem") {
    return index_ == 0 ? runtime.UndefinedBecause("there is no previous item") : before_;
  }
  if (name == "nextitem") {
    Value next = TRY(Peek(runtime));
    return next.is_missing() ? runtime.UndefinedBecause("there is no next item") : next;
  }
  if (name != "cycle") return Value();
  return Value(runtime.heap().New<Function>(kCycle, Value(Ref<LoopValue>(this))));
}

}  // namespace aster::jinja
