// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The functions that every template finds: range, namespace, raise_exception and so on.
#pragma once

#include <string_view>

#include "jinja/builtin.h"

namespace aster::jinja {

// nullptr where there is none of that name.
const Builtin* FindGlobal(std::string_view name);

}  // namespace aster::jinja
