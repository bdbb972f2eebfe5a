// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Tools of a request in OpenAI's form, and which of them may or must be called. Must not know how
// calls are made.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "serve/api_request.h"
#include "serve/problem.h"

namespace aster::serve {

// The first call without a result in later messages. Calls without an id are not checked.
struct UnansweredCall {
  size_t message;  // the index of its message
  std::string id;
};
std::optional<UnansweredCall> FindUnansweredCall(const ApiRequest& request);

// Leaves out tools that this server would have to run.
void ReadTools(const Fields& fields, ApiRequest& request);
// Which of them may or must be called; after ReadTools.
void ReadToolChoice(const Fields& fields, ApiRequest& request);

}  // namespace aster::serve
