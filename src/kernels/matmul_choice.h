// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The table of an instruction set. Internal to kernels/.
#pragma once

#include "kernels/isa.h"
#include "kernels/matmul_table.h"

namespace aster::kernels {

// For an instruction set that this machine has (isa_choice.h).
const MatmulTable& MatmulTableFor(Isa isa);

}  // namespace aster::kernels
