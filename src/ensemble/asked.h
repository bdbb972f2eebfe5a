// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A question on its way to an answer, by one of the policies. Must not know which.
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
// Of an answer that is still on its way.
using OnPiece = std::function<void(const SaidPiece&)>;

// What questions have in common; all of it outlives them.
struct AskedContext {
  const std::vector<Member>& members;
  const Clock& clock;
  int64_t wait_ns;  // how long members are waited for behind others
  // Why this policy, where another was asked for.
  std::string_view policy_reason;
  // Of each member's vocabulary, where the policy is of bytes and they are not all the same.
  const std::vector<std::unique_ptr<const Spelling>>& spellings;
};

// Made on any thread; the rest belongs to the ensemble's.
class Asked {
 public:
  virtual ~Asked() = default;

  // Whether a member can have the question.
  virtual bool is_askable() const = 0;
  // Why none can, or has answered: the first member's error.
  virtual Error NoAnswer() const = 0;
  // Of the prompts of all members that can have it.
  virtual uint64_t prompt_tokens() const = 0;
  // `on_answer` is called by Advance, once; `on_piece` may be null.
  virtual void Begin(const std::shared_ptr<Mailbox>& mailbox, OnAnswer on_answer,
                     OnPiece on_piece) = 0;
  virtual void Cancel() = 0;
  // Decides what can be decided by now.
  virtual void Advance() = 0;
  virtual bool is_answered() const = 0;
};

}  // namespace aster::ensemble
