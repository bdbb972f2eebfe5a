// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A question in progress, with one of the policies. Must not know which.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "ensemble/answer.h"
#include "ensemble/mailbox.h"
#include "ensemble/member.h"
#include "ensemble/spelling.h"

namespace aster::ensemble {

// Called on the ensemble's thread.
using OnAnswer = std::function<void(Result<Answer>)>;
// For a piece of an unfinished answer.
using OnPiece = std::function<void(const AnswerPiece&)>;

// Shared by questions; all of it outlives them.
struct QuestionContext {
  const std::vector<Member>& members;
  const Clock& clock;
  int64_t wait_ns;  // how long members may take after others are done
  // Why this policy, if another one was asked for.
  std::string_view policy_reason;
  // One per member's vocabulary, for the bytes policy with different vocabularies.
  const std::vector<std::unique_ptr<const Spelling>>& spellings;
};

// Constructed on any thread; the rest belongs to the ensemble's.
class QuestionRun {
 public:
  virtual ~QuestionRun() = default;

  // Whether any member can take the question.
  virtual bool is_askable() const = 0;
  // Why none can, or has answered: the first member's error.
  virtual Error NoAnswer() const = 0;
  // The tokens of the prompts of all members that can take it.
  virtual uint64_t prompt_tokens() const = 0;
  // Advance calls `on_answer` once; `on_piece` may be null.
  virtual void Begin(const std::shared_ptr<Mailbox>& mailbox, OnAnswer on_answer,
                     OnPiece on_piece) = 0;
  virtual void Cancel() = 0;
  // Decides what can be decided by now.
  virtual void Advance() = 0;
  virtual bool is_answered() const = 0;
};

}  // namespace aster::ensemble
