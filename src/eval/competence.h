// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What several models' results on the same questions say about how much each should weigh beside
// the others. Must not know what they weigh in.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "eval/results.h"

namespace aster::eval {

// A model that has less than this part of the best one's right answers is not worth asking beside
// it: its errors cost more than what it knows adds.
inline constexpr double kWorthAsking = 0.9;

// The odds of a right answer, of each model; 0 for those that are not worth asking. An error where
// the questions differ, or none was answered by all.
Result<std::vector<double>> WeightsByResults(std::span<const Results> all);

}  // namespace aster::eval
