// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The probability that several models together give a text: a weighted mean of theirs. Must not
// know models, nor how they rate a text. The same bits on every machine.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

namespace aster::ensemble {

// Of a text that a member gives no probability, or could not rate.
inline constexpr double kImpossible = -std::numeric_limits<double>::infinity();

// Natural logarithm of the probability of all tokens, from those of each.
double SumOf(std::span<const float> logprobs);

// Natural logarithm of the mean of e^log_chances, weighted; weights are at least 0 and not all 0.
double MixedLogChance(std::span<const double> log_chances, std::span<const double> weights);

// Of a text of at least one byte; infinite where it is impossible. Per byte, because that is the
// one unit which vocabularies have in common.
double BitsPerByte(double log_chance, uint64_t bytes);

}  // namespace aster::ensemble
