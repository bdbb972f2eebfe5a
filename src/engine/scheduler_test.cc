// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/utf8.h"
#include "engine/answers_for_test.h"

namespace aster::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint64_t kPageBytes = 2 * 2 * 128 * 64 * 2 * 2;  // layers, heads, rows of keys and values
constexpr SamplingOptions kGreedy = {.temperature = 0};

std::vector<int32_t> Prompt(size_t count, uint64_t seed = 1) {
  return model::RandomTokens(count, 298, seed);
}

// Tokens of a text, one byte each: the vocabulary's first 256 are the bytes.
std::vector<int32_t> TokensOf(std::string_view text) {
  std::vector<int32_t> tokens;
  for (const char byte : text) tokens.push_back(static_cast<uint8_t>(byte));
  return tokens;
}

// Makes the model answer these tokens after a prompt of `prompt_length` tokens.
LogitsEditor ForceTokens(std::vector<int32_t> tokens, size_t prompt_length) {
  return [=](std::span<const int32_t> history, std::span<float> logits) {
    const size_t index = history.size() - prompt_length;
    if (index < tokens.size()) logits[static_cast<size_t>(tokens[index])] = 1e6F;
  };
}

class SchedulerTest : public testing::Test {
 protected:
  struct TestRequest {
    explicit TestRequest(LocalModel& model) : sequence(model) {}
    Sequence sequence;
    Request request;
    Listener listener;
    RequestId id = 0;
  };

  void Make(uint64_t memory_bytes = uint64_t{1} << 28, SchedulerOptions options = {}) {
    model_ = tiny_.Make(memory_bytes);
    scheduler_.emplace(*model_, &tiny_.tokenizer(), clock_, options);
  }

  // Prepares a greedy request, which is not submitted yet.
  TestRequest& Prepare(std::vector<int32_t> prompt, uint64_t max_tokens = 5) {
    TestRequest& asked = *asked_.emplace_back(std::make_unique<TestRequest>(*model_));
    asked.sequence.SetHistory(prompt);
    asked.request.sequence = &asked.sequence;
    asked.request.sampling = kGreedy;
    asked.request.max_tokens = max_tokens;
    asked.listener.Attach(asked.request);
    return asked;
  }
  void Submit(TestRequest& asked) {
    const auto id = scheduler_->Submit(asked.request);
    ASSERT_TRUE(id.ok()) << id.error().message();
    asked.id = *id;
  }
  TestRequest& Ask(std::vector<int32_t> prompt, uint64_t max_tokens = 5) {
    TestRequest& asked = Prepare(std::move(prompt), max_tokens);
    Submit(asked);
    return asked;
  }
  void RunToEnd() {
    for (int step = 0; !scheduler_->idle(); ++step) {
      ASSERT_LT(step, 5000);
      ASSERT_TRUE(scheduler_->Step().ok());
    }
  }
  Error Refusal(const TestRequest& asked) {
    auto id = scheduler_->Submit(asked.request);
    EXPECT_FALSE(id.ok());
    return id.ok() ? Error(Code::kUnknown, "") : std::move(id).error();
  }

  TinyModel& tiny_ = TinyModel::Get();
  VirtualClock clock_;
  std::unique_ptr<LocalModel> model_;
  std::vector<std::unique_ptr<TestRequest>> asked_;
  std::optional<Scheduler> scheduler_;
};

// A clock on which each computed token of a sequence takes as long as on a slow machine.
class SlowClock final : public VirtualClock {
 public:
  explicit SlowClock(const Sequence& sequence) : sequence_(sequence) {}
  int64_t NowNs() const override { return int64_t{sequence_.computed()} * 10 * kNsPerMs; }

 private:
  const Sequence& sequence_;
};

