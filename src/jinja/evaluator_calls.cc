// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Calls: of macros, of the program's functions, of loops.
#include <fmt/format.h>

#include <algorithm>

#include "jinja/capture.h"
#include "jinja/compare.h"
#include "jinja/evaluator.h"

namespace aster::jinja {
namespace {

const std::string& NameOf(const NodePtr& parameter) {
  return static_cast<const Name&>(*parameter).name;
}

// The argument of that name, which goes from the others; missing where there is none.
Value TakeNamed(Arguments& arguments, std::string_view name) {
  const auto it = std::ranges::find_if(
      arguments.named, [name](const auto& argument) { return argument.first == name; });
  if (it == arguments.named.end()) return {};
  Value value = std::move(it->second);
  arguments.named.erase(it);
  return value;
}

}  // namespace

std::string MacroValue::Repr() const {
  return code.name.empty() ? "<Macro anonymous>" : fmt::format("<Macro '{}'>", code.name);
}

Result<Value> MacroValue::Attribute(Runtime& runtime, std::string_view name) {
  if (name == "name") {
    return code.name.empty() ? Value::None() : Value(runtime.NewString(code.name));
  }
  if (name == "arguments") {
    Values names;
    for (const NodePtr& parameter : code.parameters) {
      names.push_back(runtime.NewString(NameOf(parameter)));
    }
    return Value(runtime.NewTuple(std::move(names)));
  }
  if (name == "catch_kwargs") return Value::Bool(code.kwargs.has_value());
  if (name == "catch_varargs") return Value::Bool(code.varargs.has_value());
  if (name == "caller") return Value::Bool(code.caller.has_value());
  return Value();
}

Result<Arguments> Evaluator::EvaluateArguments(const CallArguments& arguments) {
  Arguments evaluated;
  evaluated.positional = TRY(EvaluateAll(arguments.positional));
  for (const auto& [name, node] : arguments.named) {
    evaluated.named.emplace_back(name, TRY(Evaluate(*node)));
  }
  if (arguments.star) {
    const Value more = TRY(Evaluate(*arguments.star));
    for (Value& item : TRY(ItemsOf(runtime_, more)))
      evaluated.positional.push_back(std::move(item));
  }
  if (arguments.double_star) {
    const Value more = TRY(Evaluate(*arguments.double_star));
    if (more.is_undefined()) return TemplateError(more.as<Undefined>().Message());
    if (!more.Is(Kind::kDict)) {
      return TemplateError(
          fmt::format("argument after ** must be a mapping, not {}", TypeName(more)));
    }
    for (const Dict::Entry& entry : more.as<Dict>().entries()) {
      if (!entry.key.is_string()) return TemplateError("keywords must be strings");
      const bool is_repeated = std::ranges::any_of(
          arguments.named, [&](const auto& named) { return named.first == entry.key.text(); });
      if (is_repeated) {
        return TemplateError(
            fmt::format("got multiple values for keyword argument '{}'", entry.key.text()));
      }
      evaluated.named.emplace_back(entry.key.text(), entry.value);
      TRY(runtime_.Charge());
    }
  }
  return evaluated;
}

Result<Value> Evaluator::EvaluateCall(const CallNode& node, const Value* caller) {
  const Value callee = TRY(Evaluate(*node.callee));
  Arguments arguments = TRY(EvaluateArguments(node.arguments));
  if (caller != nullptr) arguments.named.emplace_back("caller", *caller);
  return Call(callee, std::move(arguments));
}

Result<Value> Evaluator::Call(const Value& callee, Arguments arguments) {
  switch (callee.kind()) {
    case Kind::kFunction: {
      const Function& function = callee.as<Function>();
      return Invoke(runtime_, function.builtin, function.self, arguments);
    }
    case Kind::kMacro:
      return CallMacro(callee.as<MacroValue>(), std::move(arguments));
    case Kind::kLoop: {
      const LoopValue& loop = callee.as<LoopValue>();
      if (arguments.positional.size() != 1 || !arguments.named.empty()) {
        return TemplateError("loop() takes exactly one argument, what to go through");
      }
      if (loop.recursive == nullptr) {
        return TemplateError("The loop must have the 'recursive' marker to be called recursively.");
      }
      return Value(runtime_.NewString(TRY(RunRecursiveLoop(*loop.recursive, arguments.positional[0],
                                                           loop.depth() + 1, loop.closure))));
    }
    case Kind::kJoiner: {
      Joiner& joiner = callee.as<Joiner>();
      if (!arguments.positional.empty() || !arguments.named.empty()) {
        return TemplateError("a joiner takes no arguments");
      }
      if (joiner.used) return joiner.separator;
      joiner.used = true;
      return Value(runtime_.NewString(""));
    }
    case Kind::kUndefined:
      return TemplateError(callee.as<Undefined>().Message());
    default:
      return TemplateError(fmt::format("'{}' object is not callable", TypeName(callee)));
  }
}

Result<Value> Evaluator::CallMacro(const MacroValue& macro, Arguments arguments) {
  // The macro may go away while it runs: whoever holds it may let go.
  const Value holder = Ref<MacroValue>(const_cast<MacroValue*>(&macro));
  const MacroCode& code = macro.code;
  const Switched switched(*this, TRY(NewActivation(code.function, macro.closure)));
  TRY(BindParameters(code, arguments));
  Capture capture(*this);
  TRY(Enter(code.scope));
  TRY(FillDefaults(code));
  TRY(RunBody(code.body));
  return Value(runtime_.NewString(capture.Take()));
}

Status Evaluator::BindParameters(const MacroCode& code, Arguments& arguments) {
  Values& given = arguments.positional;
  TRY(runtime_.Charge(arguments.named.size() * (code.parameters.size() + 1) / 8));
  bool found_caller = given.size() >= code.parameters.size() && code.has_explicit_caller;
  for (size_t i = 0; i < code.parameters.size(); ++i) {
    const auto& parameter = static_cast<const Name&>(*code.parameters[i]);
    if (i < given.size()) {
      Variable(parameter.ref) = given[i];
      continue;
    }
    Variable(parameter.ref) = TakeNamed(arguments, parameter.name);
    found_caller = found_caller || parameter.name == "caller";
  }
  if (code.caller && !found_caller) {
    const Value caller = TakeNamed(arguments, "caller");
    const bool is_given = !caller.is_missing() && !caller.is_none();
    Variable(*code.caller) = is_given ? caller : runtime_.UndefinedBecause("No caller defined");
  }
  if (code.kwargs) {
    const Ref<Dict> kwargs = runtime_.NewDict();
    for (const auto& [name, value] : arguments.named) kwargs->Set(runtime_.NewString(name), value);
    Variable(*code.kwargs) = kwargs;
  } else if (!arguments.named.empty()) {
    return TemplateError(fmt::format("macro '{}' takes no keyword argument '{}'", code.name,
                                     arguments.named[0].first));
  }
  const size_t taken = std::min(code.parameters.size(), given.size());
  if (code.varargs) {
    Variable(*code.varargs) =
        runtime_.NewTuple(Values(given.begin() + static_cast<ptrdiff_t>(taken), given.end()));
  } else if (given.size() > taken) {
    return TemplateError(fmt::format("macro '{}' takes not more than {} argument(s)", code.name,
                                     code.parameters.size()));
  }
  return Ok();
}

Status Evaluator::FillDefaults(const MacroCode& code) {
  const size_t first_default = code.parameters.size() - code.defaults.size();
  for (size_t i = 0; i < code.parameters.size(); ++i) {
    const auto& parameter = static_cast<const Name&>(*code.parameters[i]);
    if (!Variable(parameter.ref).is_missing()) continue;
    Value value = i < first_default ? Value(runtime_.heap().New<Undefined>(
                                          "parameter '", parameter.name, "' was not provided"))
                                    : TRY(Evaluate(*code.defaults[i - first_default]));
    Variable(parameter.ref) = std::move(value);
  }
  return Ok();
}

}  // namespace aster::jinja
