// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Tools of a request in OpenAI's form, and which of them may or must be called. Must not know how
// calls are made.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "serve/ask.h"
#include "serve/problem.h"

namespace aster::serve {

// Whether a message so far has a call of this id.
bool HasCall(const Ask& ask, std::string_view id);

// The first call that no later message has the result of. Calls without an id are taken on trust.
struct UnansweredCall {
  size_t message;  // where it stands
  std::string id;
};
std::optional<UnansweredCall> FindUnansweredCall(const Ask& ask);

// Tools that this server would have to run are left out.
void ReadTools(const Fields& fields, Ask& ask);
// Which of them may or must be called, once they have been read.
void ReadToolChoice(const Fields& fields, Ask& ask);

}  // namespace aster::serve
