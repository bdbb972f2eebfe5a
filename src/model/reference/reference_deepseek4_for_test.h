// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// DeepSeek V4 as its description says, in double precision and one token at a time. Shares nothing
// with the code under test except the bits of a KV row.
#pragma once

#include <span>
#include <vector>

#include "gguf/model_files.h"
#include "model/memory/memory.h"
#include "model/shape/shape.h"

namespace aster::model {

// Logits [tokens, vocab_size]. `memory` decides the format of KV rows.
std::vector<double> DeepSeek4ReferenceLogits(const gguf::ModelFiles& files, const Shape& shape,
                                             const MemoryOptions& memory,
                                             std::span<const int32_t> tokens);

// The MTP block's drafts: for each token, from it and the streams of the token before it (streams
// [tokens, hidden_width]).
std::vector<double> DeepSeek4ReferenceDrafts(const gguf::ModelFiles& files, const Shape& shape,
                                             const MemoryOptions& memory,
                                             std::span<const int32_t> tokens,
                                             std::span<const float> streams);

// Merged rows after the layers of a drafter of blocks: `embedded` are the block's tokens, which
// follow `context`.
std::vector<std::vector<double>> DeepSeek4ReferenceBlock(
    const gguf::ModelFiles& files, const Shape& layers, const MemoryOptions& memory,
    const std::vector<std::vector<double>>& context,
    const std::vector<std::vector<double>>& embedded);

}  // namespace aster::model
