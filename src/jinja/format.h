// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Python's two ways to format strings: "%s" % x, and "{}".format(x).
#pragma once

#include <string>
#include <string_view>

#include "jinja/builtin.h"
#include "jinja/runtime.h"

namespace aster::jinja {

// `format % arguments`, where a tuple holds several arguments and a dict named ones.
Result<Value> FormatPercent(Runtime& runtime, const String& format, const Value& arguments);

// format.format(...).
Result<std::string> FormatBraces(Runtime& runtime, std::string_view format,
                                 const Arguments& arguments);

// format(value, spec): what stands after the colon in braces.
Result<std::string> FormatBySpec(Runtime& runtime, const Value& value, std::string_view spec);

}  // namespace aster::jinja
