// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// From the text of a template to its statements, not yet bound.
#pragma once

#include <string_view>

#include "jinja/statements.h"

namespace aster::jinja {

Result<Template> ParseTemplate(std::string_view source);

}  // namespace aster::jinja
