// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/answer_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace aster::serve {
namespace {

// Holds as many tokens as the test says.
class LengthOnlyMemory final : public engine::SequenceMemory {
 public:
  explicit LengthOnlyMemory(const uint32_t& length) : length_(length) {}
  uint32_t length() const override { return length_; }
  void Truncate(uint32_t /*length*/) override {}
  void Adopt(std::span<const int32_t> /*tokens*/) override {}
  std::unique_ptr<engine::SequenceMemory> Fork() const override {
    return std::make_unique<LengthOnlyMemory>(length_);
  }

 private:
  const uint32_t& length_;
};

// Finishes a request only by cancelling it, unless `finishes` is set; each step takes a second.
class Slow final : public engine::Generator {
 public:
  Slow(VirtualClock& clock, int steps) : clock_(clock), steps_left_(steps) {}

  const model::Shape& shape() const override { return shape_; }
  engine::Sequence NewSequence() override {
    ++sequences_made;
    return engine::Sequence(std::make_unique<LengthOnlyMemory>(held));
  }
  Result<engine::RequestId> Submit(engine::Request request) override {
    if (refusal) return *refusal;
    asked.push_back({request.sequence->tokens().front(), request.max_tokens});
    running_.emplace_back(++last_, std::move(request));
    return last_;
  }
  void Cancel(engine::RequestId id) override { cancelled_.push_back(id); }
  void OnShortage(std::function<bool()> release) override { release_unused = std::move(release); }
  bool idle() const override { return running_.empty(); }
  Status Step() override {
    ++stepped;
    clock_.AdvanceBy(kNsPerSecond);
    if (failure) return *std::exchange(failure, std::nullopt);
    for (const engine::RequestId id : std::exchange(cancelled_, {})) {
      const auto found = std::ranges::find(running_, id, &Running::first);
      if (found == running_.end()) continue;
      const engine::Request request = std::move(found->second);
      running_.erase(found);
      request.on_finish({.id = id, .reason = engine::FinishReason::kCancelled});
    }
    if (finishes) {
      for (const auto& [id, request] : std::exchange(running_, {}))
        request.on_finish({.id = id, .reason = engine::FinishReason::kLength});
    }
    if (--steps_left_ == 0) end();
    return Ok();
  }
  Status LogitsOf(std::span<const int32_t> /*tokens*/, size_t /*chunk*/,
                  engine::LogitsSink /*sink*/) override {
    return Ok();
  }
  Status ExportRows(engine::Sequence& /*sequence*/, uint32_t /*begin*/, uint32_t /*end*/,
                    kv::KvChunkSink /*sink*/) override {
    return Ok();
  }
  Status ImportRows(engine::Sequence& /*sequence*/, Bytes /*KV chunk*/) override { return Ok(); }

  uint32_t held = 0;  // tokens in each sequence
  int sequences_made = 0;
  std::function<bool()> release_unused;
  std::function<void()> end;     // called in the last step
  std::optional<Error> refusal;  // for every request
  std::optional<Error> failure;  // of the next step
  int stepped = 0;
  bool finishes = false;                            // every request in the next step
  std::vector<std::pair<int32_t, uint64_t>> asked;  // first tokens of prompts, and max_tokens

 private:
  using Running = std::pair<engine::RequestId, engine::Request>;

  VirtualClock& clock_;
  int steps_left_;
  const model::Shape shape_ = {};
  engine::RequestId last_ = 0;
  std::vector<Running> running_;
  std::vector<engine::RequestId> cancelled_;
};

class AnswerLoopTest : public testing::Test {
 protected:
  // Requests with numbers; their results are in `ends_`.
  std::vector<std::unique_ptr<Job>> Jobs(size_t count, int64_t deadline_ns = kNeverNs) {
    std::vector<std::unique_ptr<Job>> jobs;
    for (size_t i = 0; i < count; ++i) {
      auto job = std::make_unique<Job>();
      job->prompt = {1};
      job->deadline_ns = deadline_ns;
      job->is_gone = [] { return false; };
      const size_t number = made_++;
      job->on_refused = [this, number](const Error& error) { ends_[number] = error.code(); };
      job->request.on_finish = [this, number](const engine::Finish& finish) {
        EXPECT_EQ(finish.reason, engine::FinishReason::kCancelled);
        ends_[number] = Code::kCancelled;
      };
      jobs.push_back(std::move(job));
    }
    return jobs;
  }

