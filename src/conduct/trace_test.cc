// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.h"
#include "conduct/chrome_trace.h"
#include "plan/model_for_test.h"

namespace aster::conduct {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

plan::Plan PlanOf(const std::string& split) {
  return plan::ParseSplit(split, plan::kTestLayers, plan::TestNodes(4)).value();
}

// The true times of a frame, on a common clock that no machine has.
struct Truth {
  int64_t sent_ns = 0;
  int64_t ended_ns = 0;
  std::vector<int64_t> started_ns;
  std::vector<wire::Hop> hops;
  int64_t on_the_way_ns = 0;
};

// Frames that go through stages on nodes that compute one at a time, in order.
std::vector<Truth> Pipeline(const plan::Plan& plan, size_t count, int64_t most_transit_ns,
                            Random& random) {
  std::map<wire::NodeId, int64_t> free_ns;
  std::vector<Truth> frames;
  int64_t now_ns = 1000;
  for (size_t i = 0; i < count; ++i) {
    Truth frame;
    frame.sent_ns = now_ns += static_cast<int64_t>(random.NextBelow(4000));
    int64_t at_ns = frame.sent_ns;
    const auto travel = [&] {
      const auto transit_ns =
          static_cast<int64_t>(random.NextBelow(static_cast<uint64_t>(most_transit_ns) + 1));
      at_ns += transit_ns;
      frame.on_the_way_ns += transit_ns;
    };
    for (const plan::PlanStage& stage : plan.stages) {
      travel();
      int64_t& node_ns = free_ns[stage.node.id];
      const int64_t start_ns = std::max(at_ns, node_ns);
      const auto compute_ns = static_cast<int64_t>(500 + random.NextBelow(5000));
      frame.started_ns.push_back(start_ns);
      frame.hops.push_back({.queue_ns = static_cast<uint64_t>(start_ns - at_ns),
                            .compute_ns = static_cast<uint64_t>(compute_ns),
                            .bytes_out = random.NextBelow(1 << 20)});
      at_ns = node_ns = start_ns + compute_ns;
    }
    travel();
    frame.ended_ns = at_ns;
    frames.push_back(std::move(frame));
  }
  return frames;
}

Trace TraceOf(const plan::Plan& plan, const std::vector<Truth>& frames) {
  Trace trace;
  trace.OpenRoute(1, plan, 0);
  trace.RouteIsReady(1, 500);
  for (size_t i = 0; i < frames.size(); ++i) {
    const auto begin = static_cast<uint32_t>(i);
    trace.Send(i + 1, i % 3 == 0, {{.sequence = 7, .begin = begin, .end = begin + 1}},
               frames[i].sent_ns);
  }
  for (size_t i = 0; i < frames.size(); ++i) {
    trace.Done(i + 1, frames[i].hops, frames[i].ended_ns);
    trace.Close(i + 1, frames[i].ended_ns);
  }
  return trace;
}

void ExpectConsistent(const plan::Plan& plan, const std::vector<Truth>& truth, const Trace& trace) {
  const std::vector<StageSpan> spans = PlaceFrames(trace);
  ASSERT_EQ(spans.size(), truth.size() * plan.stages.size());
  int64_t most_on_the_way_ns = 0;
  for (const Truth& frame : truth) {
    most_on_the_way_ns = std::max(most_on_the_way_ns, frame.on_the_way_ns);
  }
  std::map<wire::NodeId, int64_t> free_ns;
  for (const StageSpan& span : spans) {
    const Truth& frame = truth[span.frame];
    const wire::Hop& hop = frame.hops[span.stage];
    EXPECT_EQ(span.ended_ns - span.started_ns, static_cast<int64_t>(hop.compute_ns));
    EXPECT_EQ(span.started_ns - span.arrived_ns, static_cast<int64_t>(hop.queue_ns));
    EXPECT_GE(span.delivered_ns, span.ended_ns);
    EXPECT_GE(span.arrived_ns, frame.sent_ns);
    int64_t& node_ns = free_ns[plan.stages[span.stage].node.id];
    EXPECT_GE(span.started_ns, node_ns);
    node_ns = span.ended_ns;
    EXPECT_LE(std::abs(span.started_ns - frame.started_ns[span.stage]), most_on_the_way_ns);
  }
  for (const Bubble& bubble : FindBubbles(trace, spans)) {
    EXPECT_LT(bubble.begin_ns, bubble.end_ns);
    for (const StageSpan& span : spans) {
      if (plan.stages[span.stage].node.id != bubble.node) continue;
      EXPECT_TRUE(span.ended_ns <= bubble.begin_ns || span.started_ns >= bubble.end_ns);
    }
  }
}

TEST(Trace, FramesAreWhereTheyWereUpToTheirTimeOnTheWay) {
  Random random(1);
  for (const char* split : {"0:out", "0:1,2:out", "0:0,1:2,3:out", "a=0:0,b=1:2,a=3:out"}) {
    const plan::Plan plan = PlanOf(split);
    for (const int64_t most_transit_ns : {0, 10, 300, 20000}) {
      const std::vector<Truth> truth = Pipeline(plan, 60, most_transit_ns, random);
      ExpectConsistent(plan, truth, TraceOf(plan, truth));
    }
  }
}

TEST(Trace, WithoutTimeOnTheWayEverythingIsExact) {
  Random random(2);
  const plan::Plan plan = PlanOf("0:0,1:2,3:out");
  const std::vector<Truth> truth = Pipeline(plan, 40, 0, random);
  for (const StageSpan& span : PlaceFrames(TraceOf(plan, truth))) {
    EXPECT_EQ(span.started_ns, truth[span.frame].started_ns[span.stage]);
  }
}

TEST(Trace, ABubbleIsTimeInWhichANodeWaitsForTheOther) {
  const plan::Plan plan = PlanOf("0:1,2:out");
  Trace trace;
  trace.OpenRoute(1, plan, 0);
  // One token after another: each node computes 10 and waits 10.
  for (int64_t i = 0; i < 3; ++i) {
    const auto frame = static_cast<uint64_t>(i + 1);
    trace.Send(frame, true, {{1, 0, 1}}, i * 20);
    trace.Done(frame, {{0, 10, 5}, {0, 10, 5}}, i * 20 + 20);
  }
  const std::vector<Bubble> bubbles = FindBubbles(trace, PlaceFrames(trace));
  ASSERT_EQ(bubbles.size(), 4u);
  for (const Bubble& bubble : bubbles) EXPECT_EQ(bubble.end_ns - bubble.begin_ns, 10);
}

TEST(Trace, TimeWithoutRequestsIsNoBubble) {
  Trace trace;
  trace.OpenRoute(1, PlanOf("0:out"), 0);
  trace.Send(1, true, {{1, 0, 1}}, 0);
  trace.Done(1, {{0, 10, 0}}, 10);
  trace.Send(2, true, {{1, 1, 2}}, 1000);
  trace.Done(2, {{0, 10, 0}}, 1010);
  EXPECT_TRUE(FindBubbles(trace, PlaceFrames(trace)).empty());
}

TEST(Trace, ReportedTimesAreBounded) {
  Trace trace;
  trace.OpenRoute(1, PlanOf("0:1,2:out"), 0);
  trace.Send(1, false, {{1, 0, 256}}, 100);
  trace.Done(1, {{UINT64_MAX, UINT64_MAX, UINT64_MAX}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}}, 200);
  trace.Done(9, {{1, 1, 1}}, 200);  // which was never sent
  const std::vector<StageSpan> spans = PlaceFrames(trace);
  ASSERT_EQ(spans.size(), 2u);
  for (const StageSpan& span : spans) EXPECT_LE(span.ended_ns - span.started_ns, 100);
}

