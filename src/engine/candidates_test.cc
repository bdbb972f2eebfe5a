// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/candidates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/random.h"
#include "kernels/isa_choice.h"

namespace aster::engine {
namespace {

constexpr float kImpossible = -std::numeric_limits<float>::infinity();

// Many are equal if there are few different values.
std::vector<float> RandomScores(Random& random, size_t count, uint64_t different) {
  std::vector<float> scores(count);
  for (float& score : scores) {
    const uint64_t value = random.NextBelow(different);
    score = value == 0 ? kImpossible : static_cast<float>(value) - 7.5F;
  }
  return scores;
}

std::vector<int32_t> Ids(const std::vector<Candidate>& candidates) {
  std::vector<int32_t> ids;
  for (const Candidate& candidate : candidates) ids.push_back(candidate.id);
  return ids;
}

// The best `count` ids, ascending.
std::vector<int32_t> BestByExpectation(const std::vector<float>& scores, size_t count) {
  std::vector<int32_t> ids;
  for (size_t id = 0; id < scores.size(); ++id) {
    if (scores[id] > kImpossible) ids.push_back(static_cast<int32_t>(id));
  }
  std::ranges::stable_sort(ids, std::greater(), [&](int32_t id) { return scores[id]; });
  ids.resize(std::min(ids.size(), count));
  std::ranges::sort(ids);
  return ids;
}

TEST(Candidates, TheBestAreThoseOfASortedList) {
  CandidateFinder finder(kernels::Ops(kernels::FastestIsa()));
  std::vector<Candidate> found;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    Random random(seed);
    const size_t size = 1 + random.NextBelow(seed % 10 == 0 ? 20000 : 700);
    const auto scores = RandomScores(random, size, seed % 3 == 0 ? 4 : 100000);
    const size_t count = 1 + random.NextBelow(seed % 2 == 0 ? 10 : size + 10);
    finder.FindBest(scores, count, found);
    ASSERT_EQ(Ids(found), BestByExpectation(scores, count)) << seed;
    finder.FindAll(scores, found);
    ASSERT_EQ(Ids(found), BestByExpectation(scores, size)) << seed;
  }
}

TEST(Candidates, TheHeaviestAreTheFewestThatReachASum) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    std::vector<Candidate> all(1 + random.NextBelow(200));
    for (size_t i = 0; i < all.size(); ++i) {
      all[i] = {.score = static_cast<float>(random.NextBelow(30)),
                .id = static_cast<int32_t>(i),
                .weight = random.NextBelow(4) * (uint64_t{1} << random.NextBelow(40))};
    }
    const uint64_t total = TotalWeight(all);
    const uint64_t wanted = 1 + random.NextBelow(total + 2);
    std::vector<Candidate> kept = all;
    KeepHeaviest(wanted, kept);
    std::vector<Candidate> expected = all;
    std::ranges::sort(expected, IsBetter);
    if (wanted < total) {
      uint64_t sum = 0;
      size_t count = 0;
      while (sum < wanted) sum += expected[count++].weight;
      expected.resize(count);
    }
    std::ranges::sort(expected, {}, &Candidate::id);
    ASSERT_EQ(Ids(kept), Ids(expected)) << seed;
  }
}

TEST(Candidates, TheNucleusIsTheHeaviest) {
  CandidateFinder finder(kernels::Ops(kernels::FastestIsa()));
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    std::vector<Candidate> all;
    finder.FindAll(RandomScores(random, 1 + random.NextBelow(500), 50), all);
    if (all.empty()) continue;
    finder.Weigh(0.01F + random.NextFloat(), all);
    const uint64_t wanted = 1 + random.NextBelow(TotalWeight(all) + 2);
    std::vector<Candidate> heaviest = all;
    KeepHeaviest(wanted, heaviest);
    KeepNucleus(wanted, all);
    ASSERT_EQ(Ids(all), Ids(heaviest)) << seed;
  }
}

TEST(Candidates, WeightsAreTheSameOnEveryInstructionSet) {
  Random random(3);
  std::vector<float> scores(5003);
  for (float& score : scores) score = 10 * random.NextNormal();
  scores[17] = kImpossible;
  std::vector<std::vector<Candidate>> all;
  std::vector<uint64_t> totals;
  for (const kernels::Isa isa : kernels::AvailableIsas()) {
    CandidateFinder finder(kernels::Ops(isa));
    finder.FindAll(scores, all.emplace_back());
    finder.Weigh(1.25F, all.back());
    totals.push_back(finder.TotalOfAll(scores, *std::ranges::max_element(scores)));
    uint64_t largest = 0;
    for (size_t i = 0; i < all.back().size(); ++i) {
      ASSERT_EQ(all.back()[i].weight, all[0][i].weight) << i;
      largest = std::max(largest, all.back()[i].weight);
    }
    EXPECT_EQ(largest, uint64_t{1} << 40);
    EXPECT_EQ(totals.back(), totals[0]);
  }
}

TEST(Candidates, NothingIsFoundWhereEverythingIsImpossible) {
  CandidateFinder finder(kernels::Ops(kernels::FastestIsa()));
  const std::vector<float> scores(1000, kImpossible);
  std::vector<Candidate> found(3);
  finder.FindBest(scores, 5, found);
  EXPECT_TRUE(found.empty());
  finder.FindAll(scores, found);
  EXPECT_TRUE(found.empty());
}

}  // namespace
}  // namespace aster::engine
