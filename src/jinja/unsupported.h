// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Features of Jinja and Python that chat templates do not use. A template that uses one is refused
// when it is parsed, with name and line. docs/templates.md lists the supported ones.
#pragma once

#include <string_view>

#include "base/result.h"

namespace aster::jinja {

// "line 12: the filter 'center' is not supported"
Error NotSupportedAt(int line, std::string_view what);
Error NotSupportedAt(int line, std::string_view kind, std::string_view name);

bool IsUnsupportedTag(std::string_view name);
bool IsUnsupportedMethod(std::string_view name);
bool IsUnsupportedFunction(std::string_view name);
bool IsUnsupportedOfLoop(std::string_view name);

}  // namespace aster::jinja
