// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/sequence.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "engine/answers_for_test.h"

namespace aster::engine {
namespace {

// Computes what is pending, in chunks of `chunk`; returns the logits of the last token.
std::vector<float> Compute(Sequence& sequence, size_t chunk) {
  sequence.ForgetLast();
  std::vector<float> logits;
  while (!sequence.pending().empty()) {
    const model::Segment segment{
        .table = &sequence.table(),
        .tokens = sequence.pending().first(std::min(chunk, sequence.pending().size()))};
    const model::Output output = sequence.model().Run({&segment, 1}).value();
    logits.assign(output.logits.begin(), output.logits.end());
  }
  return logits;
}

std::vector<float> ComputeAfresh(std::span<const int32_t> tokens, model::MemoryOptions memory) {
  const auto model = TinyModel::Get().Make(uint64_t{1} << 28, memory);
  Sequence sequence(*model);
  sequence.Append(tokens);
  return Compute(sequence, 512);
}

TEST(Sequence, KeepsWhatIsSharedFromTheStart) {
  const auto model = TinyModel::Get().Make();
  Sequence sequence(*model);
  auto tokens = model::RandomTokens(100, 300, 1);
  sequence.SetHistory(tokens);
  EXPECT_EQ(sequence.pending().size(), 100u);
  Compute(sequence, 64);
  EXPECT_EQ(sequence.computed(), 100u);
  tokens[60] ^= 1;
  sequence.SetHistory(tokens);
  EXPECT_EQ(sequence.computed(), 60u);
  EXPECT_EQ(sequence.length(), 100u);
  sequence.SetHistory(std::span(tokens).first(20));
  EXPECT_EQ(sequence.computed(), 20u);
  EXPECT_TRUE(sequence.pending().empty());
  sequence.ForgetLast();
  EXPECT_EQ(sequence.pending().size(), 1u);
  sequence.SetHistory({});
  EXPECT_EQ(sequence.length(), 0u);
  sequence.ForgetLast();
  EXPECT_EQ(sequence.length(), 0u);
}

TEST(Sequence, AdoptsPagesOfOtherSequences) {
  const auto model = TinyModel::Get().Make();
  const auto tokens = model::RandomTokens(256, 300, 1);
  Sequence first(*model);
  first.SetHistory(tokens);
  const auto logits = Compute(first, 100);
  Sequence second(*model);
  second.SetHistory(tokens);
  // The last token must be computed, so a whole page is.
  EXPECT_EQ(second.computed(), 128u);
  EXPECT_EQ(Compute(second, 100), logits);
  first.Release();
  EXPECT_EQ(first.computed(), 0u);
  EXPECT_EQ(first.length(), 256u);
  first.Adopt();
  EXPECT_EQ(first.computed(), 128u);
}

// The case of a question that is asked again, after rows of the window were freed.
TEST(Sequence, RewindingBeforeAWindowContinuesFromAPageBoundary) {
  const model::MemoryOptions memory{.window = 60, .sinks = 4};
  const auto model = TinyModel::Get().Make(uint64_t{1} << 26, memory);
  const auto tokens = model::RandomTokens(700, 300, 1);
  Sequence sequence(*model);
  sequence.SetHistory(tokens);
  Compute(sequence, 100);
  const uint64_t held_bytes = sequence.table().HeldBytes();
  sequence.SetHistory(std::span(tokens).first(500));
  EXPECT_EQ(sequence.computed(), 384u);
  EXPECT_EQ(Compute(sequence, 100), ComputeAfresh(std::span(tokens).first(500), memory));
  EXPECT_LE(sequence.table().HeldBytes(), held_bytes);
  // Another one with the same beginning.
  Sequence second(*model);
  auto other = tokens;
  other[300] ^= 1;
  second.SetHistory(other);
  EXPECT_EQ(second.computed(), 256u);
  EXPECT_EQ(Compute(second, 100), ComputeAfresh(other, memory));
}

TEST(Sequence, ForksAreIndependent) {
  const auto model = TinyModel::Get().Make();
  const auto tokens = model::RandomTokens(150, 300, 1);
  Sequence first(*model);
  first.SetHistory(tokens);
  Compute(first, 150);
  Sequence second = first.Fork();
  EXPECT_EQ(second.computed(), 150u);
  first.Append(1);
  second.Append(2);
  auto ended_1 = tokens;
  ended_1.push_back(1);
  auto ended_2 = tokens;
  ended_2.push_back(2);
  EXPECT_EQ(Compute(first, 1), ComputeAfresh(ended_1, {}));
  EXPECT_EQ(Compute(second, 1), ComputeAfresh(ended_2, {}));
}

// After any operations on sequences that share memory, their logits are those of their histories.
TEST(Sequence, RandomLivesGiveTheBitsOfTheirHistories) {
  for (uint64_t seed = 0; seed < (kSanitized ? 4 : 30); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto below = [&](size_t bound) { return static_cast<size_t>(random.NextBelow(bound)); };
    model::MemoryOptions memory;
    if (seed % 2 == 1) memory = {.window = 60 + static_cast<uint32_t>(below(100)), .sinks = 4};
    const auto model = TinyModel::Get().Make(uint64_t{1} << 26, memory);
    std::vector<Sequence> sequences;
    for (int i = 0; i < 3; ++i) sequences.emplace_back(*model);
    const size_t most = kSanitized ? 40 : 400;
    const auto common = model::RandomTokens(most, 300, seed);
    for (int step = 0; step < 40; ++step) {
      Sequence& sequence = sequences[below(3)];
      switch (below(6)) {
        case 0: {
          std::vector<int32_t> tokens(common.begin(),
                                      common.begin() + static_cast<std::ptrdiff_t>(below(most)));
          for (size_t i = below(20); i > 0; --i) tokens.push_back(static_cast<int32_t>(below(300)));
          sequence.SetHistory(tokens);
          break;
        }
        case 1:
          sequence.Append(static_cast<int32_t>(below(300)));
          break;
        case 2:
          sequence.Rewind(static_cast<uint32_t>(below(sequence.length() + 1)));
          break;
        case 3:
          sequences[below(3)] = sequence.Fork();
          break;
        case 4:
          sequence.Release();
          break;
        default: {
          if (sequence.length() == 0) break;
          const std::vector<int32_t> tokens = sequence.tokens();
          ASSERT_EQ(Compute(sequence, 1 + below(200)), ComputeAfresh(tokens, memory)) << step;
          ASSERT_EQ(sequence.tokens(), tokens);
          break;
        }
      }
      ASSERT_LE(sequence.computed(), sequence.length());
    }
  }
}

}  // namespace
}  // namespace aster::engine
