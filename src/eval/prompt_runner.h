// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Answers many prompts with a model, several at once. A reply does not depend on their number, nor
// on the others. Must not know questions or files.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/result.h"
#include "engine/generator.h"
#include "engine/request.h"
#include "respond/conversation.h"
#include "respond/prompt.h"

namespace aster::eval {

struct Reply {
  std::string text;  // as the model wrote it
  engine::FinishReason reason = engine::FinishReason::kFailed;
  engine::RequestCounts counts;
  engine::RequestTimes times;
};

struct PromptRunOptions {
  uint32_t parallel = 8;  // prompts at once; at least 1
  respond::Model model;
  respond::Settings settings;  // for each

  // Called as each ends, in any order. An error ends everything.
  std::function<Status(size_t index, const Reply& reply)> on_reply;
  // Called before every step: whether to stop. Then unfinished replies are dropped.
  std::function<bool()> is_cancelled = nullptr;
  // Called after every step.
  std::function<void()> on_step = nullptr;
};

// Prompts have at least one token each, and fewer than the context holds. The generator has no
// other requests meanwhile. An error names the prompt that is refused or fails, by its index.
Status RunPrompts(engine::Generator& generator, std::span<const respond::Prompt> prompts,
                  const PromptRunOptions& options);

}  // namespace aster::eval