  VirtualClock clock_;
  std::map<size_t, Code> ends_;
  size_t made_ = 0;
};

// Each conversation is computed where the model is now, without new tokens, and is kept as before.
TEST_F(AnswerLoopTest, KeptConversationsMove) {
  Slow generator(clock_, 100);
  generator.finishes = true;
  generator.held = 3;
  AnswerLoop loop(generator, clock_, {.max_queued = 8, .max_running = 2});
  std::thread running([&] { loop.Run(); });
  const auto ask = [&](int32_t token, size_t length) {
    std::promise<void> answered;
    auto jobs = Jobs(1);
    jobs[0]->prompt.assign(length, token);
    jobs[0]->request.max_tokens = 5;
    jobs[0]->request.on_finish = [&](const engine::Finish&) { answered.set_value(); };
    EXPECT_TRUE(loop.Submit(std::move(jobs)).ok());
    answered.get_future().wait();
  };
  ask(1, 3);
  ask(2, 3);
  EXPECT_TRUE(loop.CallBetweenSteps([&] {
                    loop.MoveConversations();
                    return Ok();
                  })
                  .ok());
  EXPECT_EQ(generator.sequences_made, 2);
  ask(1, 4);  // continues the first
  EXPECT_EQ(generator.sequences_made, 2);
  loop.Stop(0);
  running.join();
  using testing::Pair;
  EXPECT_THAT(generator.asked,
              testing::ElementsAre(Pair(1, 5), Pair(2, 5), Pair(1, 0), Pair(2, 0), Pair(1, 5)));
}

// The first one runs for ever; the deadline of those after it still holds.
TEST_F(AnswerLoopTest, ARequestThatWaitsTooLongFails) {
  Slow generator(clock_, 10);
  AnswerLoop loop(generator, clock_, {.max_queued = 8, .max_running = 1});
  generator.end = [&] {
    EXPECT_THAT(ends_, testing::ElementsAre(testing::Pair(1, Code::kDeadlineExceeded),
                                            testing::Pair(2, Code::kDeadlineExceeded)));
    EXPECT_EQ(loop.state().queued, 1U);
    loop.Stop(0);
  };
  ASSERT_TRUE(loop.Submit(Jobs(1)).ok());
  ASSERT_TRUE(loop.Submit(Jobs(2, clock_.NowNs() + 3 * kNsPerSecond)).ok());
  ASSERT_TRUE(loop.Submit(Jobs(1)).ok());
  loop.Run();
  EXPECT_EQ(ends_[3], Code::kUnavailable);
  EXPECT_EQ(ends_.size(), 4U);
}

// A client must not retry a text that does not fit into the whole KV cache.
TEST_F(AnswerLoopTest, WhatNeverFitsIsNoMatterOfTime) {
  Slow generator(clock_, 1);
  generator.refusal = ResourceExhausted("3 tokens fit");
  AnswerLoop loop(generator, clock_, {});
  auto jobs = Jobs(1);
  jobs.front()->on_refused = [&](const Error& error) {
    EXPECT_EQ(error.message(), "3 tokens fit");
    ends_[0] = error.code();
    loop.Stop(0);
  };
  ASSERT_TRUE(loop.Submit(std::move(jobs)).ok());
  loop.Run();
  EXPECT_EQ(ends_[0], Code::kOutOfRange);
}

TEST_F(AnswerLoopTest, FreeRunningSlotsCountBesideTheQueue) {
  Slow generator(clock_, 2);
  AnswerLoop loop(generator, clock_, {.max_queued = 2, .max_running = 4});
  // Impossible requests must not be retried.
  const Status never = loop.Submit(Jobs(7));
  ASSERT_FALSE(never.ok());
  EXPECT_EQ(never.error().code(), Code::kInvalidArgument);
  ASSERT_TRUE(loop.Submit(Jobs(6)).ok());
  const Status full = loop.Submit(Jobs(1));
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().code(), Code::kResourceExhausted);
  generator.end = [&] {
    EXPECT_EQ(loop.state().running, 4U);
    EXPECT_EQ(loop.state().queued, 2U);
    EXPECT_FALSE(loop.Submit(Jobs(1)).ok());
    loop.Stop(0);
  };
  loop.Run();
  EXPECT_EQ(loop.state().running, 0U);
}

