// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/pipeline.h"

#include <gmock/gmock.h>

#include <limits>

#include "conduct/parts_for_test.h"

namespace aster::conduct {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class PipelineTest : public testing::Test {
 protected:
  PipelineTest() { Open("a=0:1,b=2:out"); }

  void Open(const std::string& split) {
    route_ = ReadyRoute(network_, split);
    times_.Reset(route_->stages().size());
    pipeline_.emplace(Pipeline::Context{.route = *route_,
                                        .clock = network_.clock(),
                                        .drafts = drafts_,
                                        .schedule = schedule_,
                                        .times = times_,
                                        .frame_times = frame_times_,
                                        .pace = pace_,
                                        .numbers = numbers_,
                                        .counters = counters_,
                                        .trace = nullptr,
                                        .encoding = wire::RowEncoding::kF32,
                                        .vocab_size = kTestVocab,
                                        .embedding = kTestEmbedding});
  }
  LiveRequest& Add(size_t prompt, engine::Request request = {}) {
    LiveRequest& live = *lives_.emplace_back(requests_.Make(prompt, std::move(request)));
    BeginForTest(live, *route_);
    live.phase = RequestPhase::kPrefill;
    live.prefill_path = live.decode_path = route_->decode_path();
    return live;
  }
  // Sends a frame and returns its segments.
  std::vector<wire::WorkSegment> Send(std::vector<FrameItem> items, bool is_decode = false) {
    pipeline_->Send(
        {.items = std::move(items), .is_decode = is_decode, .path = route_->decode_path()});
    auto sent = network_.Take<wire::Work>();
    EXPECT_EQ(sent.size(), 1u);
    EXPECT_EQ(sent[0].first, plan::TestNode(1));
    return sent[0].second.segments;
  }
  static wire::Done Done(const wire::WorkSegment& segment, int32_t token = -1) {
    wire::Done done{.route = 7, .results = {}, .hops = {}, .logits = {}};
    wire::SegmentResult& result = done.results.emplace_back();
    result.sequence = segment.sequence;
    result.attempt = segment.attempt;
    result.end = segment.begin + static_cast<uint32_t>(segment.tokens.size()) - segment.draft_count;
    result.token = token;
    return done;
  }
  // The positions of each segment of the message, and the token after it.
  struct Taken {
    uint32_t begin, end;
    int32_t token;
    bool operator==(const Taken&) const = default;
  };
  std::vector<Taken> Take(const wire::Done& done) {
    const Status checked = pipeline_->Check(done);
    EXPECT_TRUE(checked.ok()) << (checked.ok() ? "" : checked.error().message());
    std::vector<Taken> taken;
    pipeline_->Take(
        done, network_.clock().NowNs(),
        [&](const Segment& segment, const wire::SegmentResult& result, std::span<const float>) {
          taken.push_back({segment.begin, segment.end, result.token});
        });
    return taken;
  }
  std::string CheckError(const wire::Done& done) {
    const Status checked = pipeline_->Check(done);
    return checked.ok() ? "" : checked.error().message();
  }

