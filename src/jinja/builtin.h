// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How filters, tests, methods and global functions are defined: a name, the names of the
// parameters, a function. Calls bind arguments to parameters as in Python. Must not know any of
// them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jinja/runtime.h"

namespace aster::jinja {

// The arguments of a call.
struct Arguments {
  // Removes and returns the argument of that name; missing if there is none.
  Value TakeNamed(std::string_view name);

  Values positional;
  std::vector<std::pair<std::string, Value>> named;
};

struct Call {
  Runtime& runtime;
  const Value& self;       // the value of a filter or test, or the method's receiver
  const Values& args;      // one per parameter, missing if not given
  const Arguments& given;  // as in the call

  const Value& operator[](size_t index) const { return args[index]; }
};

using Handler = Result<Value> (*)(const Call& call);

struct Builtin {
  std::string_view name;
  // Names separated by spaces: "old new count?" has an optional last one; a leading "/" means that
  // none may be given by name; "..." passes the arguments unchanged.
  std::string_view parameters;
  Handler run;
};

Result<Value> Invoke(Runtime& runtime, const Builtin& builtin, const Value& self,
                     const Arguments& given);

// Arguments as the type of a parameter; the error says what was given instead.
Result<std::string_view> WantString(const Value& value, std::string_view what);
Result<int64_t> WantInt(const Value& value);
// Whether the value is given and true.
bool FlagOf(const Value& value);

}  // namespace aster::jinja
