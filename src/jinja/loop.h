// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The variable `loop`, and the variables of running functions. Must not know how statements run.
#pragma once

#include <string>
#include <string_view>

#include "jinja/iterate.h"
#include "jinja/statements.h"

namespace aster::jinja {

// The variables of one function that runs, or that a macro still needs.
class Activation final : public Object {
 public:
  Activation(const FunctionInfo& function, Ref<Activation> around)
      : slots(function.slot_count), parent(std::move(around)) {}
  void DropReferences() override {
    slots.clear();
    parent = {};
  }
  Values slots;            // missing while unset
  Ref<Activation> parent;  // of the function around
};

// Goes through the items of a loop and says where in them it is.
class LoopValue final : public Special {
 public:
  static constexpr Kind kKind = Kind::kLoop;
  // `iterable` is what `items` goes through, missing where that has no length of its own.
  LoopValue(Ref<Iterator> items, Value iterable)
      : items_(std::move(items)), iterable_(std::move(iterable)) {}
  void DropReferences() override;

  std::string Repr() const override;
  Result<Value> Attribute(Runtime& runtime, std::string_view name) override;

  // Moves on to the next item; missing at the end.
  Result<Value> Next(Runtime& runtime);

 private:
  friend Result<Value> LoopCycle(const Call& call);

  Result<Value> Peek(Runtime& runtime);
  Result<int64_t> Length(Runtime& runtime);

  Ref<Iterator> items_;
  Value iterable_;
  int64_t index_ = -1;
  std::optional<int64_t> length_;
  Value before_;
  Value current_;
  Value after_;  // an item taken early, missing otherwise
};

}  // namespace aster::jinja