TEST(Trace, KeepsNoMoreThanItMay) {
  Trace trace(/*limit=*/3);
  trace.Send(1, true, {}, 0);  // before any route
  trace.OpenRoute(1, PlanOf("0:out"), 0);
  for (uint64_t i = 1; i <= 10; ++i) {
    trace.Send(i, true, {}, 0);
    trace.Phase(i, "waiting", 0);
    trace.Phase(i, nullptr, 1);
  }
  EXPECT_EQ(trace.frames().size(), 3u);
  EXPECT_EQ(trace.phases().size(), 3u);
  EXPECT_EQ(trace.dropped(), 1u + 7 + 7);
}

TEST(Trace, FramesOfABrokenRouteAreLost) {
  Trace trace;
  trace.OpenRoute(1, PlanOf("0:1,2:out"), 0);
  trace.Send(1, true, {{1, 0, 1}}, 5);
  trace.Send(2, true, {{2, 0, 1}}, 6);
  trace.Close(2, 8);
  trace.CloseRoute(1, "node \"a\" went away", 10);
  EXPECT_EQ(trace.frames()[0].fate, TracedFrame::Fate::kLost);
  EXPECT_EQ(trace.frames()[0].ended_ns, 10);
  EXPECT_EQ(trace.frames()[1].fate, TracedFrame::Fate::kRefused);
  EXPECT_TRUE(PlaceFrames(trace).empty());
  const std::string json = ToChromeTrace(trace);
  EXPECT_THAT(json, HasSubstr("\"closed\":\"node \\\"a\\\" went away\""));
  EXPECT_THAT(json, HasSubstr("\"fate\":\"lost\""));
}

TEST(ChromeTrace, TimesAreMicrosecondsSinceTheFirstRoute) {
  Trace trace;
  EXPECT_EQ(ToChromeTrace(trace).front(), '[');
  trace.OpenRoute(1, PlanOf("0:out"), 1'000'000);
  trace.RouteIsReady(1, 1'002'003);
  trace.Send(1, false, {{4, 256, 512}}, 1'003'000);
  trace.Done(1, {{0, 1001, 17}}, 1'004'001);
  const std::string json = ToChromeTrace(trace);
  EXPECT_THAT(json, HasSubstr("\"ts\":0.000,\"dur\":2.003"));
  EXPECT_THAT(json, HasSubstr("\"ts\":3.000,\"dur\":1.001"));
  EXPECT_THAT(json, HasSubstr("sequence 4, positions 256 to 511"));
  EXPECT_THAT(json, HasSubstr("\"bytes\":17"));
  EXPECT_THAT(json, Not(HasSubstr(":-")));  // nothing is before the beginning
}

