// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Tools of a request in OpenAI's form, and which of them may or must be called. Must not know how
// calls are made.
#pragma once

#include "serve/ask.h"
#include "serve/problem.h"

namespace aster::serve {

// Parameters are any JSON schema.
void ReadTools(const Fields& fields, Ask& ask);
// Which of them may or must be called, once they have been read.
void ReadToolChoice(const Fields& fields, Ask& ask);

}  // namespace aster::serve