TEST_F(SchedulerTest, LongStepsBecomeShorterWithTheSameBits) {
  Make(uint64_t{1} << 28, {.batch_tokens = 256});
  const TestRequest& plain = Ask(Prompt(1000));
  RunToEnd();
  const uint64_t long_steps = scheduler_->counters().steps;
  const std::vector<int32_t> tokens = plain.listener.answer().tokens;
  scheduler_.reset();
  asked_.clear();

  model_ = tiny_.Make(uint64_t{1} << 28);
  TestRequest& slow = Prepare(Prompt(1000));
  const SlowClock slow_clock(slow.sequence);
  scheduler_.emplace(*model_, &tiny_.tokenizer(), slow_clock,
                     SchedulerOptions{.batch_tokens = 256, .longest_step_ns = 750 * kNsPerMs});
  Submit(slow);
  RunToEnd();
  // Steps of 16 and 32 tokens, and then of 64.
  EXPECT_GE(scheduler_->counters().steps, long_steps + 8);
  EXPECT_EQ(slow.listener.answer().tokens, tokens);
  scheduler_.reset();
}

TEST_F(SchedulerTest, ALongPromptHoldsUpNoAnswer) {
  Make(uint64_t{1} << 28, {.batch_tokens = 128});
  TestRequest& answer = Ask(Prompt(10), 40);
  ASSERT_TRUE(scheduler_->Step().ok());
  TestRequest& first = Ask(Prompt(kSanitized ? 300 : 1500, 2), 3);
  TestRequest& second = Ask(Prompt(kSanitized ? 300 : 1500, 3), 3);
  TestRequest& small = Ask(Prompt(20, 4), 1);
  for (size_t step = 2; step <= 5; ++step) {
    ASSERT_TRUE(scheduler_->Step().ok());
    EXPECT_EQ(answer.listener.answer().tokens.size(), step);
  }
  // The long prompt does not delay a short one that comes later either.
  EXPECT_TRUE(small.listener.finished());
  EXPECT_FALSE(first.listener.finished());
  RunToEnd();
  EXPECT_EQ(scheduler_->counters().longest_wait_steps, 1u);
  for (const TestRequest* asked : {&first, &second}) {
    for (const uint64_t done : asked->listener.prefills()) {
      EXPECT_TRUE(done % 128 == 0 || done == asked->listener.finish().counts.prompt) << done;
    }
  }
}

TEST_F(SchedulerTest, LongPromptsTakeTurns) {
  Make(uint64_t{1} << 28, {.batch_tokens = 256});
  TestRequest& a = Ask(Prompt(700, 2));
  TestRequest& b = Ask(Prompt(700, 3));
  TestRequest& c = Ask(Prompt(700, 4));
  for (int step = 0; step < 3; ++step) ASSERT_TRUE(scheduler_->Step().ok());
  // Six pages of 128 for three requests.
  EXPECT_EQ(a.sequence.computed(), 256u);
  EXPECT_EQ(b.sequence.computed(), 256u);
  EXPECT_EQ(c.sequence.computed(), 256u);
}

TEST_F(SchedulerTest, AKnownBeginningIsNotComputedAgain) {
  Make();
  const auto prompt = Prompt(300);
  Ask(prompt);
  RunToEnd();
  const uint64_t computed = scheduler_->counters().prefill_tokens;
  TestRequest& again = Ask(prompt);
  RunToEnd();
  EXPECT_EQ(again.listener.finish().counts.cached, 256u);
  EXPECT_EQ(scheduler_->counters().prefill_tokens - computed, 300u - 256u);
  EXPECT_EQ(again.listener.prefills().front(), 256u);
  EXPECT_EQ(again.listener.answer(), asked_[0]->listener.answer());
}

TEST_F(SchedulerTest, AConversationReusesItsRows) {
  Make();
  TestRequest& asked = Ask(Prompt(50), 8);
  RunToEnd();
  std::vector<int32_t> history = asked.sequence.tokens();
  EXPECT_EQ(history.size(), 58u);
  EXPECT_EQ(asked.sequence.pending().size(), 1u);
  const auto more = Prompt(9, 5);
  history.insert(history.end(), more.begin(), more.end());
  asked.sequence.Append(more);
  Listener second;
  second.Attach(asked.request);
  Submit(asked);
  RunToEnd();
  EXPECT_EQ(second.answer(), AnswerAlone(asked.request, history));
  EXPECT_EQ(second.finish().counts.cached, 57u);
  // With the same text again nothing is pending, and there is still an answer.
  asked.sequence.Rewind(57);
  EXPECT_TRUE(asked.sequence.pending().empty());
  Listener third;
  third.Attach(asked.request);
  Submit(asked);
  RunToEnd();
  history.resize(57);
  EXPECT_EQ(third.answer(), AnswerAlone(asked.request, history));
}

