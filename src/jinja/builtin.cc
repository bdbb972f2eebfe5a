// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "jinja/builtin.h"

#include <fmt/format.h>

#include <algorithm>

#include "jinja/compare.h"

namespace aster::jinja {
namespace {

struct Parameter {
  std::string_view name;
  bool is_optional;
};

std::vector<Parameter> ParametersOf(std::string_view text) {
  std::vector<Parameter> parameters;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    std::string_view name = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool is_optional = name.ends_with('?');
    if (is_optional) name.remove_suffix(1);
    parameters.push_back({name, is_optional});
  }
  return parameters;
}

// Positional arguments first, then named ones; each parameter gets one at most.
Result<Values> Bind(const Builtin& builtin, const Arguments& given) {
  std::string_view text = builtin.parameters;
  const bool positional_only = text.starts_with('/');
  if (positional_only) text.remove_prefix(1);
  const std::vector<Parameter> parameters = ParametersOf(text);
  if (given.positional.size() > parameters.size()) {
    return TemplateError(fmt::format("{}() takes at most {} arguments ({} given)", builtin.name,
                                     parameters.size(), given.positional.size()));
  }
  Values bound = given.positional;
  bound.resize(parameters.size());
  for (const auto& [name, value] : given.named) {
    const auto parameter = std::ranges::find(parameters, name, &Parameter::name);
    if (positional_only || parameter == parameters.end()) {
      return TemplateError(
          fmt::format("{}() got an unexpected keyword argument '{}'", builtin.name, name));
    }
    Value& slot = bound[parameter - parameters.begin()];
    if (!slot.is_missing()) {
      return TemplateError(
          fmt::format("{}() got multiple values for argument '{}'", builtin.name, name));
    }
    slot = value;
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (bound[i].is_missing() && !parameters[i].is_optional) {
      return TemplateError(
          fmt::format("{}() missing required argument: '{}'", builtin.name, parameters[i].name));
    }
  }
  return bound;
}

}  // namespace

Value Arguments::TakeNamed(std::string_view name) {
  const auto it =
      std::ranges::find_if(named, [name](const auto& argument) { return argument.first == name; });
  if (it == named.end()) return {};
  Value value = std::move(it->second);
  named.erase(it);
  return value;
}

Result<Value> Invoke(Runtime& runtime, const Builtin& builtin, const Value& self,
                     const Arguments& given) {
  TRY(runtime.ChargeBytes(self.is_string() ? self.text().size() : 0));
  if (builtin.parameters == "...") {
    return builtin.run(Call{runtime, self, given.positional, given});
  }
  const Values bound = TRY(Bind(builtin, given));
  return builtin.run(Call{runtime, self, bound, given});
}

Result<std::string_view> WantString(const Value& value, std::string_view what) {
  if (value.is_string()) return value.text();
  if (value.is_undefined()) return TemplateError(value.as<Undefined>().Message());
  return TemplateError(fmt::format("{} must be a string, not '{}'", what, TypeName(value)));
}

Result<int64_t> WantInt(const Value& value) {
  if (value.is_integral()) return value.int_value();
  if (value.is_undefined()) return TemplateError(value.as<Undefined>().Message());
  return TemplateError(
      fmt::format("'{}' object cannot be interpreted as an integer", TypeName(value)));
}

bool FlagOf(const Value& value) { return !value.is_missing() && IsTrue(value); }

}  // namespace aster::jinja
