// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The tokens that may still be chosen, and how to drop all but the best without sorting a
// vocabulary. Must not know what makes a token good.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/ops.h"

namespace aster::engine {

// Lists of candidates are ascending by id.
struct Candidate {
  float score;  // their order
  int32_t id;
  uint64_t weight = 0;  // its probability times a common factor
};

// Higher scores first, of equal ones the lower id: no two candidates are equal.
inline bool IsBetter(const Candidate& a, const Candidate& b) {
  return a.score != b.score ? a.score > b.score : a.id < b.id;
}

// Probabilities are integers of this scale, the most likely token's being 1.0: sums are exact in
// any order, so that every machine chooses the same. Tokens less likely than 2^-41 of the most
// likely one have weight 0.
inline constexpr double kWeightOne = 0x1p40;

// Keeps the best `count`.
void KeepBest(size_t count, std::vector<Candidate>& candidates);

// Keeps the fewest best ones whose weights add up to `wanted`; all if they do not reach it.
void KeepHeaviest(uint64_t wanted, std::vector<Candidate>& candidates);
// The same if better ones have greater weights (as Weigh makes them): faster for very many.
void KeepNucleus(uint64_t wanted, std::vector<Candidate>& candidates);

uint64_t TotalWeight(std::span<const Candidate> candidates);

// Keeps scratch memory. Not for concurrent use.
class CandidateFinder {
 public:
  explicit CandidateFinder(const kernels::OpsTable& ops) : ops_(ops) {}

  // The `count` best of `scores`, which are the tokens' by id; tokens with minus infinity are
  // impossible and left out.
  void FindBest(std::span<const float> scores, size_t count, std::vector<Candidate>& out);
  void FindAll(std::span<const float> scores, std::vector<Candidate>& out);

  // weight = e^((score - best score) * factor)
  void Weigh(float factor, std::vector<Candidate>& candidates);
  // The sum of these weights over all tokens, for a factor of 1. At least one is possible.
  uint64_t TotalOfAll(std::span<const float> scores, float best);

 private:
  const kernels::OpsTable& ops_;
  std::vector<float> block_best_;  // of each block of tokens
  std::vector<float> values_;
};

}  // namespace aster::engine