TEST_F(SchedulerTest, APromptThatNeverFitsIsRefused) {
  Make(3 * kPageBytes);
  TestRequest& asked = Prepare(Prompt(400));
  const Error error = Refusal(asked);
  EXPECT_EQ(error.code(), Code::kResourceExhausted);
  EXPECT_THAT(error.message(), HasSubstr("384 tokens fit"));
  asked.sequence.SetHistory(Prompt(384));
  asked.request.max_tokens = 1;
  Submit(asked);
  RunToEnd();
  EXPECT_EQ(asked.listener.answer().tokens.size(), 1u);
}

TEST_F(SchedulerTest, ARequestThatDoesNotFitWaits) {
  Make(3 * kPageBytes);
  TestRequest& first = Ask(Prompt(250, 1), 3);
  TestRequest& second = Ask(Prompt(250, 2), 3);
  ASSERT_TRUE(scheduler_->Step().ok());
  EXPECT_EQ(scheduler_->running_count(), 1u);
  EXPECT_EQ(scheduler_->waiting_count(), 1u);
  while (!first.listener.finished()) ASSERT_TRUE(scheduler_->Step().ok());
  first.sequence.Release();
  RunToEnd();
  EXPECT_EQ(second.listener.answer(), AnswerAlone(second.request, Prompt(250, 2)));
}

TEST_F(SchedulerTest, TheYoungerRequestIsPreemptedForTheOlder) {
  // Both fit with a page to spare each, but not with their answers.
  Make(6 * kPageBytes);
  TestRequest& older = Ask(Prompt(120, 1), kSanitized ? 140 : 400);
  TestRequest& younger = Ask(Prompt(120, 2), kSanitized ? 140 : 400);
  while (!older.listener.finished()) ASSERT_TRUE(scheduler_->Step().ok());
  older.sequence.Release();
  RunToEnd();
  if (!kSanitized) {
    EXPECT_GE(scheduler_->counters().preempted, 1u);
    EXPECT_GT(younger.listener.finish().counts.replayed, 0u);
    EXPECT_EQ(older.listener.finish().counts.replayed, 0u);
  }
  EXPECT_EQ(older.listener.answer(), AnswerAlone(older.request, Prompt(120, 1)));
  EXPECT_EQ(younger.listener.answer(), AnswerAlone(younger.request, Prompt(120, 2)));
}

TEST_F(SchedulerTest, MemoryThatIsNeverFreedIsAnErrorAndNoWait) {
  Make(3 * kPageBytes);
  TestRequest& holder = Ask(Prompt(300, 1), 1);
  RunToEnd();
  EXPECT_EQ(holder.listener.finish().reason, FinishReason::kLength);
  TestRequest& asked = Ask(Prompt(200, 2), 1);
  RunToEnd();
  EXPECT_EQ(asked.listener.finish().reason, FinishReason::kFailed);
  EXPECT_EQ(asked.listener.finish().status.error().code(), Code::kResourceExhausted);
  EXPECT_THAT(asked.listener.finish().status.error().message(), HasSubstr("idle sequences"));
  holder.sequence.Release();
  TestRequest& again = Ask(Prompt(200, 2), 1);
  RunToEnd();
  EXPECT_EQ(again.listener.finish().reason, FinishReason::kLength);
}

TEST_F(SchedulerTest, SequencesKeptForLaterAreReleased) {
  Make(3 * kPageBytes);
  TestRequest& first = Ask(Prompt(100, 1), 1);
  TestRequest& second = Ask(Prompt(100, 2), 1);
  RunToEnd();
  std::vector<Sequence*> kept = {&first.sequence, &second.sequence};
  scheduler_->OnShortage([&kept] {
    if (kept.empty()) return false;
    kept.back()->Release();
    kept.pop_back();
    return true;
  });
  // One of them is enough for a prompt, the other one is needed as the answer grows.
  TestRequest& asked = Ask(Prompt(200, 3), 1);
  RunToEnd();
  EXPECT_EQ(asked.listener.finish().reason, FinishReason::kLength);
  EXPECT_EQ(kept.size(), 1u);
  asked.sequence.Release();
  TestRequest& longer = Ask(Prompt(120, 4), 150);
  RunToEnd();
  EXPECT_EQ(longer.listener.finish().reason, FinishReason::kLength);
  EXPECT_EQ(longer.listener.answer(), AnswerAlone(longer.request, Prompt(120, 4)));
  EXPECT_TRUE(kept.empty());
}

