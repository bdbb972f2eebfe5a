// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The source of the attention kernels for dot products of bytes (VNNI), compiled with products that
// AVX2 computes, for tests on every machine with AVX2. Plain declarations.
#pragma once

#include "kernels/attention.h"

namespace aster::kernels {

extern const AttentionTable kAttentionEmulatedVnni;

}  // namespace aster::kernels
