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

// The source sends a token's rows of some layers to the target: adds the bytes that each node
// sends. Rows of a group go through its leader. False if a link is unknown.
bool SendRows(const KindProblem& problem, const KindAnswer::Part& source,
              const KindAnswer::Part& target, double layers, std::vector<double>& sending_s);

// The time until each part has the KV rows of `tokens` tokens of its layers, from the nodes that
// the problem lists as having them: all send at once. Nullopt if no node has them, or a link is
// unknown.
std::optional<double> FetchTime(const KindProblem& problem, std::span<const KindAnswer::Part> parts,
                                uint32_t tokens);

}  // namespace aster::plan
