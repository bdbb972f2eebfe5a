// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The kernels of attention by dot products of bytes (VNNI), the very same source, on products that
// AVX2 computes: so they can be tested on every machine with AVX2. Plain declarations.
#pragma once

#include "kernels/attention.h"

namespace aster::kernels {

extern const AttentionTable kAttentionEmulatedVnni;

}  // namespace aster::kernels
