// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// DeepSeek V4 as its description says it, in double precision and one token at a time: nothing
// here is shared with what it checks, but for the bits of a KV row.
#pragma once

#include <span>
#include <vector>

#include "gguf/model_files.h"
#include "model/memory/memory.h"
#include "model/shape/shape.h"

namespace aster::model {

// Logits [tokens, vocab_size]. KV rows are kept as `memory` says.
std::vector<double> DeepSeek4ReferenceLogits(const gguf::ModelFiles& files, const Shape& shape,
                                             const MemoryOptions& memory,
                                             std::span<const int32_t> tokens);

// What the MTP block drafts: for each token, from it and the streams behind the
// one before it (streams [tokens, hidden_width]).
std::vector<double> DeepSeek4ReferenceDrafts(const gguf::ModelFiles& files, const Shape& shape,
                                             const MemoryOptions& memory,
                                             std::span<const int32_t> tokens,
                                             std::span<const float> streams);

// Rows behind the layers of a drafter of blocks, merged: `embedded` are those of the block's
// tokens, behind `context`.
std::vector<std::vector<double>> DeepSeek4ReferenceBlock(
    const gguf::ModelFiles& files, const Shape& layers, const MemoryOptions& memory,
    const std::vector<std::vector<double>>& context,
    const std::vector<std::vector<double>>& embedded);

}  // namespace aster::model
