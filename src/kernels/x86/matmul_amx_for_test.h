// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The source of the AMX kernels, compiled with tiles in plain C++, for tests on every machine with
// AVX-512. Plain declarations.
#pragma once

#include "kernels/matmul_table.h"

namespace aster::kernels {

extern const MatmulTable kMatmulEmulatedAmx;

// The machine check (amx_check.h) on correct tiles, and on tiles with one error each.
enum class TestTiles { kRight, kSaturatingBytes, kSignedBytes, kOneChain, kDenormals };
bool TestTilesComputeAsDescribed(TestTiles tiles);

}  // namespace aster::kernels
