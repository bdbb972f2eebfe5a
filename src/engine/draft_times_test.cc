// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/draft_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/random.h"
#include "engine/speculation.h"

namespace aster::engine {
namespace {

const AcceptanceRates kHighAcceptance(0.9F, 0.1F);
const AcceptanceRates kLowAcceptance(0.1F, 0.1F);

// Enough steps to time one.
void LearnWarmSteps(DraftTimes& times) {
  for (int i = 0; i < 10; ++i) times.Learn(0, 1, 1'000'000);
}

// The duration of steps and the acceptance rates that a test simulates.
struct DraftWorld {
  std::function<double(uint32_t drafts)> step_ns;
  double rate = 0.8;
  std::optional<double> next_rate = {};  // of drafts after the first, if different

  double RateAt(uint32_t place) const { return place == 0 ? rate : next_rate.value_or(rate); }
};

struct RunResult {
  double tokens = 0;
  double ns = 0;
  double ns_per_token() const { return ns / tokens; }
};

// `steps` steps with the best number of drafts each.
RunResult Follow(const DraftWorld& world, uint32_t most, uint32_t steps, DraftTimes& times,
                 Random& random) {
  DraftLength length(most, &times);
  RunResult run;
  for (uint32_t i = 0; i < steps; ++i) {
    const uint32_t drafts = length.Next();
    EXPECT_LE(drafts, most);
    uint32_t accepted = 0;
    while (accepted < drafts && random.NextDouble() < world.RateAt(accepted)) ++accepted;
    const double ns = world.step_ns(drafts);
    times.Learn(drafts, 1 + accepted, static_cast<int64_t>(ns));
    length.Learn(drafts, accepted);
    run.tokens += 1 + accepted;
    run.ns += ns;
  }
  return run;
}

// The average number of tokens of a step.
double TokensOfStep(uint32_t drafts, double rate) {
  double tokens = 0;
  for (uint32_t i = 0; i <= drafts; ++i) tokens += std::pow(rate, i);
  return tokens;
}

double BestNsPerToken(const DraftWorld& world, uint32_t most) {
  double best = world.step_ns(0);
  for (uint32_t drafts = 1; drafts <= most; ++drafts)
    best = std::min(best, world.step_ns(drafts) / TokensOfStep(drafts, world.rate));
  return best;
}

TEST(DraftTimes, NeverMeaningfullySlowerThanWithout) {
  Random random(1);
  for (int i = 0; i < 60; ++i) {
    const double row_ns = 1e6 * random.NextDouble();
    const double draft_ns = 1e6 * random.NextDouble();
    const DraftWorld world{
        .step_ns = [=](uint32_t drafts) { return 1e6 + drafts * (row_ns + draft_ns); },
        .rate = random.NextDouble()};
    const auto most = static_cast<uint32_t>(1 + random.NextBelow(8));
    DraftTimes times;
    const RunResult run = Follow(world, most, 4000, times, random);
    EXPECT_LT(run.ns_per_token(), 1e6 / 0.98)
        << row_ns << " ns a row, " << draft_ns << " a guess, of which " << world.rate << " right";
  }
}

// The first steps without draft tokens, at the beginning of an answer and after steps with drafts,
// take longer than later ones: nine in ten draft tokens are right, and yet not worth their cost.
TEST(DraftTimes, ColdStepsAreNotWhatStepsTake) {
  const auto plain_ns = [](uint32_t run) { return 1e6 * (1 + std::pow(0.6, run)); };
  constexpr double kDrafted = 2.1e6;
  Random random(5);
  DraftTimes times;
  double drafted_ns = 0, plain_only_ns = 0;
  for (uint32_t answer = 0; answer < 40; ++answer) {
    DraftLength length(1, &times);
    uint32_t run = 0;
    for (uint32_t tokens = 0; tokens < 60;) {
      const uint32_t drafts = length.Next();
      const uint32_t accepted = drafts > 0 && random.NextDouble() < 0.9 ? 1 : 0;
      const double ns = drafts > 0 ? kDrafted : plain_ns(run);
      run = drafts > 0 ? 0 : run + 1;
      times.Learn(drafts, 1 + accepted, static_cast<int64_t>(ns));
      length.Learn(drafts, accepted);
      for (uint32_t i = 0; i <= accepted; ++i) plain_only_ns += plain_ns(tokens + i);
      tokens += 1 + accepted;
      drafted_ns += ns;
    }
  }
  EXPECT_LT(drafted_ns, plain_only_ns / 0.98);
}

// Other programs slow the machine down for a dozen steps at times; times of steps without drafts
// from then must not count.
TEST(DraftTimes, AMachineThatIsSlowForAMomentDoesNotMakeDraftsPay) {
  constexpr double kPlain = 1e6, kDrafted = 2.25e6;
  double all_drafted_ns = 0, all_plain_ns = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    Random random(seed);
    DraftTimes times;
    DraftLength length(1, &times);
    double drafted_ns = 0;
    for (uint32_t step = 0; step < 40'000; ++step) {
      // The machine is slow for some time, not for some steps.
      const bool is_slow = std::fmod(drafted_ns, 400e6) < 14e6;
      const uint32_t drafts = length.Next();
      const uint32_t accepted = drafts > 0 && random.NextDouble() < 0.9 ? 1 : 0;
      const double ns = (drafts > 0 ? kDrafted : kPlain) * (is_slow ? 2 : 1);
      times.Learn(drafts, 1 + accepted, static_cast<int64_t>(ns));
      length.Learn(drafts, accepted);
      all_plain_ns += (1 + accepted) * kPlain * (is_slow ? 2 : 1);
      drafted_ns += ns;
    }
    all_drafted_ns += drafted_ns;
  }
  EXPECT_LT(all_drafted_ns, all_plain_ns / 0.98);
}

// How many drafts of a step are right, given the time that drafts have gained so far.
using Acceptance = std::function<uint32_t(uint32_t step, uint32_t drafts, double lead)>;

// The largest loss by drafts at any time, in steps without drafts: at most the initial loan and a
// hundredth of the time.
double MostBehind(const DraftWorld& world, const Acceptance& fate, uint32_t most) {
  DraftTimes times;
  double tokens = 0, ns = 0, behind = 0;
  for (uint32_t answer = 0, step = 0; answer < 20; ++answer) {
    DraftLength length(most, &times);
    for (uint32_t i = 0; i < 200; ++i, ++step) {
      const uint32_t drafts = length.Next();
      const uint32_t accepted = std::min(drafts, fate(step, drafts, tokens - ns));
      const double step_ns = world.step_ns(drafts);
      times.Learn(drafts, 1 + accepted, static_cast<int64_t>(step_ns));
      length.Learn(drafts, accepted);
      tokens += 1 + accepted;
      ns += step_ns / 1e6;
      behind = std::max(behind, ns - 1.01 * tokens);
    }
  }
  return behind;
}

// Whatever is right and whatever it costs, losing drafts are paid from the loan. Only the cost of a
// first try is not known before.
TEST(DraftTimes, LossesStayWithinTheBudget) {
  const std::vector<std::pair<const char*, Acceptance>> fates = {
      {"never right", [](uint32_t, uint32_t, double) { return 0; }},
      {"in turns", [](uint32_t step, uint32_t drafts, double) { return step % 2 * drafts; }},
      {"in turns of 20", [](uint32_t step, uint32_t n, double) { return step / 20 % 2 * n; }},
      {"well, then badly", [](uint32_t step, uint32_t n, double) { return step < 500 ? n : 0; }},
      {"the first one only", [](uint32_t, uint32_t, double) { return 1; }},
      {"until it is relied on", [](uint32_t, uint32_t n, double) { return n < 3 ? n : 0; }},
      {"where little is at stake",
       [](uint32_t, uint32_t n, double lead) { return lead < 5 ? n : 0; }},
  };
  for (const auto& [name, fate] : fates) {
    for (const double row : {0.02, 0.3, 0.9}) {
      for (const double second : {0.0, 0.7}) {
        for (const double draft : {0.0, 0.3, 2.0}) {
          const DraftWorld world{.step_ns = [=](uint32_t drafts) {
            return 1e6 * (1 + drafts * (row + draft) + (drafts > 0 ? second : 0));
          }};
          const double first_try = row + draft + second;
          for (const uint32_t most : {1U, 4U, 16U}) {
            EXPECT_LT(MostBehind(world, fate, most), 8 + std::max(first_try - 1, 0.0) + 0.01)
                << name << ", a row " << row << ", the second " << second << " more, a draft token "
                << draft << ", at most " << most;
          }
        }
      }
    }
  }
}

TEST(DraftTimes, AboutAsFastAsTheBestNumberOfDrafts) {
  Random random(2);
  for (const double rate : {0.5, 0.7, 0.9}) {
    for (const double draft_ns : {0.0, 1e5, 3e5}) {
      const DraftWorld world{.step_ns = [=](uint32_t drafts) { return 1e6 + drafts * draft_ns; },
                             .rate = rate};
      DraftTimes times;
      const RunResult run = Follow(world, 4, 20000, times, random);
      EXPECT_LT(run.ns_per_token(), 1.12 * BestNsPerToken(world, 4))
          << rate << " right, a draft takes " << draft_ns << " ns";
    }
  }
}

// A block that was trained for one draft token, and drafts four.
TEST(DraftTimes, DraftsThatAreWorseFurtherOnAreShort) {
  Random random(4);
  const DraftWorld world{
      .step_ns = [](uint32_t drafts) { return 1e6 + drafts * 2e5; }, .rate = 0.9, .next_rate = 0.1};
  DraftTimes times;
  const RunResult run = Follow(world, 4, 20000, times, random);
  EXPECT_LT(run.ns_per_token(), 1.05 * 1.2e6 / 1.9);
}

// As in a mixture of experts: a draft of one token does not pay, and one of several does.
TEST(DraftTimes, LongDraftsAreTriedWhereTheSecondRowIsExpensive) {
  Random random(5);
  const DraftWorld world{
      .step_ns = [](uint32_t drafts) { return drafts == 0 ? 1e6 : 1.6e6 + 2e5 * drafts; },
      .rate = 0.7};
  EXPECT_GT(1.8e6 / TokensOfStep(1, world.rate), 1e6);
  RunResult all;
  for (int session = 0; session < 20; ++session) {
    DraftTimes times;
    const RunResult run = Follow(world, 8, 300, times, random);
    all.tokens += run.tokens;
    all.ns += run.ns;
  }
  EXPECT_LT(all.ns_per_token(), 1.09 * BestNsPerToken(world, 8));
}

TEST(DraftTimes, SeesThatTimesHaveChanged) {
  Random random(3);
  DraftTimes times;
  const DraftWorld dear{.step_ns = [](uint32_t drafts) { return drafts == 0 ? 1e6 : 9e6; }};
  const DraftWorld cheap{.step_ns = [](uint32_t) { return 1e6; }};
  Follow(dear, 4, 3000, times, random);
  EXPECT_GT(Follow(dear, 4, 1000, times, random).ns_per_token(), 0.9e6);
  Follow(cheap, 4, 3000, times, random);
  EXPECT_LT(Follow(cheap, 4, 1000, times, random).ns_per_token(), 0.6e6);
  Follow(dear, 4, 3000, times, random);
  EXPECT_LT(Follow(dear, 4, 1000, times, random).ns_per_token(), 1.1e6);
}

TEST(DraftTimes, ExpensiveTrialsAreRare) {
  DraftTimes times;
  for (int i = 0; i < 5; ++i) {
    times.Learn(0, 1, 1'000'000);
    times.Learn(1, 1, 5'000'000);
  }
  // Each try costs 49 steps for the unread text, and a few more.
  int tries = 0;
  for (int i = 0; i < 30000; ++i) {
    if (times.Best(2, kHighAcceptance, /*begins=*/true) == 0) {
      times.Learn(0, 1, 1'000'000);
      continue;
    }
    ++tries;
    times.LearnCatchUp(1, 50'000'000);
  }
  EXPECT_GE(tries, 2);
  EXPECT_LE(tries * 49, 0.015 * 30000);
}

// A few short answers of a new process: drafts that are seldom wrong, lose a tenth, and have half a
// step's text to read before each try.
TEST(DraftTimes, FindingOutThatDraftsLoseCostsLittle) {
  DraftTimes times;
  double ns = 0, tokens = 0;
  bool was_drafting = false;
  while (tokens < 360) {
    const bool is_drafting = times.Best(1, kHighAcceptance, !was_drafting) > 0;
    const uint32_t given = is_drafting ? 2 : 1;
    const bool reads = is_drafting && !was_drafting;
    const int64_t step_ns = reads ? 2'700'000 : is_drafting ? 2'200'000 : 1'000'000;
    if (reads) {
      times.LearnCatchUp(given, step_ns);
    } else {
      times.Learn(is_drafting ? 1 : 0, given, step_ns);
    }
    was_drafting = is_drafting;
    ns += static_cast<double>(step_ns);
    tokens += given;
  }
  EXPECT_LT(ns / tokens, 1e6 / 0.98);
}

// Step times say that drafts gain, but beginning each answer costs more: answers of ten tokens
// never pay for it.
TEST(DraftTimes, StartsThatNeverPayOffAreRare) {
  DraftTimes times;
  double ns = 0, tokens = 0;
  for (int answer = 0; answer < 3000; ++answer) {
    bool was_drafting = false;
    for (int step = 0; step < 5; ++step) {
      const bool is_drafting = times.Best(1, kHighAcceptance, !was_drafting) > 0;
      const uint32_t given = is_drafting ? 2 : 1;
      int64_t step_ns = is_drafting ? 1'500'000 : 1'000'000;
      if (is_drafting && !was_drafting) {
        step_ns = 9'000'000;
        times.LearnCatchUp(given, step_ns);
      } else {
        times.Learn(is_drafting ? 1 : 0, given, step_ns);
      }
      was_drafting = is_drafting;
      ns += static_cast<double>(step_ns);
      tokens += given;
    }
  }
  EXPECT_LT(ns / tokens, 1e6 / 0.98);
}

TEST(DraftTimes, BeginsWithOneDraftTokenAndGoesOnFromThere) {
  // The first draft token costs little, and further ones much, as if each is a step of the drafter.
  DraftTimes times;
  EXPECT_EQ(times.Best(4, kHighAcceptance, true), 0u);
  LearnWarmSteps(times);
  EXPECT_EQ(times.Best(4, kHighAcceptance, true), 1u);
  times.Learn(1, 2, 1'200'000);
  times.Learn(1, 2, 1'200'000);
  EXPECT_EQ(times.Best(4, kHighAcceptance, false), 4u) << "as if further ones cost as much";
  times.Learn(4, 4, 4'500'000);
  times.Learn(4, 4, 4'500'000);
  EXPECT_EQ(times.Best(4, kHighAcceptance, false), 1u);
}

TEST(DraftTimes, AnOutlierStepIsIgnored) {
  DraftTimes times;
  LearnWarmSteps(times);
  for (int i = 0; i < 5; ++i) {
    times.Learn(1, 2, 1'050'000);
    times.Learn(2, 3, i == 4 ? 900'000'000 : 1'100'000);
  }
  EXPECT_EQ(times.Best(2, kHighAcceptance, false), 2u);
}

TEST(DraftTimes, NothingIsDraftedWhereNothingIsKnown) {
  DraftTimes times;
  EXPECT_EQ(times.Best(4, kHighAcceptance, true), 0u);
  times.Learn(0, 1, 1000);
  times.Learn(1, 2, 0);
  times.Learn(1, 2, -5);
  times.Learn(kMostDrafts + 1, 2, 1000);
  EXPECT_EQ(times.Best(4, kHighAcceptance, true), 0u) << "a single step may have been held up";
}

TEST(DraftTimes, AnAnswerBeginsWithTheRateOfOthers) {
  DraftTimes times;
  DraftLength first(4, &times);
  for (int i = 0; i < 100; ++i) first.Learn(1, 0);
  EXPECT_LT(times.rates().At(0), 0.1F);
  for (int i = 0; i < 5; ++i) {
    times.Learn(0, 1, 1'000'000);
    times.Learn(1, 1, 1'300'000);
  }
  EXPECT_EQ(DraftLength(4, &times).Next(), 0u);
}

// Another node decodes several steps per message.
TEST(DraftTimes, StepsWithoutDraftsAreAsManyAsTriesAreApart) {
  DraftTimes times;
  EXPECT_EQ(times.StepsWithoutDrafts(), 16u) << "the time of a step is unknown";
  times.LearnPlain(4, 4'000'000);
  times.LearnPlain(0, 9'000'000);
  times.LearnPlain(4, 4'000'000);
  EXPECT_EQ(times.Best(4, kHighAcceptance, false), 0u) << "a single time may have been held up";
  times.LearnPlain(4, 4'000'000);
  EXPECT_EQ(times.Best(4, kHighAcceptance, false), 1u);
  for (int i = 0; i < 3; ++i) times.Learn(1, 1, 3'000'000);
  uint32_t asked = 0;
  uint32_t tried = 0;
  uint32_t longest = 0;
  for (uint32_t steps = 0; steps < 1000; ++asked) {
    const uint32_t drafts = times.Best(4, kLowAcceptance, false);
    if (drafts > 0) {
      ++tried;
      ++steps;
      times.Learn(drafts, 1, 3'000'000);
      continue;
    }
    const uint32_t alone = times.StepsWithoutDrafts();
    longest = std::max(longest, alone);
    steps += alone;
    times.LearnPlain(alone, alone * 1'000'000);
  }
  EXPECT_GE(tried, 3u) << "a change would be noticed";
  EXPECT_LE(tried, 20u);
  EXPECT_LT(asked, 100u);
  EXPECT_EQ(longest, 128u);
}

// Takes a given time to draft.
class Slow final : public Proposer {
 public:
  Slow(VirtualClock& clock, int64_t each_ns) : clock_(clock), each_ns_(each_ns) {}
  Status Propose(std::span<const int32_t> /*history*/, uint32_t most,
                 std::vector<int32_t>& drafts) override {
    drafts.assign(most, 7);
    clock_.AdvanceBy(each_ns_ * most);
    return Ok();
  }

