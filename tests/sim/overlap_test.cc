// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Checks on a virtual clock that machines work at the same time: a layer of a frame takes a known
// time and messages take almost none, so an idle stage shows in the total time.

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "conduct/conductor.h"
#include "engine/answers_for_test.h"
#include "sim_network.h"
#include "stage/slice_source_for_test.h"
#include "stage/stage_server.h"

namespace aster::sim {
namespace {

constexpr int64_t kLayerNs = 50 * kNsPerMs;

struct Machine {
  std::unique_ptr<SimNetwork> network;
  std::unique_ptr<stage::StageServer> server;
  std::vector<net::Event> inbox;
  int64_t cost_ns = 0;  // of a frame
  int64_t busy_until_ns = 0;
};

class Line {
 public:
  explicit Line(const std::string& split, uint32_t chunk_pages = 2)
      : random_(1), trace_(false), hub_(clock_, random_, trace_) {
    const plan::Plan plan = plan::ParseSplit(split, plan::kTestLayers, plan::TestNodes(4)).value();
    for (const plan::PlanStage& stage : plan.stages) {
      Machine& machine = *machines_.emplace_back(std::make_unique<Machine>());
      machine.cost_ns = kLayerNs * (stage.slice.layer_end - stage.slice.layer_begin);
      machine.network = std::make_unique<SimNetwork>(hub_, stage.node.id);
      machine.server = std::make_unique<stage::StageServer>(*machine.network, source_);
      hub_.Add(stage.node.id,
               [&machine](net::Event event) { machine.inbox.push_back(std::move(event)); });
    }
    front_ = std::make_unique<SimNetwork>(hub_, plan::TestNode(99));
    hub_.Add(front_->self(), [this](net::Event event) { conductor_->Handle(std::move(event)); });
    conduct::ConductorOptions options;
    options.id_seed = 1;
    options.chunk_pages = chunk_pages;
    conductor_ = std::make_unique<conduct::Conductor>(*front_, plan::TestModel::Get().route_model(),
                                                      nullptr, plan, options);
  }
  ~Line() { conductor_.reset(); }

  struct TestRequest {
    size_t prompt_length;
    uint64_t tokens;  // of the answer
  };
  // When each of the requests has ended, if they come at once.
  std::vector<int64_t> TimesOf(const std::vector<TestRequest>& asked) {
    std::vector<engine::Sequence> sequences;
    std::vector<int64_t> times_ns(asked.size());
    for (size_t i = 0; i < asked.size(); ++i) {
      sequences.push_back(conductor_->NewSequence());
      sequences.back().SetHistory(model::RandomTokens(asked[i].prompt_length, 298, i));
    }
    const int64_t start_ns = clock_.NowNs();
    for (size_t i = 0; i < asked.size(); ++i) {
      engine::Request request;
      request.sequence = &sequences[i];
      request.max_tokens = asked[i].tokens;
      request.context_limit = 10000;
      request.on_finish = [this, start_ns, &time_ns = times_ns[i]](const engine::Finish& finish) {
        CHECK(finish.status.ok());
        time_ns = clock_.NowNs() - start_ns;
      };
      CHECK(conductor_->Submit(std::move(request)).ok());
    }
    while (!conductor_->idle()) Step();
    return times_ns;
  }
  // The number of frames that go through the stages for a prompt and one token behind it.
  uint64_t FramesOf(size_t prompt_length) {
    TimeOf(1, prompt_length, 1);
    return conductor_->counters().frames;
  }
  uint64_t refused() const { return conductor_->counters().refused; }

