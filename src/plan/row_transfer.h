// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What KV rows take from the nodes that have them to those that need them, as plans expect it. Only
// numbers: must not know models, nodes or words.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plan/kind_search.h"

namespace aster::plan {

// What the source has of a token's rows of some layers goes to the target: adds what each node
// sends. What a group has goes through the node that leads it. False where a link is not known.
bool SendRows(const KindProblem& problem, const KindAnswer::Part& source,
              const KindAnswer::Part& target, double layers, std::vector<double>& sending_s);

// Until each part has the rows of `tokens` tokens of its layers, of those that the problem says are
// held: all send at once, each what it has. Nothing where no node has them, or links are not known.
std::optional<double> FetchTime(const KindProblem& problem, std::span<const KindAnswer::Part> parts,
                                uint32_t tokens);

}  // namespace aster::plan
