// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A conductor with scripted stages of its own process: its behaviour when stages refuse, run out of
// memory or stall.
#include <gmock/gmock.h>

#include <deque>
#include <ranges>
#include <set>

#include "conduct/cluster_for_test.h"

namespace aster::conduct {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Messages of a node to itself arrive at once; time passes only if none arrive.
class LoopbackNetwork final : public net::Network {
 public:
  wire::NodeId self() const override { return plan::TestNode(1); }
  void Introduce(const wire::NodeId&, const std::vector<std::string>&) override {}
  Status Send(const wire::NodeId& to, wire::Message message) override {
    if (to != self()) return Error(Code::kUnavailable, "there is no other node");
    net::Event event;
    event.from = self();
    event.message = std::move(message);
    events_.push_back(std::move(event));
    return Ok();
  }
  std::optional<net::Event> Receive(int64_t deadline_ns) override {
    if (events_.empty()) {
      clock_.AdvanceTo(std::max(deadline_ns, clock_.NowNs()));
      return std::nullopt;
    }
    net::Event event = std::move(events_.front());
    events_.pop_front();
    return event;
  }
  const Clock& clock() const override { return clock_; }

 private:
  VirtualClock clock_;
  std::deque<net::Event> events_;
};

// Answers each segment that asks for a token with the position after it.
class ScriptedStages final : public stage::LocalStages {
 public:
  explicit ScriptedStages(net::Network& network) : network_(network) {}

  void Handle(net::Event event) override {
    if (const auto* open = std::get_if<wire::OpenRoute>(&event.message)) {
      wire::RouteState state{.route = open->route, .kind = wire::RouteState::Kind::kReady};
      state.kv_positions = 1000;
      Tell(std::move(state));
    } else if (const auto* begin = std::get_if<wire::Begin>(&event.message)) {
      begun.push_back(begin->sequence);
      if (!says_holds) return;
      wire::Holds nothing;
      nothing.route = begin->route;
      nothing.sequence = begin->sequence;
      nothing.epoch = begin->epoch;
      Tell(std::move(nothing));
    } else if (const auto* work = std::get_if<wire::Work>(&event.message)) {
      works_.push_back(*work);
    } else if (const auto* end = std::get_if<wire::End>(&event.message)) {
      ended.push_back(end->sequence);
    }
  }
  bool has_work() const override { return !works_.empty() && !is_silent; }
  void Compute() override {
    wire::Work work = std::move(works_.front());
    works_.pop_front();
    // The last segment first: their order is not defined.
    for (wire::WorkSegment& segment : work.segments | std::views::reverse) {
      const Status why = refuse ? refuse(segment) : Ok();
      if (!why.ok()) {
        Refuse(work.route, segment, why.error());
      } else {
        Answer(work.route, segment);
      }
    }
  }
  void Tick() override {}
  int64_t next_tick_ns() const override { return kNeverNs; }

  std::function<Status(const wire::WorkSegment&)> refuse;
  bool says_holds = true;
  bool is_silent = false;
  std::vector<wire::SequenceId> begun;
  std::vector<wire::SequenceId> ended;

 private:
  void Refuse(wire::RouteId route, const wire::WorkSegment& segment, const Error& why) {
    wire::Holds holds;
    holds.route = route;
    holds.sequence = segment.sequence;
    holds.attempt = segment.attempt;
    holds.why = why;
    Tell(std::move(holds));
  }
  void Answer(wire::RouteId route, wire::WorkSegment& segment) {
    const uint32_t end = segment.begin + static_cast<uint32_t>(segment.tokens.size());
    const auto token = static_cast<int32_t>(end % 298);
    wire::Done done{.route = route, .results = {}, .hops = {}, .logits = {}};
    wire::SegmentResult& result = done.results.emplace_back();
    result.sequence = segment.sequence;
    result.attempt = segment.attempt;
    result.end = end;
    result.token = token;
    Tell(std::move(done));
    if (segment.wanted != wire::Wanted::kToken || segment.more == 0) return;
    // The stage decodes by itself.
    segment.begin = end;
    segment.tokens = {token};
    --segment.more;
    wire::Work& next = works_.emplace_back();
    next.route = route;
    next.segments = {segment};
  }
  void Tell(wire::Message message) {
    EXPECT_TRUE(network_.Send(network_.self(), std::move(message)).ok());
  }

