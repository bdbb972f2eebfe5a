// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Whether a request is valid for a model, on this machine or elsewhere. Must not know memory.
#pragma once

#include "base/result.h"
#include "engine/request.h"
#include "model/shape/shape.h"
#include "text/tokenizer.h"

namespace aster::engine {

// Fills in the model's defaults, then refuses a request that can never be answered: bad options, an
// empty prompt, tokens that the model does not have, no room for an answer within the context.
Status CheckRequest(const model::Shape& shape, const text::Tokenizer* tokenizer, Request& request);

}  // namespace aster::engine
