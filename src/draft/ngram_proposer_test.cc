// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "draft/ngram_proposer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace aster::draft {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<int32_t> Propose(NgramProposer& proposer) {
  const auto drafts = proposer.Propose();
  return {drafts.begin(), drafts.end()};
}

// The same by searching the whole history.
std::vector<int32_t> ProposeSlowly(std::span<const int32_t> history, NgramOptions options) {
  std::vector<int32_t> text(history.begin(), history.end());
  for (size_t size = options.longest; size >= options.shortest; --size) {
    for (size_t end = text.size() - 1; end + 1 > size && !text.empty(); --end) {
      if (!std::equal(text.end() - static_cast<ptrdiff_t>(size), text.end(),
                      text.begin() + static_cast<ptrdiff_t>(end - size))) {
        continue;
      }
      for (size_t i = 0; i < options.max_tokens; ++i) text.push_back(text[end + i]);
      return {text.end() - options.max_tokens, text.end()};
    }
  }
  return {};
}

TEST(NgramProposer, NothingIsProposedAfterUnseenTokens) {
  NgramProposer proposer;
  EXPECT_THAT(Propose(proposer), IsEmpty());
  for (int32_t token = 0; token < 100; ++token) {
    proposer.Append(token);
    EXPECT_THAT(Propose(proposer), IsEmpty());
  }
}

TEST(NgramProposer, ProposesWhatFollowedBefore) {
  NgramProposer proposer({.shortest = 2, .longest = 4, .max_tokens = 3});
  proposer.Append(std::vector<int32_t>{1, 2, 3, 4, 5, 9, 1});
  EXPECT_THAT(Propose(proposer), IsEmpty());  // one token is too few
  proposer.Append(2);
  EXPECT_THAT(Propose(proposer), ElementsAre(3, 4, 5));
  proposer.Append(4);
  EXPECT_THAT(Propose(proposer), IsEmpty());
}

TEST(NgramProposer, TheLongestMatchCountsAndThenTheLatest) {
  NgramProposer proposer({.shortest = 2, .longest = 3, .max_tokens = 1});
  proposer.Append(std::vector<int32_t>{7, 1, 2, 50, 8, 1, 2, 60, 9, 1, 2});
  EXPECT_THAT(Propose(proposer), ElementsAre(60));  // 1 2, the latest
  proposer.Rewind(8);
  proposer.Append(std::vector<int32_t>{7, 1, 2});
  EXPECT_THAT(Propose(proposer), ElementsAre(50));  // 7 1 2, older and longer
}

TEST(NgramProposer, RepetitionIsDraftedInFull) {
  NgramProposer proposer({.shortest = 2, .longest = 4, .max_tokens = 7});
  proposer.Append(std::vector<int32_t>{5, 6, 7, 5, 6});
  EXPECT_THAT(Propose(proposer), ElementsAre(7, 5, 6, 7, 5, 6, 7));
  proposer.Rewind(0);
  proposer.Append(std::vector<int32_t>{3, 3, 3});
  EXPECT_THAT(Propose(proposer), ElementsAre(3, 3, 3, 3, 3, 3, 3));
}

TEST(NgramProposer, AgreesWithLookingThroughTheHistory) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random.NextBelow(n)); };
    const NgramOptions options{
        .shortest = 1 + below(3), .longest = 3 + below(4), .max_tokens = 1 + below(9)};
    NgramProposer proposer(options);
    std::vector<int32_t> history;
    const uint32_t vocab = 2 + below(6);
    for (int step = 0; step < 300; ++step) {
      if (random.NextBelow(8) == 0) {
        history.resize(history.size() -
                       random.NextBelow(static_cast<uint32_t>(history.size()) + 1));
        proposer.Rewind(history.size());
      } else {
        history.push_back(static_cast<int32_t>(random.NextBelow(vocab)));
        proposer.Append(history.back());
      }
      ASSERT_TRUE(std::ranges::equal(proposer.history(), history));
      ASSERT_EQ(Propose(proposer), ProposeSlowly(history, options)) << seed << " " << step;
    }
  }
}

TEST(NgramProposer, GoingBackAndForthDoesNotFillTheTables) {
  NgramProposer proposer;
  Random random(1);
  proposer.Append(std::vector<int32_t>{1, 2, 3, 1});
  // Each round leaves sequences that will never come again.
  for (int round = 0; round < 20'000; ++round) {
    for (int i = 0; i < 8; ++i) proposer.Append(static_cast<int32_t>(random.NextU32() >> 1));
    proposer.Rewind(4);
  }
  proposer.Append(2);
  EXPECT_EQ(Propose(proposer).front(), 3);
}

TEST(NgramProposer, LongHistoriesOfOneTokenTakeNoLonger) {
  // Looking back from each token to the first would take minutes.
  NgramProposer proposer;
  for (int i = 0; i < 300'000; ++i) {
    proposer.Append(7);
    ASSERT_EQ(proposer.Propose().size(), i < 2 ? 0U : 8U);
  }
  proposer.Rewind(1);
  EXPECT_THAT(Propose(proposer), IsEmpty());
}

}  // namespace
}  // namespace aster::draft
