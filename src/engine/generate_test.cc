// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/answers_for_test.h"

namespace aster::engine {
namespace {

class GenerateTest : public testing::Test {
 protected:
  GenerateTest() : sequence_(*model_) {
    sequence_.SetHistory(prompt_);
    request_.sequence = &sequence_;
    request_.max_tokens = 12;
    request_.sampling.seed = 5;
  }

  const std::vector<int32_t> prompt_ = model::RandomTokens(40, 298, 3);
  const std::unique_ptr<LocalModel> model_ = TinyModel::Get().Make();
  const SystemClock clock_;
  Sequence sequence_;
  Request request_;
};

TEST_F(GenerateTest, RunsOneRequestToItsEnd) {
  uint64_t told = 0;
  bool finished = false;
  request_.on_token = [&](const Delta&) { ++told; };
  request_.on_finish = [&](const Finish&) { finished = true; };
  const auto generated = Generate(*model_, &TinyModel::Get().tokenizer(), clock_, request_);
  ASSERT_TRUE(generated.ok());
  const Answer expected = AnswerAlone(request_, prompt_);
  EXPECT_EQ(generated->tokens, expected.tokens);
  EXPECT_EQ(generated->text, expected.text);
  EXPECT_EQ(generated->finish.reason, FinishReason::kLength);
  EXPECT_EQ(told, 12u);
  EXPECT_TRUE(finished);
}

TEST_F(GenerateTest, WithoutAVocabularyThereAreTokens) {
  const auto generated = Generate(*model_, nullptr, clock_, request_);
  ASSERT_TRUE(generated.ok());
  EXPECT_EQ(generated->tokens, AnswerAlone(request_, prompt_).tokens);
  EXPECT_EQ(generated->text, "");
}

TEST_F(GenerateTest, IsCancelledBetweenSteps) {
  int questions = 0;
  const auto generated =
      Generate(*model_, nullptr, clock_, request_, [&] { return ++questions > 5; });
  ASSERT_TRUE(generated.ok());
  EXPECT_EQ(generated->finish.reason, FinishReason::kCancelled);
  EXPECT_EQ(generated->tokens.size(), 5u);
  EXPECT_EQ(sequence_.length(), prompt_.size() + 5);
}

TEST_F(GenerateTest, FailuresAreErrors) {
  request_.sampling.top_p = -1;
  EXPECT_EQ(Generate(*model_, nullptr, clock_, request_).error().code(), Code::kInvalidArgument);
  request_.sampling = {};
  request_.edit_logits = [](auto, std::span<float> logits) {
    std::ranges::fill(logits, -std::numeric_limits<float>::infinity());
  };
  EXPECT_EQ(Generate(*model_, nullptr, clock_, request_).error().code(), Code::kFailedPrecondition);
}

}  // namespace
}  // namespace aster::engine
