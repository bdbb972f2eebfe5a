// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/candidates.h"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <limits>
#include <utility>

#include "base/check.h"

namespace aster::engine {
namespace {

constexpr float kImpossible = -std::numeric_limits<float>::infinity();

// Small enough that most blocks have none of the best, large enough that there are few blocks.
constexpr size_t kBlock = 64;
// Compilers turn a comparison lane by lane into vector instructions.
constexpr size_t kLanes = 16;

float BestOf(std::span<const float> scores) {
  float best = kImpossible;
  size_t begin = 0;
  if (scores.size() >= kLanes) {
    std::array<float, kLanes> lanes;
    std::copy_n(scores.begin(), kLanes, lanes.begin());
    for (begin = kLanes; begin + kLanes <= scores.size(); begin += kLanes) {
      const float* next = scores.data() + begin;
      for (size_t lane = 0; lane < kLanes; ++lane) {
        lanes[lane] = next[lane] > lanes[lane] ? next[lane] : lanes[lane];
      }
    }
    best = *std::ranges::max_element(lanes);
  }
  for (const float score : scores.subspan(begin)) best = std::max(best, score);
  return best;
}

uint64_t ToWeight(float probability) {
  // Rounds: half a step more, then down.
  return (static_cast<uint64_t>(static_cast<double>(probability) * (2 * kWeightOne)) + 1) / 2;
}

// Drops candidates that are worse than `last`.
void KeepUpTo(const Candidate& last, std::vector<Candidate>& candidates) {
  std::erase_if(candidates, [&](const Candidate& other) { return IsBetter(last, other); });
}

// The worst candidate that KeepHeaviest keeps; the sum of all is more than `wanted`.
Candidate LastOfHeaviest(uint64_t wanted, std::vector<Candidate> order) {
  // Halves the range that it is in; sums are exact, so the order within the halves does not matter.
  std::span<Candidate> range = order;
  while (range.size() > 1) {
    const size_t half = range.size() / 2;
    std::ranges::nth_element(range, range.begin() + static_cast<std::ptrdiff_t>(half), IsBetter);
    const uint64_t better = TotalWeight(range.first(half));
    if (better >= wanted) {
      range = range.first(half);
    } else {
      wanted -= better;
      range = range.subspan(half);
    }
  }
  return range.front();
}

}  // namespace

void KeepBest(size_t count, std::vector<Candidate>& candidates) {
  if (count >= candidates.size()) return;
  if (count == 0) {
    candidates.clear();
    return;
  }
  std::vector<Candidate> order = candidates;
  const auto last = order.begin() + static_cast<std::ptrdiff_t>(count - 1);
  std::ranges::nth_element(order, last, IsBetter);
  KeepUpTo(*last, candidates);
}

void KeepHeaviest(uint64_t wanted, std::vector<Candidate>& candidates) {
  if (TotalWeight(candidates) <= wanted) return;
  KeepUpTo(LastOfHeaviest(wanted, candidates), candidates);
}

void KeepNucleus(uint64_t wanted, std::vector<Candidate>& candidates) {
  // The sizes of weights in bits order them roughly: only the candidates of one size, at which the
  // sum reaches `wanted`, must be sorted further.
  std::array<uint64_t, 65> sums{};
  for (const Candidate& candidate : candidates) {
    sums[static_cast<size_t>(std::bit_width(candidate.weight))] += candidate.weight;
  }
  size_t bits = sums.size() - 1;
  while (bits > 0 && sums[bits] < wanted) wanted -= sums[bits--];
  if (bits == 0) return;
  std::vector<Candidate> border;
  std::ranges::copy_if(candidates, std::back_inserter(border), [&](const Candidate& other) {
    return static_cast<size_t>(std::bit_width(other.weight)) == bits;
  });
  KeepUpTo(LastOfHeaviest(wanted, std::move(border)), candidates);
}

uint64_t TotalWeight(std::span<const Candidate> candidates) {
  uint64_t total = 0;
  for (const Candidate& candidate : candidates) total += candidate.weight;
  return total;
}

void CandidateFinder::FindBest(std::span<const float> scores, size_t count,
                               std::vector<Candidate>& out) {
  const size_t block_count = (scores.size() + kBlock - 1) / kBlock;
  if (count == 0 || count > block_count) {
    FindAll(scores, out);
    KeepBest(count, out);
    return;
  }
  const auto block = [&](size_t index) {
    return scores.subspan(index * kBlock, std::min(kBlock, scores.size() - index * kBlock));
  };
  block_best_.resize(block_count);
  for (size_t i = 0; i < block_count; ++i) block_best_[i] = BestOf(block(i));
  // `count` blocks have a score that is no less: no lower score is among the best.
  values_ = block_best_;
  const auto nth = values_.begin() + static_cast<std::ptrdiff_t>(count - 1);
  std::ranges::nth_element(values_, nth, std::greater());
  const float bound = *nth;
  out.clear();
  for (size_t i = 0; i < block_count; ++i) {
    if (block_best_[i] < bound) continue;
    for (size_t id = i * kBlock; const float score : block(i)) {
      if (score >= bound && score > kImpossible) {
        out.push_back({.score = score, .id = static_cast<int32_t>(id)});
      }
      ++id;
    }
  }
  KeepBest(count, out);
}

void CandidateFinder::FindAll(std::span<const float> scores, std::vector<Candidate>& out) {
  out.clear();
  out.reserve(scores.size());
  for (int32_t id = 0; const float score : scores) {
    if (score > kImpossible) out.push_back({.score = score, .id = id});
    ++id;
  }
}

void CandidateFinder::Weigh(float factor, std::vector<Candidate>& candidates) {
  float best = kImpossible;
  for (const Candidate& candidate : candidates) best = std::max(best, candidate.score);
  values_.resize(candidates.size());
  for (size_t i = 0; i < candidates.size(); ++i) {
    values_[i] = (candidates[i].score - best) * factor;
  }
  ops_.exp(values_.data(), values_.size(), values_.data());
  for (size_t i = 0; i < candidates.size(); ++i) candidates[i].weight = ToWeight(values_[i]);
}

uint64_t CandidateFinder::TotalOfAll(std::span<const float> scores, float best) {
  DCHECK(best > kImpossible);
  values_.resize(scores.size());
  for (size_t i = 0; i < scores.size(); ++i) values_[i] = scores[i] - best;
  ops_.exp(values_.data(), values_.size(), values_.data());
  uint64_t total = 0;
  for (const float value : values_) total += ToWeight(value);
  return total;
}

}  // namespace aster::engine
