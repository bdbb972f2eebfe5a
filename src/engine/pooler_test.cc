// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/pooler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/answers_for_test.h"
#include "engine/scheduler.h"

namespace aster::engine {
namespace {

using model::Pooling;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr Pooling kPoolings[] = {Pooling::kLast, Pooling::kFirst, Pooling::kMean};

std::vector<float> PooledRows(Pooling pooling) {
  Pooler pooler(pooling);
  const float rows[][2] = {{1, 8}, {3, 2}, {5, 2}};
  // Pooling of the last token needs only the last row.
  if (pooling != Pooling::kLast) {
    pooler.Add(rows[0]);
    pooler.Add(rows[1]);
  }
  pooler.Add(rows[2]);
  return pooler.Finish();
}

TEST(Pooler, TakesTheRowsThatItIsNamedFor) {
  EXPECT_THAT(PooledRows(Pooling::kLast), ElementsAre(5, 2));
  EXPECT_THAT(PooledRows(Pooling::kFirst), ElementsAre(1, 8));
  EXPECT_THAT(PooledRows(Pooling::kMean), ElementsAre(3, 4));
}

TEST(Normalised, HasTheLengthOne) {
  const float vector[] = {3, -4, 12};
  EXPECT_THAT(Normalised(vector, 2).value(), ElementsAre(3.0F / 5, -4.0F / 5));
  EXPECT_THAT(Normalised(vector, 0).value(), ElementsAre(3.0F / 13, -4.0F / 13, 12.0F / 13));
  const float nothing[] = {0, 0, std::numeric_limits<float>::quiet_NaN()};
  EXPECT_THAT(Normalised(nothing, 2).error().message(), HasSubstr("damaged"));
  EXPECT_FALSE(Normalised(nothing, 3).ok());
}

class EmbedTest : public testing::Test {
 protected:
  std::vector<std::vector<float>> Embedded(Pooling pooling, SchedulerOptions options,
                                           uint64_t memory_bytes = uint64_t{1} << 28) {
    const auto model = tiny_.Make(memory_bytes);
    Scheduler scheduler(*model, &tiny_.tokenizer(), clock_, options);
    // The cache also has pages of other requests.
    static_cast<void>(Embed(scheduler, std::span(texts_).first(2), pooling).value());
    return Embed(scheduler, texts_, pooling).value();
  }

