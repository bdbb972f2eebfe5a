// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Runs one response from its prompt to its end on the calling thread. Must not know where the
// prompt comes from.
#pragma once

#include <functional>

#include "base/result.h"
#include "engine/generate.h"
#include "engine/generator.h"
#include "engine/sequence.h"
#include "respond/response.h"

namespace aster::respond {

struct Answered {
  engine::Generated generated;  // tokens and text, as the model wrote them
  Reply reply;
};

// The prompt and the generated tokens become the sequence's history. `is_cancelled` (null: never)
// is called before every step. A cancelled response is returned up to that point; one that is
// refused or fails is an error.
Result<Answered> Run(engine::Generator& generator, engine::Sequence& sequence, const Model& model,
                     const Settings& settings, const Prompt& prompt, Listener& listener,
                     const std::function<bool()>& is_cancelled = nullptr);

}  // namespace aster::respond
