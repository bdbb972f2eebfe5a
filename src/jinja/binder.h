// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Finds, for a parsed template, which variable every name means, and checks every filter, test and
// jump. Must not know how templates are evaluated.
#pragma once

#include "jinja/statements.h"

namespace aster::jinja {

Status Bind(Template& parsed);

}  // namespace aster::jinja
