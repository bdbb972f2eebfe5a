// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The residual as several streams (hyper-connections): computes the weights with which they are
// mixed, and mixes them, on all threads. Must not know layers.
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
