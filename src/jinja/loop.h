// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The variable `loop`, and the variables of running functions. Must not know how statements run.
#pragma once

#include <string>
#include <string_view>

#include "jinja/iterate.h"
#include "jinja/statements.h"

namespace aster::jinja {

// The variables of a running function, or of one that a macro still needs.
class Activation final : public Object {
 public:
  Activation(const FunctionInfo& function, Ref<Activation> around)
      : slots(function.slot_count), parent(std::move(around)) {}
  void DropReferences() override {
    slots.clear();
    parent = {};
  }
  Values slots;            // missing if unset
  Ref<Activation> parent;  // of the enclosing function
};

// Iterates over the items of a loop and knows the current position.
class LoopValue final : public Special {
 public:
  static constexpr Kind kKind = Kind::kLoop;
  // `iterable` is the value that `items` iterates over, missing if it has no length of its own.
  LoopValue(Ref<Iterator> items, Value iterable)
      : items_(std::move(items)), iterable_(std::move(iterable)) {}
  void DropReferences() override;

  std::string Repr() const override;
  Result<Value> Attribute(Runtime& runtime, std::string_view name) override;

  // Advances to the next item; missing at the end.
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
  Value after_;  // an item read ahead, missing otherwise
};

}  // namespace aster::jinja
