// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The global functions: range, namespace, raise_exception and so on.
#pragma once

#include <string_view>

#include "jinja/builtin.h"

namespace aster::jinja {

// nullptr if there is none of that name.
const Builtin* FindGlobal(std::string_view name);

}  // namespace aster::jinja
