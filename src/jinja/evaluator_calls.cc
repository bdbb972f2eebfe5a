// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Calls of macros and of the program's functions.
#include <fmt/format.h>

#include "jinja/capture.h"
#include "jinja/evaluator.h"

namespace aster::jinja {
std::string MacroValue::Repr() const { return fmt::format("<Macro '{}'>", macro.name); }

Result<Arguments> Evaluator::EvaluateArguments(const CallArguments& arguments) {
  Arguments evaluated;
  evaluated.positional = TRY(EvaluateAll(arguments.positional));
  for (const auto& [name, node] : arguments.named) {
    evaluated.named.emplace_back(name, TRY(Evaluate(*node)));
  }
  return evaluated;
}

Result<Value> Evaluator::EvaluateCall(const CallNode& node) {
  const Value callee = TRY(Evaluate(*node.callee));
  return Call(callee, TRY(EvaluateArguments(node.arguments)));
}

Result<Value> Evaluator::Call(const Value& callee, Arguments arguments) {
  switch (callee.kind()) {
    case Kind::kFunction: {
      const Function& function = callee.as<Function>();
      return Invoke(runtime_, function.builtin, function.self, arguments);
    }
    case Kind::kMacro:
      return CallMacro(callee.as<MacroValue>(), std::move(arguments));
    case Kind::kUndefined:
      return TemplateError(callee.as<Undefined>().Message());
    default:
      return TemplateError(fmt::format("'{}' object is not callable", TypeName(callee)));
  }
}

Result<Value> Evaluator::CallMacro(const MacroValue& value, Arguments arguments) {
  // Keeps the value while its macro runs, which may drop the last reference to it.
  const Value holder = Ref<MacroValue>(const_cast<MacroValue*>(&value));
  const Macro& macro = value.macro;
  const Switched switched(*this, TRY(NewActivation(macro.function, value.closure)));
  TRY(BindParameters(macro, arguments));
  Capture capture(*this);
  TRY(Enter(macro.scope));
  // After loading the scope's names, which defaults may use.
  TRY(FillDefaults(macro));
  TRY(RunBody(macro.body));
  return Value(runtime_.NewString(capture.Take()));
}

Status Evaluator::BindParameters(const Macro& macro, Arguments& arguments) {
  const Values& given = arguments.positional;
  TRY(runtime_.Charge(arguments.named.size() * (macro.parameters.size() + 1) / 8));
  for (size_t i = 0; i < macro.parameters.size(); ++i) {
    const auto& parameter = static_cast<const Name&>(*macro.parameters[i]);
    Variable(parameter.ref) = i < given.size() ? given[i] : arguments.TakeNamed(parameter.name);
  }
  if (!arguments.named.empty()) {
    return TemplateError(fmt::format("macro '{}' takes no keyword argument '{}'", macro.name,
                                     arguments.named[0].first));
  }
  if (given.size() > macro.parameters.size()) {
    return TemplateError(fmt::format("macro '{}' takes not more than {} argument(s)", macro.name,
                                     macro.parameters.size()));
  }
  return Ok();
}

Status Evaluator::FillDefaults(const Macro& macro) {
  const size_t first_default = macro.parameters.size() - macro.defaults.size();
  for (size_t i = 0; i < macro.parameters.size(); ++i) {
    const auto& parameter = static_cast<const Name&>(*macro.parameters[i]);
    if (!Variable(parameter.ref).is_missing()) continue;
    Value value = i < first_default ? Value(runtime_.heap().New<Undefined>(
                                          "parameter '", parameter.name, "' was not provided"))
                                    : TRY(Evaluate(*macro.defaults[i - first_default]));
    Variable(parameter.ref) = std::move(value);
  }
  return Ok();
}

}  // namespace aster::jinja