// Otherwise one key could keep all others out.
TEST_F(AnswerLoopTest, AKeyThatWaitsForNothingFindsAPlace) {
  Slow generator(clock_, 1);
  AnswerLoop loop(generator, clock_, {.max_queued = 4, .max_running = 2});
  const auto submit = [&](const char* client, size_t count) -> std::optional<Code> {
    auto jobs = Jobs(count);
    for (auto& job : jobs) job->client = client;
    const Status submitted = loop.Submit(std::move(jobs));
    return submitted.ok() ? std::nullopt : std::optional(submitted.error().code());
  };
  EXPECT_EQ(submit("a\nx", 6), std::nullopt);
  // Another name of a user is the same key.
  EXPECT_EQ(submit("a\ny", 1), Code::kResourceExhausted);
  EXPECT_EQ(submit("b\n", 2), Code::kResourceExhausted);
  EXPECT_EQ(submit("b\n", 1), std::nullopt);
  // Of the further places there is one.
  EXPECT_EQ(submit("b\n", 1), Code::kResourceExhausted);
  EXPECT_EQ(submit("c\n", 1), Code::kResourceExhausted);
  EXPECT_EQ(loop.state().queued, 7U);
  generator.end = [&] { loop.Stop(0); };
  loop.Run();
}

// It may still use the sequences of requests, which are kept, and call functions that are gone.
TEST_F(AnswerLoopTest, AGeneratorThatHasFailedIsNotSteppedAgain) {
  for (const bool is_moving : {false, true}) {
    SCOPED_TRACE(is_moving);
    Slow generator(clock_, 100);
    generator.held = 3;
    AnswerLoop loop(generator, clock_, {});
    std::thread running([&] { loop.Run(); });
    const auto call = [&](const std::function<void()>& work) {
      EXPECT_TRUE(loop.CallBetweenSteps([&] {
                        work();
                        return Ok();
                      })
                      .ok());
    };
    if (is_moving) {
      // A conversation is kept, and fails when it moves.
      const std::vector<int32_t> tokens = {1, 2, 3};
      EXPECT_TRUE(loop.CallToLoad(tokens, [](engine::Sequence&) { return Ok(); }).ok());
      EXPECT_TRUE(loop.EndLoading().ok());
      generator.failure = Error(Code::kUnavailable, "lost");
      call([&] { loop.MoveConversations(); });
    } else {
      std::promise<void> refused;
      auto jobs = Jobs(1);
      jobs[0]->on_refused = [&](const Error&) { refused.set_value(); };
      generator.failure = Error(Code::kUnavailable, "lost");
      EXPECT_TRUE(loop.Submit(std::move(jobs)).ok());
      refused.get_future().wait();
    }
    const int steps = generator.stepped;
    call([&] { loop.MoveConversations(); });
    call([] {});
    EXPECT_TRUE(loop.state().has_failed);
    EXPECT_EQ(loop.Submit(Jobs(1)).error().code(), Code::kUnavailable);
    loop.Stop(0);
    running.join();
    EXPECT_EQ(generator.stepped, steps);
    EXPECT_FALSE(generator.idle());
  }
}

