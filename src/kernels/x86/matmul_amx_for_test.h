// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The kernels of AMX, the very same source, on tiles that are computed with plain C++: so they can
// be tested on every machine with AVX-512. Plain declarations.
#pragma once

#include "kernels/matmul_table.h"

namespace aster::kernels {

extern const MatmulTable kMatmulEmulatedAmx;

// The machine check (amx_check.h) of tiles that are right, and of some that are wrong in one thing.
enum class TestTiles { kRight, kSaturatingBytes, kSignedBytes, kOneChain, kDenormals };
bool TestTilesComputeAsDescribed(TestTiles tiles);

}  // namespace aster::kernels