TEST_F(SchedulerTest, AnAnswerThatOutgrowsTheMemoryFailsWithWhatItHas) {
  Make(1 * kPageBytes);
  TestRequest& asked = Ask(Prompt(120), 100);
  RunToEnd();
  EXPECT_EQ(asked.listener.finish().reason, FinishReason::kFailed);
  EXPECT_EQ(asked.listener.finish().status.error().code(), Code::kResourceExhausted);
  EXPECT_EQ(asked.listener.answer().tokens.size(), 9u);
}

TEST_F(SchedulerTest, InvalidRequestsAreRefused) {
  Make();
  EXPECT_THAT(Refusal(Prepare({})).message(), HasSubstr("empty"));
  EXPECT_THAT(Refusal(Prepare({1, 300})).message(), HasSubstr("token 1 of the prompt is 300"));
  EXPECT_THAT(Refusal(Prepare({-1})).message(), HasSubstr("-1"));
  TestRequest& asked = Prepare(Prompt(20));
  asked.request.context_limit = 20;
  EXPECT_EQ(Refusal(asked).code(), Code::kOutOfRange);
  asked.request.context_limit = std::numeric_limits<uint32_t>::max();
  EXPECT_EQ(Refusal(asked).code(), Code::kInvalidArgument);
  asked.request.context_limit = 0;
  asked.request.sampling.top_p = 2;
  EXPECT_THAT(Refusal(asked).message(), HasSubstr("top_p"));
  asked.request.sampling = kGreedy;
  asked.request.stop_strings = {""};
  EXPECT_THAT(Refusal(asked).message(), HasSubstr("stop string 1"));
  asked.request.stop_strings = {"x"};
  Scheduler no_text(*model_, nullptr, clock_);
  EXPECT_THAT(no_text.Submit(asked.request).error().message(), HasSubstr("vocabulary"));
  const auto other = tiny_.Make();
  Sequence foreign(*other);
  foreign.SetHistory(Prompt(5));
  asked.request.sequence = &foreign;
  EXPECT_THAT(Refusal(asked).message(), HasSubstr("another model"));
  asked.request.sequence = &asked.sequence;
  Submit(asked);
  EXPECT_EQ(Refusal(asked).code(), Code::kFailedPrecondition);
  EXPECT_EQ(scheduler_->counters().submitted, 1u);
}

TEST_F(SchedulerTest, APieceOfAModelAnswersNothing) {
  LocalModelOptions options;
  options.slice = model::Slice{.layer_begin = 0, .layer_end = 1, .embedding = true, .head = false};
  const auto piece = LocalModel::Load(tiny_.files(), options).value();
  Scheduler scheduler(*piece, nullptr, clock_);
  Sequence sequence(*piece);
  sequence.Append(1);
  Request request;
  request.sequence = &sequence;
  EXPECT_EQ(scheduler.Submit(request).error().code(), Code::kFailedPrecondition);
}

TEST_F(SchedulerTest, TheContextEndsAnAnswer) {
  Make();
  TestRequest& asked = Prepare(Prompt(20), kNoTokenLimit);
  asked.request.context_limit = 26;
  Submit(asked);
  RunToEnd();
  EXPECT_EQ(asked.listener.finish().reason, FinishReason::kContext);
  EXPECT_EQ(asked.sequence.length(), 26u);
}

TEST_F(SchedulerTest, NoTokensAtAllOnlyComputeThePrompt) {
  Make();
  TestRequest& asked = Ask(Prompt(200), 0);
  RunToEnd();
  EXPECT_EQ(asked.listener.finish().reason, FinishReason::kLength);
  EXPECT_EQ(asked.listener.finish().counts.generated, 0u);
  EXPECT_TRUE(asked.sequence.pending().empty());
}

