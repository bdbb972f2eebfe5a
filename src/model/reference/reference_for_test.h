// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The forward pass as in a textbook, in double precision, from dequantised weights, one token after
// the other: tests compare the real one with it. Slow and plain on purpose; must share no code with
// it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "gguf/model_files.h"
#include "model/shape/shape.h"

namespace aster::model {

// Logits [tokens, vocab_size] of a model without rope factors.
std::vector<double> ReferenceLogits(const gguf::ModelFiles& files, const Shape& shape,
                                    std::span<const int32_t> tokens);

// The MTP block's drafts: for each token, from it and the row of the token before it (rows [tokens,
// embedding]), after the norm `norm`.
std::vector<double> ReferenceDrafts(const gguf::ModelFiles& files, const Shape& shape,
                                    const std::string& norm, std::span<const int32_t> tokens,
                                    std::span<const float> rows);

}  // namespace aster::model
