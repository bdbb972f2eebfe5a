// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/frame_schedule.h"

#include <gmock/gmock.h>

#include "conduct/parts_for_test.h"

namespace aster::conduct {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr Path kTwoStages{0, 2};
constexpr Path kDecodeStage{2, 3};

// The number of tokens of each request.
std::vector<std::pair<engine::RequestId, uint32_t>> Items(const std::optional<Frame>& frame) {
  std::vector<std::pair<engine::RequestId, uint32_t>> items;
  if (!frame) return items;
  for (const FrameItem& item : frame->items) {
    items.emplace_back(item.live->request.id(), item.count);
  }
  return items;
}

class FrameScheduleTest : public testing::Test {
 protected:
  LiveRequest& Add(size_t prompt, Path prefill = kTwoStages, Path decode = kTwoStages) {
    LiveRequest& live = *running_.emplace_back(requests_.Make(prompt));
    live.phase = RequestPhase::kPrefill;
    live.prefill_path = prefill;
    live.decode_path = decode;
    return live;
  }
  LiveRequest& AddReady(Path decode = kTwoStages) {
    LiveRequest& live = Add(10, decode, decode);
    live.sent = 9;
    return live;
  }
  // Notes the frame as sent, like Pipeline.
  std::optional<Frame> NextPrefill(Path path = kTwoStages, size_t in_flight = 0) {
    const auto frame = schedule_.NextPrefill(running_, path, in_flight);
    if (!frame) return frame;
    for (const FrameItem& item : frame->items) {
      item.live->sent += item.count;
      ++item.live->in_flight;
    }
    return frame;
  }

