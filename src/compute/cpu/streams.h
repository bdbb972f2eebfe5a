// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The residual as several streams: the numbers that they are mixed with, and the mixing, on all
// threads. Must not know what lies between.
#pragma once

#include "compute/commands.h"
#include "compute/context.h"

namespace aster::compute {

void CpuStreamWeights(Context& context, const StreamWeights& weights);
void CpuSumStreams(Context& context, const Tensor& streams, const Tensor& numbers,
                   const Tensor& out);
void CpuSpreadStreams(Context& context, const Tensor& from, const Tensor& numbers,
                      const Tensor& streams);

}  // namespace aster::compute
