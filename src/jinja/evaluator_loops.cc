// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The statement for.
#include "jinja/capture.h"
#include "jinja/compare.h"
#include "jinja/evaluator.h"

namespace aster::jinja {

// The items that pass a loop's test, found during the loop: the test sees changes by the body.
class TestedIterator final : public Iterator {
 public:
  TestedIterator(Evaluator& evaluator, const For& loop, Ref<Iterator> items,
                 Ref<Activation> activation)
      : evaluator_(evaluator),
        loop_(loop),
        items_(std::move(items)),
        activation_(std::move(activation)) {}
  void DropReferences() override {
    items_ = {};
    activation_ = {};
  }

  Result<Value> Next(Runtime& runtime) override {
    const Evaluator::Switched switched(evaluator_, activation_);
    if (!entered_) TRY(evaluator_.Enter(loop_.test_scope));
    entered_ = true;
    for (;;) {
      const Value item = TRY(items_->Next(runtime));
      if (item.is_missing()) return Value();
      TRY(evaluator_.Assign(*loop_.test_target, item));
      if (IsTrue(TRY(evaluator_.Evaluate(*loop_.test)))) return Unpacked(*loop_.test_target);
    }
  }

 private:
  // The item as the target has unpacked it: a tuple for a tuple.
  Result<Value> Unpacked(const Node& target) {
    if (target.kind == NodeKind::kName) {
      return evaluator_.Variable(static_cast<const Name&>(target).ref);
    }
    Values items;
    for (const NodePtr& item : static_cast<const Sequence&>(target).items) {
      items.push_back(TRY(Unpacked(*item)));
    }
    return Value(evaluator_.runtime_.NewTuple(std::move(items)));
  }

  Evaluator& evaluator_;
  const For& loop_;
  Ref<Iterator> items_;
  Ref<Activation> activation_;
  bool entered_ = false;
};

Result<Evaluator::Flow> Evaluator::RunFor(const For& node) {
  const Value iterable = TRY(Evaluate(*node.iterable));
  Ref<Iterator> items = TRY(Iterate(runtime_, iterable));
  if (node.test) {
    items = runtime_.heap().New<TestedIterator>(
        *this, node, items, TRY(NewActivation(node.test_function, activation_)));
  }
  if (!node.has_loop_variable) return RunLoopBody(node, items.get(), nullptr);
  const Ref<LoopValue> loop = runtime_.heap().New<LoopValue>(items, node.test ? Value() : iterable);
  return RunLoopBody(node, items.get(), loop.get());
}

Result<Evaluator::Flow> Evaluator::RunLoopBody(const For& node, Iterator* items, LoopValue* loop) {
  // A loop whose bodies all end with continue counts as one without items, as in the original.
  bool is_empty = true;
  for (;;) {
    const Value item = loop != nullptr ? TRY(loop->Next(runtime_)) : TRY(items->Next(runtime_));
    if (item.is_missing()) break;
    TRY(runtime_.Charge());
    // The target and `loop` are set before the body's own names, which may start as copies of them.
    TRY(Assign(*node.target, item));
    if (loop != nullptr) Variable(node.loop_variable) = Ref<LoopValue>(loop);
    TRY(Enter(node.scope));
    const Flow flow = TRY(RunBody(node.body));
    if (flow == Flow::kBreak) break;
    if (flow == Flow::kNormal) is_empty = false;
  }
  Leave(node.scope);
  if (node.else_body.empty() || !is_empty) return Flow::kNormal;
  TRY(Enter(node.else_scope));
  const Flow flow = TRY(RunBody(node.else_body));
  Leave(node.else_scope);
  return flow;
}

}  // namespace aster::jinja