  // How many frames nodes still begin after a long prompt was cancelled behind a number of computed
  // tokens, and how long it takes until they are idle.
  struct AfterCancel {
    size_t frames = 0;
    int64_t duration_ns = 0;
  };
  AfterCancel CancelAfter(size_t prompt_length, uint64_t tokens) {
    engine::Sequence sequence = conductor_->NewSequence();
    sequence.SetHistory(model::RandomTokens(prompt_length, 298, 0));
    engine::Request request;
    request.sequence = &sequence;
    request.context_limit = 10000;
    bool is_due = false;
    request.on_prefill = [&](uint64_t done, uint64_t) { is_due = done >= tokens; };
    engine::FinishReason reason = engine::FinishReason::kFailed;
    int64_t told_ns = 0;
    request.on_finish = [&](const engine::Finish& finish) {
      reason = finish.reason;
      told_ns = clock_.NowNs();
    };
    const engine::RequestId id = conductor_->Submit(std::move(request)).value();
    while (!is_due) Step();
    const size_t before = computed_;
    const int64_t start_ns = clock_.NowNs();
    conductor_->Cancel(id);
    while (!conductor_->idle()) Step();
    CHECK(reason == engine::FinishReason::kCancelled);
    CHECK(told_ns == start_ns);
    // Messages that are still in flight arrive.
    const auto is_idle = [](const auto& machine) {
      return machine->inbox.empty() && !machine->server->has_work();
    };
    while (hub_.next_ns() != kNeverNs || !std::ranges::all_of(machines_, is_idle)) Step();
    AfterCancel after{.frames = computed_ - before, .duration_ns = 0};
    for (const auto& machine : machines_) {
      after.duration_ns = std::max(after.duration_ns, machine->busy_until_ns - start_ns);
    }
    return after;
  }
  // When the last of the requests has ended.
  int64_t TimeOf(size_t requests, size_t prompt_length, uint64_t tokens) {
    return std::ranges::max(TimesOf(
        std::vector<TestRequest>(requests, {.prompt_length = prompt_length, .tokens = tokens})));
  }

 private:
  void Step() {
    conductor_->Tick();
    int64_t next_ns = std::min(hub_.next_ns(), conductor_->next_tick_ns());
    for (const auto& machine : machines_) {
      if (machine->inbox.empty() && !machine->server->has_work()) continue;
      next_ns = std::min(next_ns, machine->busy_until_ns);
    }
    clock_.AdvanceTo(std::max(next_ns, clock_.NowNs()));
    while (hub_.next_ns() <= clock_.NowNs()) hub_.DeliverNext();
    for (const auto& machine : machines_) Run(*machine);
  }

  void Run(Machine& machine) {
    if (machine.busy_until_ns > clock_.NowNs()) return;
    for (net::Event& event : std::exchange(machine.inbox, {})) {
      machine.server->Handle(std::move(event));
    }
    machine.server->Tick();
    if (!machine.server->has_work()) return;
    // A refused request takes no time.
    const uint64_t tokens = TokensOf(machine);
    hub_.SetSendDelay(machine.cost_ns);
    machine.server->Compute();
    hub_.SetSendDelay(0);
    if (TokensOf(machine) == tokens) return;
    ++computed_;
    machine.busy_until_ns = clock_.NowNs() + machine.cost_ns;
  }

  static uint64_t TokensOf(const Machine& machine) {
    uint64_t tokens = 0;
    for (const stage::StageRouteStatus& status : machine.server->Snapshot()) {
      tokens += status.tokens;
    }
    return tokens;
  }

