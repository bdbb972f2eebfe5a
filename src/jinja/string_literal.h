// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The escapes in a quoted string of a template.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace aster::jinja {

// The value of the text between the quotes. Unknown escapes stay unchanged.
Result<std::string> UnescapeLiteral(std::string_view body);

}  // namespace aster::jinja
