// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The escapes in a quoted string of a template.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace aster::jinja {

// What the text between the quotes stands for. Escapes that mean nothing stay as they are.
Result<std::string> UnescapeLiteral(std::string_view body);

}  // namespace aster::jinja
