// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Draft tokens: where answers end, and what is refused. scheduler_property_test.cc shows that
// answers are the same.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/answers_for_test.h"
#include "engine/scheduler.h"

namespace aster::engine {
namespace {

using testing::HasSubstr;

class SchedulerDrafts : public testing::Test {
 protected:
  // A request whose drafts are all accepted.
  Request RequestWithKnownAnswer(uint64_t max_tokens) {
    Request request;
    request.sampling.temperature = 0;
    request.max_tokens = max_tokens;
    expected_ = AnswerAlone(request, prompt_);
    sequence_.SetHistory(prompt_);
    std::vector<int32_t> text = prompt_;
    text.insert(text.end(), expected_.tokens.begin(), expected_.tokens.end());
    source_.Expect(sequence_, std::move(text));
    request.sequence = &sequence_;
    request.draft = {.kind = DraftKind::kMtp, .most = 8};
    return request;
  }
  void Run() {
    while (!scheduler_.idle()) ASSERT_TRUE(scheduler_.Step().ok());
  }

  const TinyModel& tiny_ = TinyModel::Get();
  const std::unique_ptr<LocalModel> model_ = tiny_.Make();
  const VirtualClock clock_;
  const std::vector<int32_t> prompt_ = model::RandomTokens(40, 298, 1);
  HostileSource source_{1};
  Sequence sequence_{*model_};
  Scheduler scheduler_{*model_, &tiny_.tokenizer(), clock_, {.proposers = &source_}};
  Answer expected_;
};

TEST_F(SchedulerDrafts, AcceptedDraftsSaveSteps) {
  Listener listener;
  Request request = RequestWithKnownAnswer(40);
  listener.Attach(request);
  ASSERT_TRUE(scheduler_.Submit(std::move(request)).ok());
  Run();
  EXPECT_EQ(listener.answer(), expected_);
  const DraftCounts& drafts = listener.finish().counts.drafts;
  EXPECT_EQ(drafts.accepted, drafts.drafted);
  EXPECT_EQ(drafts.steps + drafts.accepted + 1, 40u);
  EXPECT_LT(drafts.steps, 15u);
  EXPECT_EQ(scheduler_.counters().drafts, drafts);
}

TEST_F(SchedulerDrafts, ACallbackThatCancelsEndsItAmongDrafts) {
  Request request = RequestWithKnownAnswer(40);
  RequestId id = 0;
  size_t told = 0;
  request.on_token = [&](const Delta&) {
    if (++told == 6) scheduler_.Cancel(id);
  };
  FinishReason reason = FinishReason::kFailed;
  request.on_finish = [&](const Finish& finish) { reason = finish.reason; };
  id = scheduler_.Submit(std::move(request)).value();
  Run();
  EXPECT_EQ(reason, FinishReason::kCancelled);
  EXPECT_EQ(told, 6u);
  EXPECT_EQ(sequence_.length(), 46u);
  EXPECT_EQ(sequence_.computed(), 45u);
}

TEST_F(SchedulerDrafts, UnavailableDraftersAreRefused) {
  Request request = RequestWithKnownAnswer(4);
  for (const uint32_t most : {0u, kMostDrafts + 1}) {
    request.draft.most = most;
    EXPECT_THAT(scheduler_.Submit(request).error().message(), HasSubstr("draft tokens in a step"));
  }
  request.draft.most = 1;
  Scheduler alone(*model_, nullptr, clock_);
  EXPECT_THAT(alone.Submit(request).error().message(), HasSubstr("no drafter is available"));
}

// Two requests have a page each, the third page is free: the younger one's next token needs it, and
// so would the older one's drafts.
TEST_F(SchedulerDrafts, NoRequestIsPreemptedForDraftsOfAnOlderOne) {
  constexpr uint64_t kPageBytes = 2 * 2 * 128 * 64 * 2 * 2;
  const auto model = tiny_.Make(3 * kPageBytes);
  Scheduler scheduler(*model, &tiny_.tokenizer(), clock_, {.proposers = &source_});
  Sequence older(*model), younger(*model);
  const std::vector<int32_t> prompts[] = {model::RandomTokens(125, 298, 1),
                                          model::RandomTokens(128, 298, 2)};
  Listener listeners[2];
  Sequence* const sequences[] = {&older, &younger};
  for (size_t i = 0; i < 2; ++i) {
    sequences[i]->SetHistory(prompts[i]);
    Request request;
    request.sampling.temperature = 0;
    request.max_tokens = 12;
    request.sequence = sequences[i];
    if (i == 0) request.draft = {.kind = DraftKind::kMtp, .most = 8};
    listeners[i].Attach(request);
    ASSERT_TRUE(scheduler.Submit(std::move(request)).ok());
  }
  // Both prompts are computed, and both requests choose their second token.
  for (int step = 0; step < 2; ++step) ASSERT_TRUE(scheduler.Step().ok());
  EXPECT_EQ(younger.length(), 130u);
  EXPECT_EQ(scheduler.counters().preempted, 0u);
}

// The next tokens of all answers fill a step: drafts would slow others down.
TEST_F(SchedulerDrafts, AFullStepHasNoDrafts) {
  const Request request = RequestWithKnownAnswer(20);
  for (const size_t answers : {size_t{3}, size_t{kCheapRows}, size_t{kCheapRows} + 3}) {
    Scheduler scheduler(*model_, &tiny_.tokenizer(), clock_, {.proposers = &source_});
    std::vector<Sequence> sequences;
    for (size_t i = 0; i < answers; ++i) sequences.emplace_back(*model_);
    std::vector<Listener> listeners(answers);
    for (size_t i = 0; i < answers; ++i) {
      Request asked = request;
      sequences[i].SetHistory(prompt_);
      asked.sequence = &sequences[i];
      std::vector<int32_t> text = prompt_;
      text.insert(text.end(), expected_.tokens.begin(), expected_.tokens.end());
      source_.Expect(sequences[i], std::move(text));
      listeners[i].Attach(asked);
      ASSERT_TRUE(scheduler.Submit(std::move(asked)).ok());
    }
    while (!scheduler.idle()) ASSERT_TRUE(scheduler.Step().ok());
    for (const Listener& listener : listeners) EXPECT_EQ(listener.answer(), expected_);
    const DraftCounts& drafts = scheduler.counters().drafts;
    EXPECT_EQ(drafts.drafted > 0, answers < kCheapRows) << answers;
  }
}

}  // namespace
}  // namespace aster::engine