  RecordingNetwork network_;
  TestRequests requests_;
  std::vector<std::unique_ptr<LiveRequest>> lives_;
  std::unique_ptr<RouteClient> route_;
  const model::Shape shape_ = plan::TestModel::Get().shape();
  FrameTimes frame_times_;
  StagePace pace_;
  RouteDrafts drafts_{shape_, /*drafts_at_head=*/false, nullptr, network_.virtual_clock,
                      frame_times_};
  FrameSchedule schedule_{{}};
  StageTimes times_;
  Numbers numbers_;
  ConductorCounters counters_;
  std::optional<Pipeline> pipeline_;
};

TEST_F(PipelineTest, AFrameIsSegmentsOfRequestsWithTheHashesOfTheirTexts) {
  LiveRequest& a = Add(300);
  LiveRequest& b = Add(20);
  const auto segments = Send({{&a, 128}, {&b, 20}});
  ASSERT_EQ(segments.size(), 2u);
  EXPECT_EQ(segments[0].tokens.size(), 128u);
  EXPECT_EQ(segments[0].before, route_->layout().digest());
  EXPECT_EQ(segments[0].after, a.history->HashAt(128));
  EXPECT_EQ(segments[0].wanted, wire::Wanted::kNothing);
  EXPECT_EQ(segments[1].wanted, wire::Wanted::kToken);
  EXPECT_EQ(segments[1].more, 0u);
  EXPECT_EQ(a.sent, 128u);
  EXPECT_EQ(a.in_flight, 1u);
  EXPECT_EQ(pipeline_->prefill_frames(route_->decode_path()), 1u);
  EXPECT_EQ(pipeline_->decodes().frames, 0u);
}

TEST_F(PipelineTest, SeveralFramesOfARequestAreInFlight) {
  LiveRequest& live = Add(300);
  const auto first = Send({{&live, 128}}), second = Send({{&live, 128}}),
             third = Send({{&live, 44}});
  EXPECT_EQ(live.in_flight, 3u);
  EXPECT_EQ(pipeline_->prefill_frames(route_->decode_path()), 3u);
  EXPECT_THAT(Take(Done(first[0])), ElementsAre(Taken{0, 128, -1}));
  EXPECT_THAT(Take(Done(second[0])), ElementsAre(Taken{128, 256, -1}));
  EXPECT_THAT(Take(Done(third[0], 5)), ElementsAre(Taken{256, 300, 5}));
  EXPECT_EQ(live.in_flight, 0u);
  EXPECT_TRUE(pipeline_->empty());
}

TEST_F(PipelineTest, UnrequestedResultsAreErrors) {
  LiveRequest& live = Add(20);
  const auto segments = Send({{&live, 20}});
  EXPECT_EQ(CheckError(Done(segments[0], 5)), "");
  wire::Done done = Done(segments[0], 5);
  done.results.push_back(done.results[0]);
  EXPECT_THAT(CheckError(done), HasSubstr("not in flight"));
  done = Done(segments[0], 5);
  ++done.results[0].attempt;
  EXPECT_THAT(CheckError(done), HasSubstr("not in flight"));
  done = Done(segments[0], 5);
  --done.results[0].end;
  EXPECT_THAT(CheckError(done), HasSubstr("ends at position 20 with token 5 at 19"));
  EXPECT_THAT(CheckError(Done(segments[0], -1)), HasSubstr("with token -1"));
  EXPECT_THAT(CheckError(Done(segments[0], kTestVocab)), HasSubstr("with token 298"));
  done = Done(segments[0], 5);
  done.logits = {0, 0, 0, 0};
  EXPECT_THAT(CheckError(done), HasSubstr("4 bytes of logits"));
  // A stage that could not choose has no token.
  done = Done(segments[0], -1);
  done.results[0].has_failed = true;
  EXPECT_EQ(CheckError(done), "");
}

TEST_F(PipelineTest, AStageThatHasAllLayersGoesOnUntilAStopToken) {
  Open("a");
  LiveRequest& live = Add(20, {.max_tokens = 10, .stop_tokens = {7}});
  const auto segments = Send({{&live, 20}});
  EXPECT_EQ(segments[0].more, 9u);
  wire::Done done = Done(segments[0], 5);
  EXPECT_THAT(Take(done), ElementsAre(Taken{0, 20, 5}));
  // The token is in flight already, as a frame of decode.
  EXPECT_EQ(live.sent, 21u);
  EXPECT_EQ(live.in_flight, 1u);
  EXPECT_EQ(pipeline_->decodes().frames, 1u);
  done.results[0].end = 21;
  done.results[0].token = 7;
  EXPECT_THAT(Take(done), ElementsAre(Taken{20, 21, 7}));
  EXPECT_TRUE(pipeline_->empty());
}

TEST_F(PipelineTest, AcceptedDraftTokensHaveResults) {
  // On nodes that do not take frames ahead, all draft tokens are in one frame.
  network_.protocol = wire::kGroupProtocol;
  engine::Request request;
  request.draft = {.kind = engine::DraftKind::kMtp, .most = 4};
  LiveRequest& live = Add(19, std::move(request));
  TakeFirstToken(live, 3);
  live.sent = 19;
  drafts_.TakeStageDrafts(live, std::vector<int32_t>{11, 12, 13}, live.length());
  const auto segments = Send({{&live, 1}}, /*is_decode=*/true);
  EXPECT_EQ(segments[0].draft_count, 3u);
  EXPECT_THAT(std::vector(segments[0].tokens.begin() + 1, segments[0].tokens.end()),
              ElementsAre(11, 12, 13));
  const std::vector<int32_t> drafts{11, 12, 13};
  EXPECT_EQ(segments[0].after, kv::ExtendPrefixHash(live.history->HashAt(20), drafts));
  wire::Done done = Done(segments[0], 11);
  EXPECT_THAT(Take(done), ElementsAre(Taken{19, 20, 11}));
  EXPECT_EQ(live.sent, 21u);
  // The second draft token was wrong: nothing follows.
  done.results[0].end = 21;
  done.results[0].token = 99;
  EXPECT_THAT(Take(done), ElementsAre(Taken{20, 21, 99}));
  EXPECT_TRUE(pipeline_->empty());
}

// Draft tokens in two frames: the second continues after those of the first.
class PipelineAheadTest : public PipelineTest {
 protected:
  PipelineAheadTest() {
    // A link between the stages that takes as long as they do: there is room for four frames.
    const std::vector<wire::Hop> hops(2, {.queue_ns = 0, .compute_ns = 100, .bytes_out = 0});
    frame_times_.Learn(1, hops, 400);
    engine::Request request;
    request.draft = {.kind = engine::DraftKind::kMtp, .most = 8};
    request.stop_tokens = {7};
    live_ = &Add(19, std::move(request));
    TakeFirstToken(*live_, 3);
    live_->sent = 19;
    live_->phase = RequestPhase::kDecode;
    live_->transfer = {};
    first_ = Send({{live_, 1}}, /*is_decode=*/true)[0];
    live_->chain.step = {.rows = 2, .frames = 3};
    second_ = Ahead({11, 12});
    third_ = Ahead({13, 14});
  }
  wire::WorkSegment Ahead(std::vector<int32_t> drafts) {
    EXPECT_TRUE(pipeline_->MayDraftAhead(*live_));
    pipeline_->SendAhead(*live_, std::move(drafts));
    return network_.Take<wire::Work>().at(0).second.segments.at(0);
  }
  // Answers the token at position `end`, and does the conductor's part.
  size_t Answer(const wire::WorkSegment& segment, uint32_t end, int32_t token,
                std::vector<wire::Hop> hops = {}) {
    wire::Done done{.route = 7, .results = {}, .hops = std::move(hops), .logits = {}};
    wire::SegmentResult& result = done.results.emplace_back();
    result.sequence = segment.sequence;
    result.attempt = segment.attempt;
    result.end = end;
    result.token = token;
    EXPECT_EQ(CheckError(done), "");
    size_t answers = 0;
    pipeline_->Take(done, network_.clock().NowNs(),
                    [&](const Segment&, const wire::SegmentResult&, std::span<const float>) {
                      ++answers;
                      live_->request.TakeChoice(engine::Choice{.id = token}, 1);
                      live_->history->Append({&token, 1});
                      live_->FollowChain(token);
                    });
    return answers;
  }

