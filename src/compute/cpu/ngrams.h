// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A memory of n-grams: which rows of its table tokens are given, and how what these become is added
// to a residual. Must not know the table.
#pragma once

#include "compute/commands.h"
#include "compute/context.h"

namespace aster::compute {

void CpuHashNgrams(Context& context, const NgramHash& hash);
void CpuAddGatedValue(Context& context, const GatedValue& value);

}  // namespace aster::compute
