// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// N-gram memory (Engram): finds the rows of its table for tokens, and adds the values made of these
// to a residual. Must not know the table.
#pragma once

#include "compute/commands.h"
#include "compute/context.h"

namespace aster::compute {

void CpuHashNgrams(Context& context, const NgramHash& hash);
void CpuAddGatedValue(Context& context, const GatedValue& value);

}  // namespace aster::compute