  LiveRequest* live_;
  wire::WorkSegment first_, second_, third_;
};

TEST_F(PipelineAheadTest, FramesAreNamedByTheHashOfWhatTheyContinue) {
  EXPECT_EQ(first_.draft_count, 0u);
  EXPECT_EQ(second_.begin, 20u);
  EXPECT_EQ(second_.draft_count, 2u);
  EXPECT_EQ(second_.before, first_.after);
  EXPECT_EQ(third_.begin, 22u);
  EXPECT_EQ(third_.before, second_.after);
  EXPECT_EQ(live_->in_flight, 3u);
  // Only the first frame counts for others, and as many are in flight as wanted.
  EXPECT_EQ(pipeline_->decodes().frames, 1u);
  EXPECT_FALSE(pipeline_->MayDraftAhead(*live_));
  EXPECT_EQ(counters_.frames_ahead, 2u);
}

TEST_F(PipelineAheadTest, AcceptedFramesAheadContinueWithoutAMessage) {
  EXPECT_EQ(Answer(first_, 20, 11), 1u);
  EXPECT_EQ(live_->sent, 21u);
  EXPECT_EQ(live_->in_flight, 2u);
  EXPECT_EQ(Answer(second_, 21, 12), 1u);
  EXPECT_EQ(Answer(second_, 22, 13), 1u);
  EXPECT_EQ(Answer(third_, 23, 14), 1u);
  EXPECT_EQ(Answer(third_, 24, 15), 1u);
  EXPECT_TRUE(pipeline_->empty());
  EXPECT_TRUE(live_->lacks_last_token());
  EXPECT_THAT(network_.Take<wire::Cancel>(), IsEmpty());
  EXPECT_EQ(counters_.frames_ahead_cancelled, 0u);
}

// The first stage computed the second frame while the second one had the first, and before the
// front end knew that its token was right.
TEST_F(PipelineAheadTest, AcceptedFramesAheadCountAsFilledBubbles) {
  const auto hops = [](uint64_t waited_ns) {
    return std::vector<wire::Hop>{{.queue_ns = waited_ns, .compute_ns = 100, .bytes_out = 0},
                                  {.queue_ns = 0, .compute_ns = 100, .bytes_out = 0}};
  };
  network_.virtual_clock.AdvanceBy(200);
  Answer(first_, 20, 11, hops(0));
  EXPECT_EQ(counters_.bubbles_filled, 0u);
  network_.virtual_clock.AdvanceBy(100);
  Answer(second_, 21, 12, hops(100));
  EXPECT_EQ(counters_.bubbles_filled, 1u);
  EXPECT_EQ(counters_.bubbles_filled_ns, 100);
  // Wrong draft tokens fill no bubbles, even if they were computed.
  Answer(second_, 22, 99);
  network_.virtual_clock.AdvanceBy(100);
  Answer(third_, 23, 14, hops(200));
  EXPECT_EQ(counters_.bubbles_filled, 1u);
}

// A hostile stage says times that no clock can hold, of more stages than there are.
TEST_F(PipelineAheadTest, TimesThatCannotBeTrueAreLimited) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  constexpr auto kLatest = uint64_t{std::numeric_limits<int64_t>::max()};
  network_.virtual_clock.AdvanceBy(200);
  Answer(first_, 20, 11, {{.queue_ns = kMost, .compute_ns = kMost, .bytes_out = kMost}});
  network_.virtual_clock.AdvanceBy(100);
  Answer(second_, 21, 12, std::vector<wire::Hop>(5, {.queue_ns = kLatest, .compute_ns = kLatest}));
  const auto totals = times_.Totals(network_.clock().NowNs());
  EXPECT_LE(totals[0].compute_ns, 2 * 3600 * uint64_t{kNsPerSecond});
  EXPECT_LE(counters_.bubbles_filled_ns, 100);
}

