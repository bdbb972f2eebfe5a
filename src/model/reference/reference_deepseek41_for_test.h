// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// DeepSeek V4.1 as its description says, in double precision and one token at a time. Shares
// nothing with the code under test except the bits of a KV row.
#pragma once

#include <span>
#include <vector>

#include "gguf/model_files.h"
#include "model/memory/memory.h"
#include "model/shape/shape.h"

namespace aster::model {

// Logits [tokens, vocab_size].
std::vector<double> DeepSeek41ReferenceLogits(const gguf::ModelFiles& files, const Shape& shape,
                                              const MemoryOptions& memory,
                                              std::span<const int32_t> tokens);

}  // namespace aster::model
