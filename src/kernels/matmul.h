// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Products of packed weights with prepared activations, from one row (decode) to hundreds
// (prefill). The bits do not depend on the instruction set, nor on how panels and rows are divided
// among calls; docs/arithmetic.md defines them. Must not know threads, tensors or layers.
#pragma once

#include "kernels/isa.h"
#include "kernels/matmul_table.h"
#include "kernels/weight_type.h"

namespace aster::kernels {

// Computes the outputs of panels `panel_begin` to `panel_end` (of 16 rows of the matrix each) for
// all of the job's rows of activations. The calling thread is in the compute float mode
// (base/float_mode.h). Calls that write different outputs may run at the same time.
// | For several matrices that share activations, make several calls with the same prepared rows.
// Rows that are routed to an expert are gathered first (activations.h) and placed by job.to_rows.
void Matmul(Isa isa, WeightType type, const MatmulJob& job, size_t panel_begin, size_t panel_end);

}  // namespace aster::kernels