  size_t computed_ = 0;  // frames, on all machines
  VirtualClock clock_;
  Random random_;
  Trace trace_;
  SimHub hub_;
  stage::TestSliceSource source_;
  std::vector<std::unique_ptr<Machine>> machines_;
  std::unique_ptr<SimNetwork> front_;
  std::unique_ptr<conduct::Conductor> conductor_;
};

double Ratio(int64_t a, int64_t b) { return static_cast<double>(a) / static_cast<double>(b); }

TEST(Overlap, APromptGoesThroughAllStagesAtOnce) {
  if (kSanitized) GTEST_SKIP() << "long prompts take too long in builds with sanitizers";
  // There are 64 frames of a page: during all but the first and the last, both stages are busy.
  const int64_t alone = Line("0:out", 1).TimeOf(1, 8192, 1);
  const int64_t two = Line("0:1,2:out", 1).TimeOf(1, 8192, 1);
  const int64_t four = Line("0:0,1:1,2:2,3:out", 1).TimeOf(1, 8192, 1);
  EXPECT_GT(Ratio(alone, two), 1.95) << alone << " " << two;
  EXPECT_GT(Ratio(alone, four), 3.7) << alone << " " << four;
}

TEST(Overlap, TheLastFramesOfAPromptAreShort) {
  if (kSanitized) GTEST_SKIP() << "long prompts take too long in builds with sanitizers";
  // Frames have two pages. A single stage waits for no other; with two stages, the last two frames
  // are cut into single pages.
  EXPECT_EQ(Line("0:out").FramesOf(8192), 32u);
  EXPECT_EQ(Line("0:1,2:out").FramesOf(8192), 30u + 4u);
  EXPECT_EQ(Line("0:1,2:out").FramesOf(1024), 2u + 4u);
}

TEST(Overlap, TheLastTokenOfAPromptDoesNotOvertakeTheOthers) {
  // A frame of one token looks like an answer's, and frames of answers go before prompts that wait.
  for (const size_t length : {257, 513, 769}) {
    for (const char* split : {"0:out", "0:1,2:out"}) {
      Line line(split);
      line.TimesOf({{length, 3}, {length, 3}});
      EXPECT_EQ(line.refused(), 0u) << split << " " << length;
    }
  }
}

TEST(Overlap, TwoSequencesTakeHardlyLongerThanOne) {
  const int64_t one = Line("0:1,2:out").TimeOf(1, 10, 30);
  const int64_t two = Line("0:1,2:out").TimeOf(2, 10, 30);
  EXPECT_LT(Ratio(two, one), 1.08) << one << " " << two;
  // If there are more sequences than stages, they share frames.
  const int64_t six = Line("0:1,2:out").TimeOf(6, 10, 30);
  EXPECT_LT(Ratio(six, one), 1.15) << one << " " << six;
}

TEST(Overlap, OneSequenceOnTwoMachinesIsAsFastAsOnOne) {
  const int64_t alone = Line("0:out").TimeOf(1, 10, 30);
  const int64_t two = Line("0:1,2:out").TimeOf(1, 10, 30);
  EXPECT_LT(Ratio(two, alone), 1.05) << alone << " " << two;
}

TEST(Overlap, AShortAnswerIsNotHeldUpByALongPrompt) {
  if (kSanitized) GTEST_SKIP() << "long prompts take too long in builds with sanitizers";
  const int64_t prompt = Line("0:1,2:out").TimeOf(1, 4096, 1);
  const int64_t answer = Line("0:1,2:out").TimeOf(1, 10, 5);
  const auto both = Line("0:1,2:out").TimesOf({{4096, 1}, {10, 5}});
  // Frames of both take turns: the prompt is delayed by the answer's time, and hardly more.
  EXPECT_LT(both[0], prompt + answer * 11 / 10) << prompt << " " << answer << " " << both[0];
  // A token waits for the frame that is being computed and the one whose turn it is.
  EXPECT_LT(both[1], answer * 4) << answer << " " << both[1];
}

TEST(Overlap, ACancelTakesEffectWithinAChunk) {
  if (kSanitized) GTEST_SKIP() << "long prompts take too long in builds with sanitizers";
  const int64_t frame_ns = kLayerNs * plan::kTestLayers / 2;
  for (const uint64_t tokens : {512, 1024, 2048}) {
    const auto after = Line("0:1,2:out").CancelAfter(8192, tokens);
    // A frame that was begun is finished; frames that wait or are in flight are not computed.
    EXPECT_LE(after.duration_ns, frame_ns + frame_ns / 10) << tokens;
    EXPECT_LE(after.frames, 1u) << tokens;
  }
}

}  // namespace
}  // namespace aster::sim
