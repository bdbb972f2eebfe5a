// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The method format of strings, "{} of {name}".format(x, name=y), without conversions and without
// format specifications after a colon. Must not know how templates are parsed.
#pragma once

#include <string>
#include <string_view>

#include "jinja/builtin.h"

namespace aster::jinja {

// Refuses a format that Format() does not support with any arguments.
Status CheckFormat(std::string_view format);

Result<std::string> Format(Runtime& runtime, std::string_view format, const Arguments& arguments);

}  // namespace aster::jinja
