// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/ensemble_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <thread>
#include <utility>

#include "ensemble/members_for_test.h"

namespace aster::serve {
namespace {

using testing::HasSubstr;

// Answers nothing, until the test refuses its request.
class Silent final : public ensemble::MemberEngine {
 public:
  explicit Silent(uint32_t vocab_size) : vocab_size_(vocab_size) {}

  uint32_t vocab_size() const override { return vocab_size_; }
  void Begin(ensemble::Work work) override {
    {
      const MutexLock lock(mu_);
      works_.push_back(std::move(work));
    }
    begun_.NotifyAll();
  }

  void AwaitBegun(size_t count) EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    while (works_.size() < count) begun_.Wait(mu_);
  }
  void RefuseAll() EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    for (const ensemble::Work& work : works_) work.on_refused(ResourceExhausted("no memory"));
  }
  // Whether the client of each request is gone.
  bool is_gone() const EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    return std::ranges::all_of(works_, [](const auto& work) { return work.is_gone(); });
  }

 private:
  const uint32_t vocab_size_;
  mutable Mutex mu_;
  CondVar begun_;
  std::vector<ensemble::Work> works_ GUARDED_BY(mu_);
};

class EnsembleLoopTest : public testing::Test {
 protected:
  using Given = Result<ensemble::Answer>;

  void SetUp() override {
    opened_.emplace(models_.Open({"nova", "pulsar"}, clock_));
    std::vector<ensemble::Member> members = opened_->members();
    engine_.emplace(opened_->smallest_vocab());
    for (ensemble::Member& member : members) member.engine = &*engine_;
    ensemble_.emplace(std::move(members), clock_);
    loop_.emplace(*ensemble_, clock_, /*most=*/2);
    thread_ = std::thread([this] { loop_->Run(); });
  }
  void TearDown() override {
    loop_->Stop(0);
    thread_.join();
  }

  EnsembleJob Job(std::promise<Given>& given) {
    ensemble::Question question;
    question.conversation.messages.push_back({{"role", "user"}, {"content", "What is 12 + 7?"}});
    return {.question = ensemble_->Prepare(question).value(),
            .is_gone = [this] { return is_gone_.load(); },
            .on_answer = [&given](Given answer) { given.set_value(std::move(answer)); }};
  }
  Status Submit(EnsembleJob job) {
    std::vector<EnsembleJob> jobs;
    jobs.push_back(std::move(job));
    return loop_->Submit(std::move(jobs));
  }
  // Advances the clock until the result is there.
  Given Await(std::promise<Given>& given) {
    auto future = given.get_future();
    while (future.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready)
      clock_.AdvanceToNextDeadline();
    return future.get();
  }

  VirtualClock clock_;
  ensemble::MembersForTest models_;
  std::optional<ensemble::OpenMembers> opened_;
  std::optional<Silent> engine_;
  std::optional<ensemble::Ensemble> ensemble_;
  std::optional<EnsembleLoop> loop_;
  std::atomic<bool> is_gone_ = false;
  std::thread thread_;
};

TEST_F(EnsembleLoopTest, AClientThatGoesEndsWhatItsMembersCompute) {
  std::promise<Given> given;
  ASSERT_TRUE(Submit(Job(given)).ok());
  engine_->AwaitBegun(2);
  EXPECT_EQ(loop_->state().running, 1U);
  EXPECT_FALSE(engine_->is_gone());
  is_gone_ = true;
  EXPECT_EQ(Await(given).error().code(), Code::kCancelled);
  EXPECT_TRUE(engine_->is_gone());
}

TEST_F(EnsembleLoopTest, ADeadlineHolds) {
  std::promise<Given> given;
  EnsembleJob job = Job(given);
  job.deadline_ns = clock_.NowNs() + kNsPerSecond;
  ASSERT_TRUE(Submit(std::move(job)).ok());
  EXPECT_EQ(Await(given).error().code(), Code::kCancelled);
  EXPECT_GE(clock_.NowNs(), kNsPerSecond);
}

TEST_F(EnsembleLoopTest, MembersThatAllRefuseAreAnError) {
  std::promise<Given> given;
  ASSERT_TRUE(Submit(Job(given)).ok());
  engine_->AwaitBegun(2);
  engine_->RefuseAll();
  EXPECT_THAT(Await(given).error().message(), HasSubstr("nova: no memory"));
}

TEST_F(EnsembleLoopTest, TooManyRequestsAreRefused) {
  std::promise<Given> first, second, third;
  std::vector<EnsembleJob> three;
  for (std::promise<Given>* given : {&first, &second, &third}) three.push_back(Job(*given));
  EXPECT_EQ(loop_->Submit(std::move(three)).error().code(), Code::kInvalidArgument);
  ASSERT_TRUE(Submit(Job(first)).ok());
  ASSERT_TRUE(Submit(Job(second)).ok());
  EXPECT_EQ(Submit(Job(third)).error().code(), Code::kResourceExhausted);
  is_gone_ = true;
  EXPECT_FALSE(Await(first).ok());
  EXPECT_FALSE(Await(second).ok());
}

TEST_F(EnsembleLoopTest, WhatRunsWhenItStopsIsAnswered) {
  std::promise<Given> given, late;
  ASSERT_TRUE(Submit(Job(given)).ok());
  engine_->AwaitBegun(2);
  loop_->Stop(10 * kNsPerSecond);
  EXPECT_EQ(Submit(Job(late)).error().code(), Code::kUnavailable);
  engine_->RefuseAll();
  EXPECT_EQ(Await(given).error().code(), Code::kResourceExhausted);
}

TEST_F(EnsembleLoopTest, ItEndsWhenTheGraceIsOver) {
  std::promise<Given> given;
  ASSERT_TRUE(Submit(Job(given)).ok());
  engine_->AwaitBegun(2);
  loop_->Stop(10 * kNsPerSecond);
  EXPECT_EQ(Await(given).error().code(), Code::kCancelled);
  EXPECT_GE(clock_.NowNs(), 10 * kNsPerSecond);
}

}  // namespace
}  // namespace aster::serve