TEST(ChromeTrace, GathersOfAGroupAreShown) {
  Trace trace;
  trace.OpenRoute(1, PlanOf("0:out"), 0);
  trace.Send(1, true, {{4, 9, 10}}, 1000);
  // No part of a frame takes longer than the frame.
  trace.Done(1,
             {{.compute_ns = 500'000,
               .bytes_out = 23,
               .gather_ns = 50'000,
               .gather_bytes = 4096,
               .gathers = 17,
               .gather_send_ns = UINT64_MAX}},
             601'000);
  EXPECT_THAT(ToChromeTrace(trace), HasSubstr("\"gathers\":17,\"gather_us\":50,"
                                              "\"gather_send_us\":600,\"gather_bytes\":4096"));
}

TEST(ChromeTrace, DraftTokensAreShown) {
  Trace trace;
  trace.OpenRoute(1, PlanOf("0:1,2:out"), 0);
  trace.Send(1, true, {{.sequence = 4, .begin = 9, .end = 12, .drafts = 2}}, 1000);
  trace.Send(2, true, {{.sequence = 4, .begin = 12, .end = 13, .drafts = 1}}, 1100);
  trace.MarkAhead(2);
  trace.Done(1, {{0, 500, 23}, {0, 500, 23}}, 2000);
  trace.Close(2, 2100);
  const std::string json = ToChromeTrace(trace);
  EXPECT_THAT(json, HasSubstr("\"tokens\":3,\"draft_tokens\":2"));
  EXPECT_THAT(json, HasSubstr("{\"name\":\"draft tokens ahead\""));
}

TEST(ChromeTrace, BubblesFilledByDraftTokensAreShown) {
  Trace trace;
  trace.OpenRoute(1, PlanOf("0:1,2:out"), 0);
  trace.Send(1, true, {{.sequence = 4, .begin = 9, .end = 10}}, 1'000'000);
  trace.Send(2, true, {{.sequence = 4, .begin = 10, .end = 11, .drafts = 1}}, 1'000'000);
  trace.MarkAhead(2);
  trace.Done(1, {{0, 500'000, 0}, {0, 500'000, 0}}, 2'000'000);
  trace.MarkCertain(2, 2'000'000);
  trace.Done(2, {{500'000, 500'000, 0}, {0, 500'000, 0}}, 2'500'000);
  const std::string json = ToChromeTrace(trace);
  const std::string kFilled = "\"bubble_filled_us\":";
  // Only the first stage fills its bubble: the second one waited for it.
  EXPECT_THAT(json, HasSubstr(kFilled + "500"));
  EXPECT_EQ(json.find(kFilled), json.rfind(kFilled));
}

TEST(ChromeTrace, AFrameThatBeganAtALaterStageStandsThere) {
  Trace trace;
  trace.OpenRoute(1, PlanOf("0:0,1:1,2:out"), 0);
  trace.Send(1, true, {{4, 9, 10}}, 1000, /*first_stage=*/2);
  trace.Done(1, {{0, 500, 23}}, 2000);
  const std::string json = ToChromeTrace(trace);
  EXPECT_THAT(json, HasSubstr("\"bytes\":23"));
  ASSERT_EQ(PlaceFrames(trace).size(), 1u);
  EXPECT_EQ(PlaceFrames(trace).front().stage, 2u);
}

TEST(ChromeTrace, ShowsDraftTokensOfOtherMachines) {
  Trace trace(/*limit=*/1);
  trace.OpenRoute(1, PlanOf("0:out"), 1000);
  EXPECT_THAT(ToChromeTrace(trace), Not(HasSubstr("draft tokens")));
  const wire::NodeId node{Hash128{7, 7}};
  trace.AddDrafts({.node = node, .text = 3, .begin = 40, .count = 5, .arrived_ns = 3500});
  const std::string shown = ToChromeTrace(trace);
  EXPECT_THAT(shown, HasSubstr("\"draft tokens of other machines\""));
  EXPECT_THAT(shown, HasSubstr("\"ts\":2.500"));
  EXPECT_THAT(shown, HasSubstr("\"node\":\"" + node.ToText() +
                               "\",\"text\":3,\"from_position\":40,\"draft_tokens\":5"));
  trace.AddDrafts({.node = node, .text = 3, .begin = 45, .count = 1, .arrived_ns = 4000});
  EXPECT_EQ(trace.drafts().size(), 1u);
  EXPECT_EQ(trace.dropped(), 1u);
}

}  // namespace
}  // namespace aster::conduct