TEST_F(SchedulerTest, BrokenLogitsFailOneRequestAlone) {
  Make();
  TestRequest& sound = Ask(Prompt(30, 1), 6);
  TestRequest& broken = Prepare(Prompt(30, 2), 6);
  broken.request.edit_logits = [](std::span<const int32_t> history, std::span<float> logits) {
    if (history.size() == 32) logits[5] = std::numeric_limits<float>::quiet_NaN();
  };
  Submit(broken);
  RunToEnd();
  EXPECT_EQ(broken.listener.finish().reason, FinishReason::kFailed);
  EXPECT_EQ(broken.listener.finish().status.error().code(), Code::kDataLoss);
  EXPECT_EQ(broken.listener.answer().tokens.size(), 2u);
  EXPECT_EQ(sound.listener.answer(), AnswerAlone(sound.request, Prompt(30, 1)));
}

TEST_F(SchedulerTest, CancelledRequestsEndBeforeTheNextStep) {
  Make(uint64_t{1} << 28, {.batch_tokens = 512, .max_running = 1});
  TestRequest& running = Ask(Prompt(30, 1), 100);
  TestRequest& waiting = Ask(Prompt(30, 2), 100);
  TestRequest& last = Ask(Prompt(30, 3), 2);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(scheduler_->Step().ok());
  EXPECT_EQ(scheduler_->waiting_count(), 2u);
  scheduler_->Cancel(running.id);
  scheduler_->Cancel(waiting.id);
  scheduler_->Cancel(12345);
  ASSERT_TRUE(scheduler_->Step().ok());
  for (const TestRequest* asked : {&running, &waiting}) {
    ASSERT_TRUE(asked->listener.finished());
    EXPECT_EQ(asked->listener.finish().reason, FinishReason::kCancelled);
  }
  EXPECT_EQ(running.listener.answer().tokens.size(), 3u);
  RunToEnd();
  EXPECT_EQ(last.listener.answer(), AnswerAlone(last.request, Prompt(30, 3)));
}

TEST_F(SchedulerTest, CallbacksMaySubmitAndCancelButNotStep) {
  Make();
  TestRequest& chatty = Prepare(Prompt(30, 1), 20);
  TestRequest& late = Prepare(Prompt(30, 2), 3);
  TestRequest& victim = Prepare(Prompt(30, 3), 50);
  const auto on_token = chatty.request.on_token;
  chatty.request.on_token = [&, count = 0](const Delta& delta) mutable {
    on_token(delta);
    EXPECT_FALSE(scheduler_->Step().ok());
    ++count;
    if (count == 2) Submit(late);
    if (count == 4) scheduler_->Cancel(victim.id);
    if (count == 6) scheduler_->Cancel(chatty.id);
  };
  Submit(chatty);
  Submit(victim);
  RunToEnd();
  EXPECT_EQ(chatty.listener.finish().reason, FinishReason::kCancelled);
  EXPECT_EQ(chatty.listener.answer().tokens.size(), 6u);
  EXPECT_EQ(victim.listener.finish().reason, FinishReason::kCancelled);
  // The request was cancelled by an older one's callback, so it gets no token in that step.
  EXPECT_EQ(victim.listener.answer().tokens.size(), 3u);
  EXPECT_EQ(late.listener.answer(), AnswerAlone(late.request, Prompt(30, 2)));
}

TEST_F(SchedulerTest, TheEndOfOneMayBeTheBeginningOfTheNext) {
  Make();
  TestRequest& asked = Prepare(Prompt(30), 2);
  int rounds = 0;
  asked.request.on_finish = [&](const Finish& finish) {
    EXPECT_EQ(finish.reason, FinishReason::kLength);
    if (++rounds < 3) Submit(asked);
  };
  Submit(asked);
  RunToEnd();
  EXPECT_EQ(rounds, 3);
  EXPECT_EQ(asked.sequence.length(), 36u);
}