 private:
  VirtualClock& clock_;
  const int64_t each_ns_;
};

// How many of the last steps had drafts, all of which are accepted.
int LateDrafts(int64_t draft_ns, bool has_clock) {
  VirtualClock clock;
  DraftTimesByKind times;
  const DraftTiming watch{.clock = has_clock ? &clock : nullptr, .times = &times};
  const int32_t history[] = {1, 2};
  int late = 0;
  for (int answer = 0; answer < 4; ++answer) {
    Speculation speculation(std::make_unique<Slow>(clock, draft_ns),
                            {.kind = DraftKind::kMtp, .most = 3}, 300, watch);
    for (int step = 0; step < 100; ++step) {
      const auto drafts = static_cast<uint32_t>(speculation.Propose(history, 8).size());
      clock.AdvanceBy(1'000'000);
      speculation.Learn(drafts, drafts);
      if (answer == 3 && drafts > 0) ++late;
    }
  }
  return late;
}

TEST(Speculation, DoesWithoutAProposerThatTakesTooLong) {
  EXPECT_GT(LateDrafts(100'000, true), 90);
  EXPECT_LT(LateDrafts(2'000'000, true), 10);
  EXPECT_EQ(LateDrafts(2'000'000, false), 100) << "without a clock only the acceptance counts";
}

}  // namespace
}  // namespace aster::engine