TEST_F(PipelineAheadTest, RejectedFramesAreCancelledOnEveryStage) {
  EXPECT_EQ(Answer(first_, 20, 99), 1u);
  // The next frame may be sent at once; results and refusals of the others are ignored.
  EXPECT_TRUE(live_->lacks_last_token());
  EXPECT_EQ(counters_.frames_ahead_cancelled, 2u);
  // The next frame does not wait for messages that cancel others.
  EXPECT_THAT(network_.Take<wire::Cancel>(), IsEmpty());
  pipeline_->SendCancels();
  const auto cancels = network_.Take<wire::Cancel>();
  ASSERT_EQ(cancels.size(), 2u);
  EXPECT_EQ(cancels[0].second.attempt, third_.attempt);
  EXPECT_EQ(Answer(second_, 21, 12), 0u);
  EXPECT_EQ(pipeline_->Refuse(third_.attempt)->live, nullptr);
  EXPECT_EQ(pipeline_->decodes().frames, 0u);
}

TEST_F(PipelineAheadTest, AWrongTokenInTheMiddleOfAFrame) {
  EXPECT_EQ(Answer(first_, 20, 11), 1u);
  EXPECT_EQ(Answer(second_, 21, 98), 1u);
  EXPECT_TRUE(live_->lacks_last_token());
  EXPECT_EQ(live_->sent, 21u);
  pipeline_->SendCancels();
  EXPECT_EQ(network_.Take<wire::Cancel>().size(), 2u);
}

