// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim_options.h"
#include "sim_world.h"

namespace aster::sim {
namespace {

void AddTo(SimResult& all, const SimResult& result) {
  all.answered += result.answered;
  all.failed += result.failed;
  all.cancelled += result.cancelled;
  all.continued += result.continued;
  all.narrow_answered += result.narrow_answered;
  all.narrow_equal += result.narrow_equal;
  all.replans += result.replans;
  all.replayed += result.replayed;
  all.preempted += result.preempted;
  all.fetched += result.fetched;
  all.narrow_fetched += result.narrow_fetched;
  all.given_up += result.given_up;
  all.drafts += result.drafts;
  all.frames_ahead += result.frames_ahead;
  all.frames_cancelled += result.frames_cancelled;
  all.remote_drafts += result.remote_drafts;
  all.remote_drafts_accepted += result.remote_drafts_accepted;
  all.remote_left_out += result.remote_left_out;
  for (const auto& [what, count] : result.complaints) all.complaints[what] += count;
}

TEST(Sim, EverySeedEndsWithTheTokensOfOneMachineOrACleanError) {
  SimResult all;
  const SimOptions& options = Options();
  for (uint64_t seed = options.first; seed < options.first + options.seeds; ++seed) {
    const SimResult result = World(seed, options.print).Run();
    if (options.print) fmt::print("{}\n", fmt::join(result.lines, "\n"));
    if (!result.errors.empty()) {
      const SimResult again = World(seed, /*keep_lines=*/true).Run();
      FAIL() << fmt::format(
          "{}\nseed {}: {}\nsee it again: sim_test --seeds 1 --first {} --print\n",
          fmt::join(again.lines, "\n"), seed, fmt::join(result.errors, "; "), seed);
    }
    AddTo(all, result);
  }
  fmt::print(
      "{} seeds: {} answered, {} cancelled, {} failed cleanly, {} of them continued; {} "
      "replans, {} tokens replayed, {} preempted, {} tokens fetched, {} fetches given up; "
      "{} of {} draft tokens accepted, {} of {} frames ahead cancelled; {} of {} draft tokens of "
      "other "
      "machines accepted, {} of these left out; with rows in fewer bits {} "
      "answered, {} of them alike, {} "
      "tokens "
      "fetched\n",
      options.seeds, all.answered, all.cancelled, all.failed, all.continued, all.replans,
      all.replayed, all.preempted, all.fetched, all.given_up, all.drafts.accepted,
      all.drafts.drafted, all.frames_cancelled, all.frames_ahead, all.remote_drafts_accepted,
      all.remote_drafts, all.remote_left_out, all.narrow_answered, all.narrow_equal,
      all.narrow_fetched);
  if (options.seeds < 300) return;
  // With fewer than these numbers, the seeds would not test the cases.
  EXPECT_GT(all.answered, options.seeds);
  EXPECT_GT(all.cancelled, options.seeds / 50);
  EXPECT_GT(all.continued, options.seeds / 100);
  EXPECT_GT(all.replans, options.seeds / 3);
  EXPECT_GT(all.preempted, 0u);
  EXPECT_GT(all.fetched, options.seeds);
  EXPECT_GT(all.narrow_answered, options.seeds / 10);
  EXPECT_GT(all.narrow_fetched, options.seeds / 10);
  // Most answers are those of one machine, though not all: otherwise no row was quantised.
  EXPECT_GT(all.narrow_equal, all.narrow_answered / 2);
  // A fetch is given up only if a node fails during it: in a few of thousands of seeds.
  if (options.seeds >= 20'000) {
    EXPECT_GT(all.given_up, 0u);
  }
  EXPECT_GT(all.drafts.accepted, options.seeds);
  EXPECT_GT(all.remote_drafts_accepted, options.seeds / 2);
  EXPECT_GT(all.remote_drafts, all.remote_drafts_accepted + options.seeds / 4);
  EXPECT_GT(all.remote_left_out, options.seeds / 20);
  const auto is_told = [&](const std::string& what) {
    return std::ranges::any_of(all.complaints, [&](const auto& complaint) {
      return complaint.first.find(what) != std::string::npos;
    });
  };
  for (const std::string what : {"liar", "flooder", "stranger"}) {
    EXPECT_TRUE(is_told(what)) << what;
  }
  EXPECT_GT(all.frames_ahead, options.seeds / 2);
  EXPECT_GT(all.frames_cancelled, options.seeds / 10);
  EXPECT_GT(all.drafts.drafted, all.drafts.accepted + options.seeds / 2);
}

TEST(Sim, ASeedIsTheSameEveryTime) {
  const uint64_t first = Options().first;
  for (uint64_t seed = first; seed < first + 10; ++seed) {
    EXPECT_EQ(World(seed, false).Run().trace, World(seed, true).Run().trace) << seed;
  }
  EXPECT_NE(World(first, false).Run().trace, World(first + 1, false).Run().trace);
}

}  // namespace
}  // namespace aster::sim
