// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Statements.
#include "jinja/evaluator.h"

#include <fmt/format.h>

#include "jinja/capture.h"
#include "jinja/compare.h"
#include "jinja/globals.h"
#include "jinja/text.h"

namespace aster::jinja {

Result<std::string> Evaluator::Run() {
  activation_ = TRY(NewActivation(template_.function, {}));
  std::string output;
  output_ = &output;
  TRY(Enter(template_.scope));
  TRY(RunBody(template_.body));
  return output;
}

Status Evaluator::Write(std::string_view text) {
  output_bytes_ += text.size();
  if (output_bytes_ > runtime_.options().limits.max_output_bytes) {
    return ResourceExhausted(fmt::format("the output takes more than {} MiB",
                                         runtime_.options().limits.max_output_bytes >> 20));
  }
  *output_ += text;
  return Ok();
}

Value& Evaluator::Variable(VariableRef ref) {
  Activation* activation = activation_.get();
  for (uint32_t i = 0; i < ref.hops; ++i) activation = activation->parent.get();
  return activation->slots[ref.slot];
}

Value Evaluator::Resolve(const std::string& name) {
  if (const Value* variable = variables_->Find(name)) return *variable;
  const Builtin* global = FindGlobal(name);
  if (global == nullptr) return {};
  return runtime_.heap().New<Function>(*global, Value());
}

Result<Ref<Activation>> Evaluator::NewActivation(const FunctionInfo& function,
                                                 Ref<Activation> around) {
  TRY(runtime_.Charge(function.slot_count / 8));
  Ref<Activation> activation = runtime_.heap().New<Activation>(function, std::move(around));
  activation->Grew(static_cast<int64_t>(function.slot_count * sizeof(Value)));
  return activation;
}

Status Evaluator::Enter(const Scope& scope) {
  TRY(runtime_.Charge(scope.loads.size()));
  for (const ScopeLoad& load : scope.loads) {
    switch (load.from) {
      case ScopeLoad::From::kContext:
        activation_->slots[load.slot] = Resolve(load.name);
        break;
      case ScopeLoad::From::kOuter:
        activation_->slots[load.slot] = Variable(load.outer);
        break;
      case ScopeLoad::From::kNothing:
        activation_->slots[load.slot] = Value();
        break;
    }
  }
  return Ok();
}

void Evaluator::Leave(const Scope& scope) {
  for (const uint32_t slot : scope.cleared) activation_->slots[slot] = Value();
}

Status Evaluator::CheckTarget(const Node& target) {
  if (target.kind != NodeKind::kNamespaceTarget) return Ok();
  if (Variable(static_cast<const NamespaceTarget&>(target).ref).Is(Kind::kNamespace)) return Ok();
  return TemplateError("cannot assign attribute on non-namespace object");
}

Status Evaluator::Assign(const Node& target, const Value& value) {
  if (target.kind == NodeKind::kName) {
    Variable(static_cast<const Name&>(target).ref) = value;
    return Ok();
  }
  if (target.kind == NodeKind::kNamespaceTarget) {
    const auto& member = static_cast<const NamespaceTarget&>(target);
    Variable(member.ref)
        .as<Namespace>()
        .attributes->Set(runtime_.NewString(member.attribute), value);
    return Ok();
  }
  const Body& targets = static_cast<const Sequence&>(target).items;
  if (value.is_undefined() && !targets.empty()) {
    return TemplateError(value.as<Undefined>().Message() + "; it cannot be unpacked");
  }
  if (!IsIterable(value)) {
    return TemplateError(fmt::format("cannot unpack non-iterable {} object", TypeName(value)));
  }
  const Values items = TRY(ItemsOf(runtime_, value));
  if (items.size() != targets.size()) {
    return TemplateError(fmt::format("{} values to unpack (expected {}, got {})",
                                     items.size() > targets.size() ? "too many" : "not enough",
                                     targets.size(), items.size()));
  }
  for (size_t i = 0; i < items.size(); ++i) TRY(Assign(*targets[i], items[i]));
  return Ok();
}

Result<Evaluator::Flow> Evaluator::RunBody(const Body& body) {
  for (const NodePtr& node : body) {
    const Flow flow = TRY(RunNode(*node));
    if (flow != Flow::kNormal) return flow;
  }
  return Flow::kNormal;
}

Result<Evaluator::Flow> Evaluator::RunNode(const Node& node) {
  Result<Flow> flow = RunStatement(node);
  if (!flow.ok() && failed_line_ == 0) failed_line_ = node.line;
  return flow;
}

Result<Evaluator::Flow> Evaluator::RunStatement(const Node& node) {
  const Deeper deeper(runtime_);
  TRY(deeper.Check());
  switch (node.kind) {
    case NodeKind::kText:
      TRY(Write(static_cast<const Text&>(node).text));
      break;
    case NodeKind::kPrint: {
      const Value value = TRY(Evaluate(*static_cast<const Print&>(node).value));
      TRY(value.is_string() ? Write(value.text()) : Write(TRY(StrOf(runtime_, value))));
      break;
    }
    case NodeKind::kIf:
      return RunIf(static_cast<const If&>(node));
    case NodeKind::kFor:
      return RunFor(static_cast<const For&>(node));
    case NodeKind::kSet: {
      const auto& set = static_cast<const Set&>(node);
      TRY(CheckTarget(*set.target));
      TRY(Assign(*set.target, TRY(Evaluate(*set.value))));
      break;
    }
    case NodeKind::kSetBlock:
      return RunSetBlock(static_cast<const SetBlock&>(node));
    case NodeKind::kMacro: {
      const auto& macro = static_cast<const Macro&>(node);
      Variable(macro.target) = runtime_.heap().New<MacroValue>(macro, activation_);
      break;
    }
    case NodeKind::kGeneration:
      TRY(RunGeneration(static_cast<const Generation&>(node)));
      break;
    case NodeKind::kFilterBlock:
      return RunFilterBlock(static_cast<const FilterBlock&>(node));
    case NodeKind::kBreak:
      return Flow::kBreak;
    case NodeKind::kContinue:
      return Flow::kContinue;
    default:
      break;
  }
  return Flow::kNormal;
}

Result<Evaluator::Flow> Evaluator::RunIf(const If& node) {
  if (IsTrue(TRY(Evaluate(*node.test)))) return RunBody(node.body);
  for (const NodePtr& branch : node.elifs) {
    const auto& elif = static_cast<const If&>(*branch);
    if (IsTrue(TRY(Evaluate(*elif.test)))) return RunBody(elif.body);
  }
  return RunBody(node.else_body);
}

Result<Evaluator::Flow> Evaluator::RunSetBlock(const SetBlock& node) {
  TRY(Enter(node.scope));
  Value captured;
  {
    // A break or continue inside drops the captured output.
    Capture capture(*this);
    const Flow flow = TRY(RunBody(node.body));
    if (flow != Flow::kNormal) return flow;
    captured = runtime_.NewString(capture.Take());
  }
  TRY(CheckTarget(*node.target));
  if (node.filter) {
    captured = TRY(EvaluateApplication(static_cast<const Application&>(*node.filter), &captured));
  }
  TRY(Assign(*node.target, captured));
  Leave(node.scope);
  return Flow::kNormal;
}

Result<Evaluator::Flow> Evaluator::RunFilterBlock(const FilterBlock& node) {
  TRY(Enter(node.scope));
  Value captured;
  {
    Capture capture(*this);
    const Flow flow = TRY(RunBody(node.body));
    if (flow != Flow::kNormal) return flow;
    captured = runtime_.NewString(capture.Take());
  }
  const Value filtered =
      TRY(EvaluateApplication(static_cast<const Application&>(*node.filter), &captured));
  TRY(Write(TRY(StrOf(runtime_, filtered))));
  Leave(node.scope);
  return Flow::kNormal;
}

Status Evaluator::RunGeneration(const Generation& node) {
  const Switched switched(*this, TRY(NewActivation(node.function, activation_)));
  TRY(Enter(node.scope));
  TRY(RunBody(node.body));
  return Ok();
}

}  // namespace aster::jinja