  TinyModel& tiny_ = TinyModel::Get();
  SystemClock clock_;
  const std::vector<std::vector<int32_t>> texts_ = {model::RandomTokens(300, 298, 1),
                                                    model::RandomTokens(129, 298, 2),
                                                    {7},
                                                    model::RandomTokens(40, 298, 1),
                                                    model::RandomTokens(200, 298, 3)};
};

TEST_F(EmbedTest, TheSameBitsHoweverTextsAreCut) {
  for (const Pooling pooling : kPoolings) {
    const auto expected = Embedded(pooling, {.batch_tokens = 512});
    EXPECT_EQ(expected[0].size(), tiny_.Make()->shape().embedding);
    EXPECT_EQ(Embedded(pooling, {.batch_tokens = 33}), expected);
    EXPECT_EQ(Embedded(pooling, {.batch_tokens = 200, .max_running = 1}), expected);
  }
}

// Younger texts lose their memory to older ones, compute their rows again, and report each once.
TEST_F(EmbedTest, TheSameBitsInLittleMemory) {
  const uint64_t page_bytes = uint64_t{2} * 2 * 128 * 64 * 2 * 2;
  for (const Pooling pooling : kPoolings) {
    EXPECT_EQ(Embedded(pooling, {.batch_tokens = 64}, 5 * page_bytes),
              Embedded(pooling, {.batch_tokens = 512}));
  }
}

TEST_F(EmbedTest, LogitsOfAPromptAreThoseOfAText) {
  const auto model = tiny_.Make();
  const size_t vocab_size = model->shape().vocab_size;
  Scheduler scheduler(*model, nullptr, clock_, {.batch_tokens = 77});
  std::vector<float> expected;
  ASSERT_TRUE(scheduler
                  .LogitsOf(texts_[0], 512,
                            [&](std::span<const float> row) {
                              expected.insert(expected.end(), row.begin(), row.end());
                              return Ok();
                            })
                  .ok());
  // The second time nothing comes from the KV cache: every row is reported.
  for (int time = 0; time < 2; ++time) {
    std::vector<float> told;
    Sequence sequence = scheduler.NewSequence();
    sequence.SetHistory(texts_[0]);
    ASSERT_TRUE(scheduler
                    .Submit({.sequence = &sequence,
                             .max_tokens = 0,
                             .rows = {.kind = PromptRows::Kind::kLogits,
                                      .on_row =
                                          [&](std::span<const float> row) {
                                            EXPECT_EQ(row.size(), vocab_size);
                                            told.insert(told.end(), row.begin(), row.end());
                                          }}})
                    .ok());
    while (!scheduler.idle()) ASSERT_TRUE(scheduler.Step().ok());
    EXPECT_EQ(told, expected);
  }
}

TEST_F(EmbedTest, RowsBehindAKnownBeginningAreComputedAlone) {
  const auto model = tiny_.Make();
  Scheduler scheduler(*model, nullptr, clock_, {.batch_tokens = 77});
  const std::vector<int32_t>& text = texts_[0];
  const auto length = static_cast<uint32_t>(text.size());
  std::vector<std::vector<float>> expected;
  ASSERT_TRUE(scheduler
                  .LogitsOf(text, 512,
                            [&](std::span<const float> row) {
                              expected.emplace_back(row.begin(), row.end());
                              return Ok();
                            })
                  .ok());
  // The sequence has computed the text, half of it, or nothing.
  for (const uint32_t known : {length, length / 2, 0u}) {
    for (const uint32_t first : {0u, 1u, length / 2, length - 1}) {
      Sequence sequence = scheduler.NewSequence();
      if (known > 0) {
        sequence.SetHistory(std::span(text).first(known));
        ASSERT_TRUE(scheduler.Submit({.sequence = &sequence, .max_tokens = 0}).ok());
        while (!scheduler.idle()) ASSERT_TRUE(scheduler.Step().ok());
      }
      sequence.SetHistory(text);
      std::vector<std::vector<float>> told;
      const uint64_t computed_before = scheduler.counters().prefill_tokens;
      ASSERT_TRUE(scheduler
                      .Submit({.sequence = &sequence,
                               .max_tokens = 0,
                               .rows = {.kind = PromptRows::Kind::kLogits,
                                        .on_row =
                                            [&](std::span<const float> row) {
                                              told.emplace_back(row.begin(), row.end());
                                            },
                                        .first = first}})
                      .ok());
      while (!scheduler.idle()) ASSERT_TRUE(scheduler.Step().ok());
      EXPECT_EQ(told, std::vector(expected.begin() + first, expected.end()));
      if (known == length) {
        EXPECT_EQ(scheduler.counters().prefill_tokens - computed_before, length - first);
      }
    }
  }
  Sequence sequence = scheduler.NewSequence();
  sequence.SetHistory(text);
  const auto refused = scheduler.Submit(
      {.sequence = &sequence,
       .max_tokens = 0,
       .rows = {.kind = PromptRows::Kind::kLogits, .on_row = [](auto) {}, .first = length}});
  EXPECT_THAT(refused.error().message(), HasSubstr("rows from"));
}

TEST_F(EmbedTest, RowsOfAPromptNeedARequestForNoTokens) {
  const auto model = tiny_.Make();
  Scheduler scheduler(*model, nullptr, clock_);
  Sequence sequence = scheduler.NewSequence();
  sequence.SetHistory(texts_[2]);
  const auto id = scheduler.Submit(
      {.sequence = &sequence, .max_tokens = 1, .rows = {.kind = PromptRows::Kind::kLastState}});
  EXPECT_THAT(id.error().message(), HasSubstr("ask for 0"));
  EXPECT_THAT(Embed(scheduler, std::vector<std::vector<int32_t>>{{1}, {-1}}, Pooling::kLast)
                  .error()
                  .message(),
              HasSubstr("text 2"));
}

}  // namespace
}  // namespace aster::engine
