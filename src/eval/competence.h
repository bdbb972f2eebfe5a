// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The weights of several models in an ensemble, from their results on the same questions. Must not
// know how they are used.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "eval/results.h"

namespace aster::eval {

// A model with less than this part of the best one's right answers is not worth asking beside it:
// its errors cost more than its knowledge adds.
inline constexpr double kWorthAsking = 0.9;

// The odds of a right answer, per model; 0 for those that are not worth asking. An error if the
// questions differ, or all models have answered none in common.
Result<std::vector<double>> WeightsByResults(std::span<const Results> all);

}  // namespace aster::eval
