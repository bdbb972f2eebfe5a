// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A served model as a member of an ensemble: its requests are jobs of the model's loop, beside
// those of the model's own clients. Must not know ensembles' questions, nor HTTP.
#pragma once

#include <cstdint>

#include "ensemble/member_engine.h"
#include "serve/answer_loop.h"

namespace aster::serve {

class LoopEngine final : public ensemble::MemberEngine {
 public:
  // The loop outlives it.
  LoopEngine(AnswerLoop& loop, uint32_t vocab_size) : loop_(loop), vocab_size_(vocab_size) {}

  uint32_t vocab_size() const override { return vocab_size_; }
  void Begin(ensemble::Work work) override;

 private:
  AnswerLoop& loop_;
  const uint32_t vocab_size_;
};

}  // namespace aster::serve
