// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Whether nodes have memory for the plans that plan/kind_search.h compares. Only numbers.
#pragma once

#include "plan/kind_search.h"

namespace aster::plan {

// The memory of a group that is one stage among others: that of the layers that its fullest node
// can hold, in the bytes that they take on one machine.
uint64_t MemoryAsStage(const KindProblem& problem, const GroupAnswer& layer);

// Whether all nodes of each group have room for their part. Single nodes were checked before.
bool GroupsFit(const KindProblem& problem, const KindAnswer& answer);

// Whether prefill nodes have room for their part of a decoding group, in addition to their own
// slices. Overlapping slices of one node count once.
bool FitsDisaggregated(const KindProblem& problem, const KindAnswer& prefill,
                       const KindAnswer& decode);

}  // namespace aster::plan