// An ensemble's question may go on with a member that has failed since.
TEST_F(AnswerLoopTest, AFollowUpOfAFailedModelIsRefusedAtOnce) {
  Slow generator(clock_, 100);
  AnswerLoop loop(generator, clock_, {});
  std::thread running([&] { loop.Run(); });
  std::promise<void> refused;
  auto jobs = Jobs(1);
  jobs[0]->on_refused = [&](const Error&) { refused.set_value(); };
  generator.failure = Error(Code::kUnavailable, "lost");
  EXPECT_TRUE(loop.Submit(std::move(jobs)).ok());
  refused.get_future().wait();
  EXPECT_TRUE(loop.CallBetweenSteps([] { return Ok(); }).ok());
  std::vector<std::string> said;
  const auto follow = [&] {
    auto followups = Jobs(1);
    followups[0]->on_refused = [&](const Error& error) { said.push_back(error.message()); };
    loop.Follow(std::move(followups[0]));
  };
  follow();
  EXPECT_EQ(loop.state().queued + loop.state().running, 0U);
  loop.Stop(0);
  running.join();
  follow();
  EXPECT_THAT(said, testing::ElementsAre("the model cannot answer any more",
                                         "the server is shutting down"));
}

// Calls are made even without requests, and no call waits for a loop that has ended.
TEST_F(AnswerLoopTest, CallsAreMadeOnItsThread) {
  Slow generator(clock_, 1);
  AnswerLoop loop(generator, clock_, {});
  std::thread::id made_on;
  std::thread thread([&] { loop.Run(); });
  const std::thread::id loop_id = thread.get_id();
  const Status said = loop.CallBetweenSteps([&]() -> Status {
    made_on = std::this_thread::get_id();
    return InvalidArgument("no");
  });
  EXPECT_EQ(said.error().message(), "no");
  EXPECT_EQ(made_on, loop_id);
  loop.Stop(0);
  thread.join();
  EXPECT_EQ(loop.CallBetweenSteps([] { return Ok(); }).error().code(), Code::kUnavailable);
}

// Rows are loaded into one sequence, which is then kept until running requests need its memory.
TEST_F(AnswerLoopTest, WhatIsLoadedIsKept) {
  Slow generator(clock_, 1);
  AnswerLoop loop(generator, clock_, {});
  std::thread thread([&] { loop.Run(); });
  const std::vector<int32_t> tokens = {1, 2, 3};
  const auto load = [&](uint32_t held) {
    const Status loaded = loop.CallToLoad(tokens, [&](engine::Sequence& sequence) {
      EXPECT_EQ(sequence.tokens(), tokens);
      generator.held = held;
      return Ok();
    });
    EXPECT_TRUE(loaded.ok());
  };
  load(1);
  load(2);
  EXPECT_TRUE(loop.EndLoading().ok());
  load(2);
  EXPECT_EQ(generator.sequences_made, 1);
  // A sequence that is being loaded is released, too.
  const auto release = [&] {
    return loop.CallBetweenSteps([&]() -> Status {
      return generator.release_unused() ? Ok() : Status(NotFound("nothing"));
    });
  };
  EXPECT_TRUE(release().ok());
  EXPECT_FALSE(release().ok());
  load(2);
  EXPECT_EQ(generator.sequences_made, 2);
  // A sequence without rows is not kept.
  generator.held = 0;
  EXPECT_TRUE(loop.EndLoading().ok());
  EXPECT_FALSE(release().ok());
  loop.Stop(0);
  thread.join();
  EXPECT_EQ(loop.CallToLoad(tokens, [](engine::Sequence&) { return Ok(); }).error().code(),
            Code::kUnavailable);
}

}  // namespace
}  // namespace aster::serve
