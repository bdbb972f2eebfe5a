// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The reference of Gemma 4, in double precision. Only for tests.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gguf/model_files.h"
#include "model/shape/shape.h"

namespace aster::model {

// Logits [tokens, vocab_size].
std::vector<double> Gemma4ReferenceLogits(const gguf::ModelFiles& files, const Shape& shape,
                                          std::span<const int32_t> tokens);

}  // namespace aster::model