  net::Network& network_;
  std::deque<wire::Work> works_;
};

class ConductorLocalTest : public testing::Test {
 protected:
  struct SubmittedRequest {
    engine::Sequence sequence;
    std::vector<int32_t> tokens = {};
    std::optional<engine::Finish> finish = {};
  };
  SubmittedRequest& Ask(size_t prompt, uint64_t tokens) {
    SubmittedRequest& asked =
        *asked_.emplace_back(std::make_unique<SubmittedRequest>(conductor_.NewSequence()));
    asked.sequence.SetHistory(model::RandomTokens(prompt, 298));
    engine::Request request;
    request.sequence = &asked.sequence;
    request.max_tokens = tokens;
    request.on_token = [&](const engine::Delta& delta) { asked.tokens.push_back(delta.choice.id); };
    request.on_finish = [&](const engine::Finish& finish) { asked.finish = finish; };
    EXPECT_TRUE(conductor_.Submit(std::move(request)).ok());
    return asked;
  }
  void Run() {
    while (!conductor_.idle()) ASSERT_TRUE(conductor_.Step().ok());
  }

  static ConductorOptions TwoRunningRequests() {
    ConductorOptions options;
    options.max_running = 2;
    return options;
  }

  LoopbackNetwork network_;
  ScriptedStages stages_{network_};
  std::vector<std::unique_ptr<SubmittedRequest>> asked_;
  Conductor conductor_{network_,
                       plan::TestModel::Get().route_model(),
                       nullptr,
                       TestPlan("a", 1),
                       TwoRunningRequests(),
                       nullptr,
                       &stages_};
};

TEST_F(ConductorLocalTest, AnswersWithTheStagesOfItsOwnProcess) {
  const SubmittedRequest& asked = Ask(10, 4);
  Run();
  EXPECT_THAT(asked.tokens, ElementsAre(10, 11, 12, 13));
  EXPECT_EQ(asked.finish->reason, engine::FinishReason::kLength);
  EXPECT_EQ(conductor_.counters().decode_tokens, 3u);
}

TEST_F(ConductorLocalTest, ARefusedSegmentIsBegunAgain) {
  bool is_first = true;
  stages_.refuse = [&](const wire::WorkSegment&) {
    return std::exchange(is_first, false) ? Status(FailedPrecondition("it holds another text"))
                                          : Ok();
  };
  const SubmittedRequest& asked = Ask(300, 2);
  Run();
  EXPECT_THAT(asked.tokens, ElementsAre(300 % 298, 301 % 298));
  EXPECT_EQ(conductor_.counters().refused, 1u);
  EXPECT_EQ(stages_.begun.size(), 2u);
}

TEST_F(ConductorLocalTest, ARequestThatIsRefusedAgainAndAgainFails) {
  stages_.refuse = [](const wire::WorkSegment&) {
    return FailedPrecondition("it holds another text");
  };
  const SubmittedRequest& asked = Ask(10, 2);
  Run();
  EXPECT_THAT(asked.finish->status.error().message(), HasSubstr("another text"));
}

TEST_F(ConductorLocalTest, TheYoungestRequestIsPreemptedWhereMemoryIsShort) {
  bool is_first = true;
  stages_.refuse = [&](const wire::WorkSegment& segment) {
    const bool is_oldest = segment.sequence == 1;
    return is_oldest && std::exchange(is_first, false)
               ? Status(ResourceExhausted("there is no page left"))
               : Ok();
  };
  const SubmittedRequest& oldest = Ask(10, 3);
  const SubmittedRequest& youngest = Ask(20, 3);
  Run();
  EXPECT_EQ(conductor_.counters().preempted, 1u);
  EXPECT_THAT(oldest.tokens, ElementsAre(10, 11, 12));
  EXPECT_THAT(youngest.tokens, ElementsAre(20, 21, 22));
  EXPECT_THAT(stages_.ended, testing::Contains(2));
}

// Both are refused before either makes room: the memory that the first frees is enough for both.
TEST_F(ConductorLocalTest, RequestsThatOneFrameRefusesAreBothAnswered) {
  std::set<wire::SequenceId> refused;
  stages_.refuse = [&](const wire::WorkSegment& segment) {
    return refused.insert(segment.sequence).second
               ? Status(ResourceExhausted("there is no page left"))
               : Ok();
  };
  const SubmittedRequest& oldest = Ask(10, 3);
  const SubmittedRequest& youngest = Ask(20, 3);
  Run();
  EXPECT_EQ(conductor_.counters().preempted, 1u);
  EXPECT_THAT(oldest.tokens, ElementsAre(10, 11, 12));
  EXPECT_THAT(youngest.tokens, ElementsAre(20, 21, 22));
}

// Stages have only got its Begin, and may have found rows of it in their KV cache.
TEST_F(ConductorLocalTest, ARequestThatIsCancelledWhileItBeginsIsFreedOnTheStages) {
  Ask(10, 3);
  Run();
  const SubmittedRequest& asked = Ask(20, 3);
  stages_.says_holds = false;
  while (stages_.begun.size() < 2) ASSERT_TRUE(conductor_.Step().ok());
  conductor_.Cancel(2);
  Run();
  stages_.says_holds = true;
  EXPECT_EQ(asked.finish->reason, engine::FinishReason::kCancelled);
  Ask(30, 1);
  Run();
  EXPECT_THAT(stages_.ended, ElementsAre(2));
}

TEST_F(ConductorLocalTest, SequencesThatNoRequestHasAreEvictedFirst) {
  Ask(10, 3);
  Run();
  bool is_first = true;
  stages_.refuse = [&](const wire::WorkSegment&) {
    return std::exchange(is_first, false) ? Status(ResourceExhausted("there is no page left"))
                                          : Ok();
  };
  const SubmittedRequest& asked = Ask(20, 3);
  Run();
  EXPECT_EQ(conductor_.counters().preempted, 0u);
  EXPECT_THAT(asked.tokens, ElementsAre(20, 21, 22));
  EXPECT_THAT(stages_.ended, ElementsAre(1));
}

TEST_F(ConductorLocalTest, ARequestThatIsAloneAndDoesNotFitFails) {
  stages_.refuse = [](const wire::WorkSegment&) {
    return ResourceExhausted("there is no page left");
  };
  const SubmittedRequest& asked = Ask(10, 3);
  Run();
  EXPECT_EQ(asked.finish->status.error().code(), Code::kResourceExhausted);
}

TEST_F(ConductorLocalTest, StagesThatAreSilentForLongBreakTheRoute) {
  stages_.is_silent = true;
  const SubmittedRequest& asked = Ask(10, 3);
  Run();
  EXPECT_EQ(asked.finish->status.error().code(), Code::kDeadlineExceeded);
  EXPECT_THAT(asked.finish->status.error().message(), HasSubstr("300 s"));
  EXPECT_EQ(conductor_.route(), nullptr);
}

TEST_F(ConductorLocalTest, APromptThatNoNodeCanHoldIsRefused) {
  ASSERT_TRUE(conductor_.Open().ok());
  engine::Sequence sequence = conductor_.NewSequence();
  sequence.SetHistory(model::RandomTokens(1001, 298));
  const auto submitted = conductor_.Submit({.sequence = &sequence, .context_limit = 5000});
  ASSERT_FALSE(submitted.ok());
  EXPECT_THAT(submitted.error().message(), HasSubstr("1000 tokens fit"));
}

}  // namespace
}  // namespace aster::conduct