  TestRequests requests_;
  std::vector<std::unique_ptr<LiveRequest>> running_;
  FrameSchedule schedule_{{.chunk_pages = 2, .frames_per_stage = 2}};
};

// The first frames are as long as can be computed in time according to the plan.
TEST_F(FrameScheduleTest, FirstFramesAreAsLongAsIsExpected) {
  const auto first = [&](double expected_token_ns) {
    FrameSchedule schedule({.chunk_pages = 2,
                            .frames_per_stage = 2,
                            .longest_frame_ns = 750 * kNsPerMs,
                            .expected_token_ns = expected_token_ns});
    return Items(schedule.NextPrefill(running_, kTwoStages, 0)).at(0).second;
  };
  Add(2000);
  EXPECT_EQ(first(0), 16u);
  EXPECT_EQ(first(2.7e6), 256u);  // 0.69 s
  EXPECT_EQ(first(4e6), 128u);    // 0.51 s
  EXPECT_EQ(first(12e6), 32u);    // 0.38 s
  EXPECT_EQ(first(1e12), 16u);
}

TEST_F(FrameScheduleTest, SlowStagesGetSmallFrames) {
  FrameSchedule schedule(
      {.chunk_pages = 2, .frames_per_stage = 2, .longest_frame_ns = 750 * kNsPerMs});
  Add(2000);
  Add(2000);
  const auto next_tokens = [&] {
    uint32_t sum = 0;
    const auto frame = schedule.NextPrefill(running_, kTwoStages, /*in_flight=*/0);
    for (const FrameItem& item : frame.value().items) {
      item.live->sent += item.count;
      sum += item.count;
    }
    return sum;
  };
  // The first frame's time is unknown. Then a token takes 10 ms, so that 64 are computed in time.
  for (const uint32_t tokens : {16u, 32u, 64u, 64u}) {
    EXPECT_EQ(next_tokens(), tokens);
    schedule.NotePrefill(tokens, tokens * 10 * kNsPerMs);
  }
  // Fast stages get whole pages again, once requests are at a page boundary.
  schedule.NotePrefill(64, kNsPerMs);
  schedule.NotePrefill(128, kNsPerMs);
  next_tokens();
  EXPECT_EQ(next_tokens(), 256u);
}

TEST_F(FrameScheduleTest, PromptsAreCutAtPagesAndIntoSinglePagesNearTheirEnd) {
  Add(1000).sent = 100;
  // The first frame goes to the page's end, and one page further.
  EXPECT_THAT(Items(NextPrefill()), ElementsAre(Pair(1, 28 + 128)));
  EXPECT_THAT(Items(NextPrefill()), ElementsAre(Pair(1, 256)));
  // 488 tokens are left: less than a frame for each of the two stages.
  EXPECT_THAT(Items(NextPrefill()), ElementsAre(Pair(1, 128)));
  EXPECT_THAT(Items(NextPrefill()), ElementsAre(Pair(1, 128)));
  EXPECT_THAT(Items(NextPrefill()), ElementsAre(Pair(1, 128)));
  EXPECT_THAT(Items(NextPrefill()), ElementsAre(Pair(1, 104)));
  EXPECT_EQ(NextPrefill(), std::nullopt);
}

TEST_F(FrameScheduleTest, PromptsTakeTurns) {
  Add(2000);
  Add(2000);
  Add(30);
  EXPECT_THAT(Items(NextPrefill()), ElementsAre(Pair(1, 128), Pair(2, 128)));
  EXPECT_THAT(Items(NextPrefill()), ElementsAre(Pair(3, 30), Pair(1, 128)));
  EXPECT_THAT(Items(NextPrefill()), ElementsAre(Pair(2, 128), Pair(1, 128)));
}

// The nodes of a group compute one prompt while columns of another one are sent.
TEST_F(FrameScheduleTest, FramesOfASingleStageAreOfDifferentPrompts) {
  for (int i = 0; i < 2; ++i) Add(2000, kDecodeStage, kDecodeStage);
  EXPECT_THAT(Items(NextPrefill(kDecodeStage, 0)), ElementsAre(Pair(1, 256)));
  EXPECT_THAT(Items(NextPrefill(kDecodeStage, 1)), ElementsAre(Pair(2, 256)));
  EXPECT_EQ(NextPrefill(kDecodeStage, 2), std::nullopt);
  // The first frame is done.
  running_[0]->in_flight = 0;
  EXPECT_THAT(Items(NextPrefill(kDecodeStage, 1)), ElementsAre(Pair(1, 256)));
  // Short prompts share a frame, and a new one does not wait for prompts in flight.
  for (int i = 0; i < 2; ++i) Add(31, kDecodeStage, kDecodeStage);
  EXPECT_THAT(Items(NextPrefill(kDecodeStage, 1)), ElementsAre(Pair(3, 31), Pair(4, 31)));
  // If all prompts are in flight, the next frame continues one of them.
  EXPECT_THAT(Items(NextPrefill(kDecodeStage, 1)), ElementsAre(Pair(1, 256)));
}

TEST_F(FrameScheduleTest, AsManyPromptFramesAsStagesCanWorkOn) {
  Add(5000);
  EXPECT_NE(NextPrefill(kTwoStages, 3), std::nullopt);
  EXPECT_EQ(NextPrefill(kTwoStages, 4), std::nullopt);
}

TEST_F(FrameScheduleTest, EachPathHasPromptsOfItsOwn) {
  Add(300, kTwoStages, kDecodeStage);
  Add(40, kDecodeStage, kDecodeStage);
  EXPECT_THAT(Items(NextPrefill(kDecodeStage)), ElementsAre(Pair(2, 40)));
  // The decode path computes the last token.
  EXPECT_THAT(Items(NextPrefill()), ElementsAre(Pair(1, 128)));
  EXPECT_THAT(Items(NextPrefill()), ElementsAre(Pair(1, 128)));
  EXPECT_THAT(Items(NextPrefill()), ElementsAre(Pair(1, 43)));
}

TEST_F(FrameScheduleTest, NothingIsComputedOfARequestThatWaitsForRows) {
  Add(300, kTwoStages, kDecodeStage).phase = RequestPhase::kSyncing;
  EXPECT_EQ(NextPrefill(), std::nullopt);
  // The prompt is computed, but its rows have not arrived.
  LiveRequest& live = Add(300, kTwoStages, kDecodeStage);
  live.sent = 299;
  EXPECT_THAT(schedule_.Decodes(running_, {}), IsEmpty());
  live.phase = RequestPhase::kTransferred;
  EXPECT_THAT(Items(schedule_.Decodes(running_, {}).at(0)), ElementsAre(Pair(2, 1)));
}

TEST_F(FrameScheduleTest, DecodesAreSharedOutAmongStages) {
  for (int i = 0; i < 5; ++i) AddReady();
  const auto frames = schedule_.Decodes(running_, {});
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_THAT(Items(frames[0]), ElementsAre(Pair(1, 1), Pair(2, 1), Pair(3, 1)));
  EXPECT_THAT(Items(frames[1]), ElementsAre(Pair(4, 1), Pair(5, 1)));
  // Segments in flight count: eight on two stages make groups of four.
  const auto behind = schedule_.Decodes(running_, {.frames = 1, .segments = 3});
  ASSERT_EQ(behind.size(), 1u);
  EXPECT_EQ(behind[0].items.size(), 4u);
  EXPECT_THAT(schedule_.Decodes(running_, {.frames = 2, .segments = 8}), IsEmpty());
}

TEST_F(FrameScheduleTest, WhereOneStageDecodesEachRequestHasAFrameOfItsOwn) {
  AddReady(kDecodeStage);
  AddReady(kDecodeStage);
  EXPECT_EQ(schedule_.Decodes(running_, {.frames = 7, .segments = 7}).size(), 2u);
}

}  // namespace
}  // namespace aster::conduct
