// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The functions that every template finds: range, namespace, raise_exception and so on.
#pragma once

#include <string_view>

#include "text/template/builtin.h"

namespace aster::text::jinja {

// nullptr where there is none of that name.
const Builtin* FindGlobal(std::string_view name);

}  // namespace aster::text::jinja
