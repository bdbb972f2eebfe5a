// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How filters, tests, methods and global functions are written down: a name, the names of the
// parameters, a function. Calls bind arguments to parameters as Python does. Must not know any of
// them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jinja/runtime.h"

namespace aster::jinja {

// What a call gives.
struct Arguments {
  // The argument of that name, which goes from the others; missing where there is none.
  Value TakeNamed(std::string_view name);

  Values positional;
  std::vector<std::pair<std::string, Value>> named;
};

struct Call {
  Runtime& runtime;
  const Value& self;       // what is filtered or tested, or the method's receiver
  const Values& args;      // one per parameter, missing where not given
  const Arguments& given;  // as they came

  const Value& operator[](size_t index) const { return args[index]; }
};

using Handler = Result<Value> (*)(const Call& call);

struct Builtin {
  std::string_view name;
  // Names separated by spaces: "old new count?" has a last one that may be left out; a leading "/"
  // means that none may be given by name; "..." leaves the arguments as they came.
  std::string_view parameters;
  Handler run;
};

Result<Value> Invoke(Runtime& runtime, const Builtin& builtin, const Value& self,
                     const Arguments& given);

// Arguments as the types that parameters want, or an error that says what came instead.
Result<std::string_view> WantString(const Value& value, std::string_view what);
Result<int64_t> WantInt(const Value& value);
// Whether the value is given and true.
bool FlagOf(const Value& value);

}  // namespace aster::jinja