TEST_F(PipelineAheadTest, ARefusedFrameTakesThoseBehindItAlong) {
  const auto refused = pipeline_->Refuse(second_.attempt);
  EXPECT_EQ(refused->live, live_);
  EXPECT_TRUE(refused->is_ahead);
  // No cancel is needed: the stage that refused it refuses the next one, too.
  EXPECT_THAT(network_.Take<wire::Cancel>(), IsEmpty());
  EXPECT_EQ(live_->in_flight, 1u);
  EXPECT_THAT(live_->chain.tokens, IsEmpty());
  EXPECT_EQ(Answer(first_, 20, 11), 1u);
  EXPECT_TRUE(live_->lacks_last_token());
}

TEST_F(PipelineAheadTest, ARequestThatEndsIsNotComputedAhead) {
  Answer(first_, 20, 11);
  Answer(second_, 21, 12);
  pipeline_->Halt(*live_);
  EXPECT_EQ(network_.Take<wire::Cancel>().size(), 2u);
  // Results of accepted draft tokens arrive in any case.
  EXPECT_FALSE(pipeline_->IsComputing(*live_));
  pipeline_->Abandon(*live_);
  EXPECT_EQ(Answer(second_, 22, 13), 0u);
}

TEST_F(PipelineAheadTest, OtherWorkGoesFirst) {
  Answer(first_, 20, 99);
  network_.Take<wire::Cancel>();
  Send({{live_, 1}}, /*is_decode=*/true);
  live_->chain.step = {.rows = 2, .frames = 3};
  EXPECT_TRUE(pipeline_->MayDraftAhead(*live_));
  LiveRequest& prompt = Add(300);
  Send({{&prompt, 128}});
  EXPECT_FALSE(pipeline_->MayDraftAhead(*live_));
}

TEST_F(PipelineTest, ARefusedSegmentIsNotInFlight) {
  LiveRequest& live = Add(300);
  const auto segments = Send({{&live, 128}});
  const auto refused = pipeline_->Refuse(segments[0].attempt);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->live, &live);
  EXPECT_EQ(live.in_flight, 0u);
  EXPECT_FALSE(pipeline_->Refuse(segments[0].attempt));
}

TEST_F(PipelineTest, ResultsForARequestThatHasEndedAreDropped) {
  LiveRequest& a = Add(20);
  LiveRequest& b = Add(20);
  const auto segments = Send({{&a, 20}, {&b, 20}});
  EXPECT_TRUE(pipeline_->IsComputing(a));
  pipeline_->Abandon(a);
  EXPECT_FALSE(pipeline_->IsComputing(a));
  EXPECT_THAT(Take(Done(segments[0], 5)), IsEmpty());
  EXPECT_THAT(Take(Done(segments[1], 6)), ElementsAre(Taken{0, 20, 6}));
}

TEST_F(PipelineTest, OnlyStagesThatDecodeByThemselvesAreHalted) {
  LiveRequest& on_two = Add(20);
  Send({{&on_two, 20}});
  pipeline_->Halt(on_two);
  EXPECT_THAT(network_.Take<wire::Halt>(), IsEmpty());
  EXPECT_TRUE(pipeline_->IsComputing(on_two));
  Open("a");
  LiveRequest& on_one = Add(20);
  const auto segments = Send({{&on_one, 20}});
  pipeline_->Halt(on_one);
  pipeline_->Halt(on_one);
  const auto halts = network_.Take<wire::Halt>();
  ASSERT_EQ(halts.size(), 1u);
  EXPECT_EQ(halts[0].second.attempt, segments[0].attempt);
  // Rows that the stage has computed until the halt are valid.
  EXPECT_FALSE(pipeline_->IsComputing(on_one));
}

