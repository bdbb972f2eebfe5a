// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Blocks of one type written in a wider one that holds every weight of theirs exactly: how a type
// without kernels is computed with. Must not know which types have kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "gguf/types.h"

namespace aster::quant {

// The type that Widen writes; nothing where there is no such type.
std::optional<gguf::TensorType> WidenedType(gguf::TensorType type);

// Writes `block_count` blocks of `type`, which has a wider one, in that.
void Widen(gguf::TensorType type, const uint8_t* blocks, size_t block_count, uint8_t* out);

}  // namespace aster::quant
