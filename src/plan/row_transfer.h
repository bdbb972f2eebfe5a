// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Predicts how long KV rows take from the nodes that have them to those that need them. Only
// numbers: must not know models, nodes or words.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plan/kind_search.h"

namespace aster::plan {

// The source sends its rows of a token, of some layers, to the target: adds what each node sends.
// Rows of a group go through the node that leads it. False if a link is not known.
bool SendRows(const KindProblem& problem, const KindAnswer::Part& source,
              const KindAnswer::Part& target, double layers, std::vector<double>& sending_s);

// The time until each part has the KV rows of `tokens` tokens of its layers, from the nodes that
// have them by the problem: all send at once. Nothing if no node has them, or links are not known.
std::optional<double> FetchTime(const KindProblem& problem, std::span<const KindAnswer::Part> parts,
                                uint32_t tokens);

}  // namespace aster::plan