TEST_F(PipelineTest, LogitsAreDividedAmongTheSegmentsThatAskForThem) {
  LiveRequest& all = Add(3);
  all.logits = LogitsCollector([](std::span<const float>) { return Ok(); }, 64, 0);
  LiveRequest& none = Add(20);
  engine::Request edited;
  edited.edit_logits = [](std::span<const int32_t>, std::span<float>) {};
  LiveRequest& last = Add(20, std::move(edited));
  const auto segments = Send({{&all, 3}, {&none, 20}, {&last, 20}});
  wire::Done done = Done(segments[0]);
  done.results.push_back(Done(segments[1], 5).results[0]);
  done.results.push_back(Done(segments[2]).results[0]);
  std::vector<float> logits(4 * kTestVocab);
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(i / kTestVocab);
  const auto* bytes = reinterpret_cast<const uint8_t*>(logits.data());
  done.logits = {bytes, bytes + logits.size() * sizeof(float)};
  ASSERT_EQ(CheckError(done), "");
  std::vector<std::pair<size_t, float>> rows;  // how many, and the first number
  pipeline_->Take(done, 0,
                  [&](const Segment&, const wire::SegmentResult&, std::span<const float> part) {
                    rows.emplace_back(part.size() / kTestVocab, part.empty() ? -1 : part[0]);
                  });
  EXPECT_THAT(rows, ElementsAre(testing::Pair(3, 0), testing::Pair(0, -1), testing::Pair(1, 3)));
}

TEST_F(PipelineTest, StatesAreAsWideAsTheModel) {
  LiveRequest& states = Add(3);
  const auto sink = [](std::span<const float>) { return Ok(); };
  states.logits = LogitsCollector(sink, 64, 0, wire::Wanted::kAllStates);
  LiveRequest& last = Add(20);
  last.logits = LogitsCollector(sink, 64, 19, wire::Wanted::kLastState);
  const auto segments = Send({{&states, 3}, {&last, 20}});
  EXPECT_EQ(segments[0].wanted, wire::Wanted::kAllStates);
  EXPECT_EQ(segments[1].wanted, wire::Wanted::kLastState);
  wire::Done done = Done(segments[0]);
  done.results.push_back(Done(segments[1]).results[0]);
  done.logits.resize(3 * kTestEmbedding * sizeof(float));
  EXPECT_THAT(CheckError(done), HasSubstr("bytes of logits or states"));
  done.logits.resize(4 * kTestEmbedding * sizeof(float));
  ASSERT_EQ(CheckError(done), "");
  std::vector<size_t> widths;
  pipeline_->Take(done, 0,
                  [&](const Segment&, const wire::SegmentResult&, std::span<const float> rows) {
                    widths.push_back(rows.size());
                  });
  EXPECT_THAT(widths, ElementsAre(3 * kTestEmbedding, kTestEmbedding));
}

TEST_F(PipelineTest, StagesSayWhatAFrameTook) {
  LiveRequest& live = Add(20);
  const auto segments = Send({{&live, 20}});
  network_.virtual_clock.AdvanceBy(100);
  wire::Done done = Done(segments[0], 5);
  done.hops = {{.queue_ns = 5, .compute_ns = 30, .bytes_out = 50},
               {.queue_ns = 5, .compute_ns = 40, .bytes_out = 50}};
  Take(done);
  const auto totals = times_.Totals(network_.clock().NowNs());
  ASSERT_EQ(totals.size(), 2u);
  EXPECT_EQ(totals[0].compute_ns, 30u);
  EXPECT_EQ(totals[1].compute_ns, 40u);
  // The frame took 100 ns, of which each stage computed a part.
  EXPECT_EQ(totals[0].idle_ns, 70u);
  EXPECT_EQ(totals[1].idle_ns, 60u);
  // 20 ns were spent on the way, a part of them before the first stage.
  EXPECT_GT(totals[0].send_ns, 0u);
  EXPECT_LT(totals[0].send_ns + totals[1].send_ns, 20u);
}

}  // namespace
}  // namespace aster::conduct