TEST_F(SchedulerTest, StopStringsMaySpanTokens) {
  Make();
  TestRequest& asked = Prepare(Prompt(10), 100);
  asked.request.edit_logits = ForceTokens(TokensOf("Hi <|x <|user|> rest"), 10);
  asked.request.stop_strings = {"<|user|>", "nothing"};
  std::vector<std::string> texts;
  asked.request.on_token = [&](const Delta& delta) { texts.emplace_back(delta.text); };
  Submit(asked);
  RunToEnd();
  std::string shown;
  for (const std::string& text : texts) shown += text;
  EXPECT_EQ(shown, "Hi <|x ");
  EXPECT_EQ(texts[3], "");
  EXPECT_EQ(texts[5], "<|x");
  EXPECT_EQ(asked.listener.finish().reason, FinishReason::kStopString);
  EXPECT_EQ(asked.listener.finish().stop_string, "<|user|>");
  EXPECT_EQ(asked.listener.finish().text, "");
  EXPECT_EQ(texts.size(), 15u);
}

TEST_F(SchedulerTest, TextIsNeverHalfACharacter) {
  Make();
  const std::string text = "né🦙e";
  TestRequest& asked = Prepare(Prompt(10), text.size());
  asked.request.edit_logits = ForceTokens(TokensOf(text), 10);
  asked.request.stop_strings = {"🦙!"};
  std::vector<std::string> texts;
  asked.request.on_token = [&](const Delta& delta) { texts.emplace_back(delta.text); };
  Submit(asked);
  RunToEnd();
  EXPECT_THAT(texts, ElementsAre("n", "", "é", "", "", "", "", "🦙e"));
  // Characters that might begin a stop string come at the end; incomplete ones stay so.
  asked.sequence.SetHistory(Prompt(10));
  asked.request.max_tokens = 8;
  asked.request.edit_logits = ForceTokens(TokensOf("123🦙\xF0"), 10);
  Listener listener;
  listener.Attach(asked.request);
  Submit(asked);
  RunToEnd();
  EXPECT_EQ(listener.answer().text, "123🦙\xF0");
  EXPECT_EQ(listener.finish().text, "🦙\xF0");
}

TEST_F(SchedulerTest, AStopTokenEndsTheTextAndStaysInTheHistory) {
  Make();
  const int32_t end = tiny_.tokenizer().vocab().special.eos;
  ASSERT_GE(end, 256);
  std::vector<int32_t> says = TokensOf("ok<");
  says.push_back(end);
  TestRequest& asked = Prepare(Prompt(10), 100);
  asked.request.edit_logits = ForceTokens(says, 10);
  asked.request.stop_tokens = {7, end};
  asked.request.stop_strings = {"<<"};
  asked.request.show_control = true;
  Submit(asked);
  RunToEnd();
  EXPECT_EQ(asked.listener.finish().reason, FinishReason::kStopToken);
  EXPECT_EQ(asked.listener.finish().stop_token, end);
  EXPECT_EQ(asked.listener.finish().text, "<");
  EXPECT_EQ(asked.listener.answer().text, "ok<");
  EXPECT_EQ(asked.sequence.tokens().back(), end);
  EXPECT_EQ(asked.listener.finish().counts.generated, 4u);
}

TEST_F(SchedulerTest, TimesComeFromTheClock) {
  Make(uint64_t{1} << 28, {.batch_tokens = 128, .max_running = 1});
  TestRequest& first = Prepare(Prompt(250), 4);
  first.request.on_prefill = [this](uint64_t, uint64_t) { clock_.AdvanceBy(100); };
  first.request.on_token = [this](const Delta&) { clock_.AdvanceBy(7); };
  TestRequest& second = Prepare(Prompt(5), 1);
  Submit(first);
  Submit(second);
  RunToEnd();
  const RequestTimes& times = first.listener.finish().times;
  EXPECT_EQ(times.waited_ns, 0);
  EXPECT_EQ(times.prefill_ns, 300);  // at its beginning, after 128 and after 250 tokens
  EXPECT_EQ(times.decode_ns, 21);
  EXPECT_EQ(second.listener.finish().times.waited_ns, 300 + 4 * 7);
  EXPECT_EQ(scheduler_->counters().longest_wait_ns, 7);
}

}  // namespace
}  // namespace aster::engine
