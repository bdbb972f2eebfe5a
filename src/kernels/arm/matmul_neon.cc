// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Matrix products with NEON and its dot products of signed bytes.
#include "kernels/arm/dots_neon.h"
#include "kernels/matmul_table_of.h"

namespace aster::kernels {

const MatmulTable kMatmulNeon = kTableOf<Neon>;

}  // namespace aster::kernels
