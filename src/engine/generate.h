// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// One request from its prompt to its end, for callers that have nothing else to do.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/generator.h"
#include "engine/request.h"
#include "text/tokenizer.h"

namespace aster::engine {

struct Generated {
  std::vector<int32_t> tokens;  // of the answer
  std::string text;
  Finish finish;  // its text is already in `text`; never kFailed
};

// Answers `request`, with its callbacks. `is_cancelled` (null: never) is called before every step.
// An error if the request is refused or fails.
Result<Generated> Generate(Generator& generator, Request request,
                           const std::function<bool()>& is_cancelled = nullptr);
// The same with a scheduler of its own; it computes `batch_tokens` of the prompt between two calls
// of `is_cancelled`.
Result<Generated> Generate(LocalModel& model, const text::Tokenizer* tokenizer, const Clock& clock,
                           Request request, const std::function<bool()>& is_cancelled = nullptr,
                           uint32_t batch_tokens = 512);

}  // namespace aster::engine
