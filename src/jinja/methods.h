// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The methods of Python's types that templates call: "a".upper(), d.items(), l.append(x).
#pragma once

#include <span>
#include <string_view>

#include "jinja/builtin.h"

namespace aster::jinja {

// nullptr if values of that kind have no such method.
const Builtin* FindMethod(Kind kind, std::string_view name);

// Whether the sandbox of the Python original refuses the method because it changes its receiver.
bool IsRefusedMutation(Kind kind, std::string_view name);

// dict.update(): a mapping or pairs, then names.
Status UpdateDict(Runtime& runtime, Dict& dict, const Arguments& arguments);

// The tables, by file.
std::span<const Builtin> StringMethods();
std::span<const Builtin> ListMethods();
std::span<const Builtin> DictMethods();

}  // namespace aster::jinja
