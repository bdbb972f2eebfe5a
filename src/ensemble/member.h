// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// One of the models that answer together, as a policy sees it. Must not know how it was opened, nor
// on which machines it is computed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/generator.h"
#include "ensemble/member_engine.h"
#include "respond/prompt.h"

namespace aster::ensemble {

struct Member {
  std::string name;
  respond::Model model = {};  // its own template and vocabulary
  // One of the two computes it: a generator that the ensemble steps, or an engine.
  engine::Generator* generator = nullptr;
  MemberEngine* engine = nullptr;
  // Computed on other machines: a generator gets a thread that waits for them.
  bool is_elsewhere = false;
  double weight = 1;           // of its probabilities among the others'; 0: it is not asked
  uint32_t context_limit = 0;  // tokens of prompt and response; 0: the model's training context
  uint64_t extra_seed = 0;     // added to the seed of every question
  std::optional<engine::DraftOptions> draft = {};  // replaces the question's
};

}  // namespace aster::ensemble
