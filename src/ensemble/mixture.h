// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The probability that several models together give to a text: a weighted mean of theirs. Must not
// know models, nor how they rate a text. The same bits on every machine.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

namespace aster::ensemble {

// For a text with zero probability, or that a member could not rate.
inline constexpr double kImpossible = -std::numeric_limits<double>::infinity();

// Natural logarithm of the probability of all tokens, from those of the single tokens.
double SumOf(std::span<const float> logprobs);

// Natural logarithm of the mean of e^log_probabilities, weighted; weights are at least 0 and not
// all 0.
double MixedLogProbability(std::span<const double> log_probabilities,
                           std::span<const double> weights);

// For a text of at least one byte; infinite if it is impossible. Per byte, because vocabularies
// have only this unit in common.
double BitsPerByte(double log_probability, uint64_t bytes);

}  // namespace aster::ensemble
