// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/arm/ops_vec_neon.inc"

// Uses these lanes.
#include "kernels/latent_body.inc"

namespace aster::kernels {

const LatentTable kLatentNeon = kTable;

}  // namespace aster::kernels
