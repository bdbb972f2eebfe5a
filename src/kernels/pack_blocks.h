// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How one panel of each type is packed. Internal to kernels/; others use pack.h.
#pragma once

#include <cstddef>

#include "kernels/pack.h"
#include "kernels/packed.h"
#include "quant/blocks.h"

namespace aster::kernels {

using PackFunction = void (*)(const PackSource& source, size_t panel, void* out);

// Defined for the pairs of types that pack.cc names.
template <typename Block, typename FileBlock>
void PackPanel(const PackSource& source, size_t panel, void* out);
template <>
void PackPanel<PackedF32, float>(const PackSource& source, size_t panel, void* out);
template <>
void PackPanel<PackedF16, uint16_t>(const PackSource& source, size_t panel, void* out);
template <>
void PackPanel<PackedBF16, uint16_t>(const PackSource& source, size_t panel, void* out);

}  // namespace aster::kernels
