// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Whether nodes have memory for the plans that plan/kind_search.h compares. Only numbers.
#pragma once

#include "plan/kind_search.h"

namespace aster::plan {

// Of a group as a stage among others: as much as its fullest node lets it hold of layers, in the
// bytes that these take on one machine.
uint64_t MemoryAsStage(const KindProblem& problem, const GroupAnswer& layer);

// Whether all nodes of each group have room for their part. Single nodes' was looked at before.
bool GroupsFit(const KindProblem& problem, const KindAnswer& answer);

// Whether nodes that prefill have room for their part of a group that decodes, beside what they
// have: slices of one node that overlap are one.
bool FitsApart(const KindProblem& problem, const KindAnswer& prefill, const KindAnswer& decode);

}  // namespace aster::plan
