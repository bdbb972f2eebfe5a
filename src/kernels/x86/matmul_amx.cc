// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/x86/amx_check.h"
#include "kernels/x86/amx_check_body.h"
#include "kernels/x86/matmul_amx_table.h"

namespace aster::kernels {

const MatmulTable kMatmulAmx = kTableOf<AmxTiles>;

bool AmxComputesAsDescribed() { return TilesComputeAsDescribed<AmxTiles>(); }

}  // namespace aster::kernels
