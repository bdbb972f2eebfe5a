// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Asks a model many prompts, several at once. What it replies to each does not depend on how many
// that are, nor on the others. Must not know questions or files.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/answering.h"
#include "engine/request.h"

namespace aster::eval {

struct Reply {
  std::string text;
  engine::FinishReason reason = engine::FinishReason::kFailed;
  engine::RequestCounts counts;
  engine::RequestTimes times;
};

struct AskOptions {
  uint32_t parallel = 8;    // prompts at once; at least 1
  engine::Request request;  // of each; sequence and callbacks are filled in

  // As each ends, which is in no particular order. An error ends everything.
  std::function<Status(size_t index, const Reply& reply)> on_reply;
  // Asked before every step: whether to stop. Replies that are not finished are dropped then.
  std::function<bool()> is_cancelled = nullptr;
  // After every step.
  std::function<void()> on_step = nullptr;
};

// Prompts are tokens, at least one each, and fewer than the context holds. Nobody else asks
// meanwhile. An error if one is
// refused or fails; its index stands in the message.
Status AskAll(engine::Answering& answering, std::span<const std::vector<int32_t>> prompts,
              const AskOptions& options);

}  // namespace aster::eval
