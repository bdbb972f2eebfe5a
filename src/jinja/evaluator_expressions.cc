// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Expressions.
#include <fmt/format.h>

#include "jinja/access.h"
#include "jinja/arithmetic.h"
#include "jinja/compare.h"
#include "jinja/evaluator.h"
#include "jinja/text.h"

namespace aster::jinja {

Result<Value> Evaluator::Evaluate(const Node& node) {
  Result<Value> value = EvaluateNode(node);
  if (!value.ok() && failed_line_ == 0) failed_line_ = node.line;
  return value;
}

Result<Values> Evaluator::EvaluateAll(const Body& nodes) {
  Values values;
  values.reserve(nodes.size());
  for (const NodePtr& node : nodes) values.push_back(TRY(Evaluate(*node)));
  return values;
}

Result<Value> Evaluator::EvaluateNode(const Node& node) {
  const Deeper deeper(runtime_);
  TRY(deeper.Check());
  switch (node.kind) {
    case NodeKind::kLiteral:
      return EvaluateLiteral(static_cast<const Literal&>(node));
    case NodeKind::kName: {
      const auto& name = static_cast<const Name&>(node);
      const Value& value = Variable(name.ref);
      return value.is_missing() ? runtime_.UndefinedName(name.name) : value;
    }
    case NodeKind::kList:
      return Value(runtime_.NewList(TRY(EvaluateAll(static_cast<const Sequence&>(node).items))));
    case NodeKind::kTuple:
      return Value(runtime_.NewTuple(TRY(EvaluateAll(static_cast<const Sequence&>(node).items))));
    case NodeKind::kDict:
      return EvaluateDict(static_cast<const DictDisplay&>(node));
    case NodeKind::kUnary:
      return EvaluateUnary(static_cast<const Unary&>(node));
    case NodeKind::kBinary: {
      const auto& binary = static_cast<const Binary&>(node);
      const Value left = TRY(Evaluate(*binary.left));
      const Value right = TRY(Evaluate(*binary.right));
      return Combine(runtime_, binary.op, left, right);
    }
    case NodeKind::kLogic:
      return EvaluateLogic(static_cast<const Logic&>(node));
    case NodeKind::kCompare:
      return EvaluateComparison(static_cast<const Comparison&>(node));
    case NodeKind::kConcat:
      return EvaluateConcat(static_cast<const Concat&>(node));
    case NodeKind::kConditional:
      return EvaluateConditional(static_cast<const Conditional&>(node));
    case NodeKind::kAttribute: {
      const auto& attribute = static_cast<const Attribute&>(node);
      return AttributeOf(runtime_, TRY(Evaluate(*attribute.object)), attribute.name);
    }
    case NodeKind::kItem: {
      const auto& item = static_cast<const Item&>(node);
      const Value object = TRY(Evaluate(*item.object));
      return ItemOf(runtime_, object, TRY(Evaluate(*item.key)));
    }
    case NodeKind::kSlice:
      return EvaluateSlice(static_cast<const Slice&>(node));
    case NodeKind::kCall:
      return EvaluateCall(static_cast<const CallNode&>(node));
    case NodeKind::kFilter:
    case NodeKind::kTest:
      return EvaluateApplication(static_cast<const Application&>(node), nullptr);
    default:
      return Error(Code::kInternal, "a statement where an expression belongs");
  }
}

Value Evaluator::EvaluateLiteral(const Literal& node) {
  if (std::holds_alternative<std::nullptr_t>(node.value)) return Value::None();
  if (const bool* value = std::get_if<bool>(&node.value)) return Value::Bool(*value);
  if (const int64_t* value = std::get_if<int64_t>(&node.value)) return Value::Int(*value);
  if (const double* value = std::get_if<double>(&node.value)) return Value::Float(*value);
  Value& made = literals_[node.index];
  if (!made.is_missing()) return made;
  made = runtime_.NewString(std::get<std::string>(node.value));
  return made;
}

Result<Value> Evaluator::EvaluateDict(const DictDisplay& node) {
  const Ref<Dict> dict = runtime_.NewDict();
  for (const auto& [key_node, value_node] : node.items) {
    const Value key = TRY(Evaluate(*key_node));
    Value value = TRY(Evaluate(*value_node));
    dict->Set(key, TRY(KeyOf(runtime_, key)), std::move(value));
  }
  return Value(dict);
}

Result<Value> Evaluator::EvaluateUnary(const Unary& node) {
  const Value operand = TRY(Evaluate(*node.operand));
  switch (node.op) {
    case Unary::Op::kNot:
      return Value::Bool(!IsTrue(operand));
    case Unary::Op::kMinus:
      return Negate(operand);
    case Unary::Op::kPlus:
      return Affirm(operand);
  }
  return Value();
}

Result<Value> Evaluator::EvaluateLogic(const Logic& node) {
  Value left = TRY(Evaluate(*node.left));
  if (IsTrue(left) != node.is_and) return left;
  return Evaluate(*node.right);
}

Result<bool> Evaluator::Compare(Comparison::Op op, const Value& a, const Value& b) {
  switch (op) {
    case Comparison::Op::kEqual:
      return Equal(runtime_, a, b);
    case Comparison::Op::kNotEqual:
      return !TRY(Equal(runtime_, a, b));
    case Comparison::Op::kLess:
      return Ordered(runtime_, Order::kLess, a, b);
    case Comparison::Op::kLessOrEqual:
      return Ordered(runtime_, Order::kLessOrEqual, a, b);
    case Comparison::Op::kGreater:
      return Ordered(runtime_, Order::kGreater, a, b);
    case Comparison::Op::kGreaterOrEqual:
      return Ordered(runtime_, Order::kGreaterOrEqual, a, b);
    case Comparison::Op::kIn:
      return Contains(runtime_, b, a);
    case Comparison::Op::kNotIn:
      return !TRY(Contains(runtime_, b, a));
  }
  return false;
}

Result<Value> Evaluator::EvaluateComparison(const Comparison& node) {
  Value left = TRY(Evaluate(*node.first));
  for (const auto& [op, operand] : node.rest) {
    Value right = TRY(Evaluate(*operand));
    if (!TRY(Compare(op, left, right))) return Value::Bool(false);
    left = std::move(right);
  }
  return Value::Bool(true);
}

Result<Value> Evaluator::EvaluateConcat(const Concat& node) {
  const Values parts = TRY(EvaluateAll(node.parts));
  TextBuilder builder(runtime_);
  for (const Value& part : parts) TRY(AppendStr(runtime_, builder, part));
  return Value(runtime_.NewString(TRY(builder.Take())));
}

Result<Value> Evaluator::EvaluateConditional(const Conditional& node) {
  if (IsTrue(TRY(Evaluate(*node.test)))) return Evaluate(*node.yes);
  if (node.no) return Evaluate(*node.no);
  return Value(
      runtime_.heap().New<Undefined>("the inline if-expression on line ", std::to_string(node.line),
                                     " evaluated to false and no else section was defined."));
}

Result<Value> Evaluator::EvaluateSlice(const Slice& node) {
  const Value object = TRY(Evaluate(*node.object));
  const Value start = node.start ? TRY(Evaluate(*node.start)) : Value();
  const Value stop = node.stop ? TRY(Evaluate(*node.stop)) : Value();
  const Value step = node.step ? TRY(Evaluate(*node.step)) : Value();
  return SliceOf(runtime_, object, start, stop, step);
}

Result<Value> Evaluator::EvaluateApplication(const Application& node, const Value* input) {
  // The first filter of a chain on a block gets the block's text.
  Value value;
  if (node.input == nullptr) {
    value = *input;
  } else if (input != nullptr) {
    value = TRY(EvaluateApplication(static_cast<const Application&>(*node.input), input));
  } else {
    value = TRY(Evaluate(*node.input));
  }
  return Invoke(runtime_, *node.builtin, value, TRY(EvaluateArguments(node.arguments)));
}

}  // namespace aster::jinja
