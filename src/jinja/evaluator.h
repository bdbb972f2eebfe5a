// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Runs a bound template with its variables. Knows statements and expressions, not values'
// operations.
#pragma once

#include <string>

#include "jinja/loop.h"
#include "jinja/runtime.h"
#include "jinja/statements.h"

namespace aster::jinja {

// A macro with the variables around it.
class MacroValue final : public Special {
 public:
  static constexpr Kind kKind = Kind::kMacro;
  MacroValue(const Macro& node, Ref<Activation> around) : macro(node), closure(std::move(around)) {}
  void DropReferences() override { closure = {}; }

  std::string Repr() const override;

  const Macro& macro;
  Ref<Activation> closure;
};

// One rendering of one template. The template and the runtime outlive it; it outlives every
// iterator that it makes. Not for concurrent use.
class Evaluator {
 public:
  Evaluator(const Template& bound, Runtime& runtime, Ref<Dict> variables)
      : template_(bound),
        runtime_(runtime),
        variables_(std::move(variables)),
        literals_(bound.literal_count) {}

  Result<std::string> Run();

  // The line of the innermost part of the template that failed.
  int failed_line() const { return failed_line_; }

 private:
  friend class TestedIterator;

  // How a statement ends.
  enum class Flow : uint8_t { kNormal, kBreak, kContinue };

  // Temporarily replace output and variables.
  class Capture;
  class Switched;

  // Statements.
  Result<Flow> RunBody(const Body& body);
  Result<Flow> RunNode(const Node& node);
  Result<Flow> RunStatement(const Node& node);
  Result<Flow> RunIf(const If& node);
  Result<Flow> RunSetBlock(const SetBlock& node);
  Result<Flow> RunFilterBlock(const FilterBlock& node);
  Result<Flow> RunFor(const For& node);
  Result<Flow> RunLoopBody(const For& node, Iterator* items, LoopValue* loop);
  Status RunGeneration(const Generation& node);
  Status Write(std::string_view text);

  // Variables.
  Value& Variable(VariableRef ref);
  Value Resolve(const std::string& name);
  Result<Ref<Activation>> NewActivation(const FunctionInfo& function, Ref<Activation> around);
  Status Enter(const Scope& scope);
  void Leave(const Scope& scope);
  Status Assign(const Node& target, const Value& value);
  Status CheckTarget(const Node& target);

  // Expressions.
  Result<Value> Evaluate(const Node& node);
  Result<Value> EvaluateNode(const Node& node);
  Result<Values> EvaluateAll(const Body& nodes);
  Value EvaluateLiteral(const Literal& node);
  Result<Value> EvaluateDict(const DictDisplay& node);
  Result<Value> EvaluateUnary(const Unary& node);
  Result<Value> EvaluateLogic(const Logic& node);
  Result<Value> EvaluateComparison(const Comparison& node);
  Result<bool> Compare(Comparison::Op op, const Value& a, const Value& b);
  Result<Value> EvaluateConcat(const Concat& node);
  Result<Value> EvaluateConditional(const Conditional& node);
  Result<Value> EvaluateSlice(const Slice& node);
  // `input` replaces the input of a filter on a block.
  Result<Value> EvaluateApplication(const Application& node, const Value* input);

  // Calls.
  Result<Value> EvaluateCall(const CallNode& node);
  Result<Arguments> EvaluateArguments(const CallArguments& arguments);
  Result<Value> Call(const Value& callee, Arguments arguments);
  Result<Value> CallMacro(const MacroValue& value, Arguments arguments);
  Status BindParameters(const Macro& macro, Arguments& arguments);
  Status FillDefaults(const Macro& macro);

  const Template& template_;
  Runtime& runtime_;
  const Ref<Dict> variables_;
  Values literals_;             // missing until first used
  Ref<Activation> activation_;  // of the running function
  std::string* output_ = nullptr;
  size_t output_bytes_ = 0;  // of all current outputs
  int failed_line_ = 0;
};

}  // namespace aster::jinja
