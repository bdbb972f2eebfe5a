// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "eval/prompt_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/random.h"
#include "base/sanitized.h"
#include "engine/answers_for_test.h"
#include "engine/scheduler.h"
#include "kernels/isa_choice.h"

namespace aster::eval {
namespace {

using engine::FinishReason;
using engine::TinyModel;

class PromptRunnerTest : public testing::Test {
 protected:
  PromptRunnerTest() {
    Random random(3);
    for (size_t i = 0; i < 11; ++i) {
      prompts_.push_back(
          respond::RawPrompt(model::RandomTokens(1 + random.NextBelow(kSanitized ? 20 : 200),
                                                 TinyModel::Get().vocab_size(), i),
                             /*form=*/nullptr));
    }
    // Two prompts have the same beginning and share KV rows.
    prompts_[4] = prompts_[3];
    prompts_[4].tokens.push_back(7);
    options_.model.tokenizer = &TinyModel::Get().tokenizer();
    options_.settings.max_tokens = kSanitized ? 3 : 12;
    // Some replies must end before others.
    options_.settings.stops = {"e", "t", "\n"};
  }

  std::map<size_t, std::string> Ask(engine::LocalModel& model, uint32_t parallel) {
    std::map<size_t, std::string> replies;
    options_.parallel = parallel;
    options_.on_reply = [&](size_t index, const Reply& reply) {
      EXPECT_EQ(reply.counts.prompt, prompts_[index].tokens.size());
      EXPECT_TRUE(replies.emplace(index, reply.text).second);
      return Ok();
    };
    engine::Scheduler scheduler(model, &TinyModel::Get().tokenizer(), clock_);
    const Status asked = RunPrompts(scheduler, prompts_, options_);
    EXPECT_TRUE(asked.ok()) << asked.error().message();
    return replies;
  }

  engine::Request AloneRequest() const {
    engine::Request request;
    request.max_tokens = options_.settings.max_tokens;
    request.stop_strings = options_.settings.stops;
    request.stop_tokens = TinyModel::Get().tokenizer().vocab().end_of_generation;
    return request;
  }

  SystemClock clock_;
  std::vector<respond::Prompt> prompts_;
  PromptRunOptions options_;
};

TEST_F(PromptRunnerTest, RepliesDoNotDependOnHowManyAreAskedAtOnce) {
  std::map<size_t, std::string> expected;
  for (size_t i = 0; i < prompts_.size(); ++i) {
    expected[i] = engine::AnswerAlone(AloneRequest(), prompts_[i].tokens).text;
  }
  for (const uint32_t parallel : {1, 3, 8, 40}) {
    const auto model = TinyModel::Get().Make();
    EXPECT_EQ(Ask(*model, parallel), expected) << parallel;
  }
}

TEST_F(PromptRunnerTest, RepliesDoNotDependOnMemory) {
  const auto ample = TinyModel::Get().Make();
  const auto expected = Ask(*ample, 8);
  // Room for one prompt with its reply, and a little more.
  const auto scarce = TinyModel::Get().Make(uint64_t{3} << 19);
  EXPECT_EQ(Ask(*scarce, 8), expected);
}

TEST_F(PromptRunnerTest, SampledRepliesDependOnTheSeed) {
  options_.settings.sampling.seed = 11;
  const auto model = TinyModel::Get().Make();
  const auto expected = Ask(*model, 1);
  const auto other = TinyModel::Get().Make();
  EXPECT_EQ(Ask(*other, 5), expected);
  options_.settings.sampling.seed = 12;
  EXPECT_NE(Ask(*other, 5), expected);
}

TEST_F(PromptRunnerTest, StopsWhenItIsCancelled) {
  const auto model = TinyModel::Get().Make();
  engine::Scheduler scheduler(*model, &TinyModel::Get().tokenizer(), clock_);
  size_t replies = 0;
  options_.parallel = 3;
  options_.on_reply = [&](size_t, const Reply& reply) {
    EXPECT_NE(reply.reason, FinishReason::kCancelled);
    ++replies;
    return Ok();
  };
  options_.is_cancelled = [&] { return replies > 1; };
  ASSERT_TRUE(RunPrompts(scheduler, prompts_, options_).ok());
  EXPECT_GE(replies, 2U);
  EXPECT_LT(replies, prompts_.size());
}

TEST_F(PromptRunnerTest, AnErrorOfTheListenerEndsIt) {
  const auto model = TinyModel::Get().Make();
  engine::Scheduler scheduler(*model, &TinyModel::Get().tokenizer(), clock_);
  options_.on_reply = [&](size_t, const Reply&) { return ResourceExhausted("disk is full"); };
  EXPECT_EQ(RunPrompts(scheduler, prompts_, options_).error().code(), Code::kResourceExhausted);
}

TEST_F(PromptRunnerTest, APromptThatCannotBeAnsweredIsNamed) {
  const auto model = TinyModel::Get().Make();
  engine::Scheduler scheduler(*model, &TinyModel::Get().tokenizer(), clock_);
  prompts_[2].tokens.clear();
  options_.on_reply = [&](size_t, const Reply&) { return Ok(); };
  const Status asked = RunPrompts(scheduler, prompts_, options_);
  EXPECT_THAT(asked.error().message(), testing::HasSubstr("prompt 2"));
}

}  // namespace
}  // namespace aster::eval
