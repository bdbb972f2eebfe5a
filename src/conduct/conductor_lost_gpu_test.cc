// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A node that loses its GPU while a route computes: the route is opened again, the node computes
// with its processor, and the answer is the same.
#include <gtest/gtest.h>

#include "conduct/cluster_for_test.h"
#include "engine/scheduler.h"
#include "stage/gpu_slice_source_for_test.h"

namespace aster::conduct {
namespace {

engine::Request Sampled() {
  engine::Request request;
  request.max_tokens = 12;
  request.sampling.temperature = 1;
  request.sampling.seed = 5;
  return request;
}

// Two nodes, which open the same route again if it breaks.
class TwoNodes {
 public:
  TwoNodes(const std::string& split, stage::SliceSource& first, stage::SliceSource& second)
      : first_(*first_network_, first),
        second_(*second_network_, second),
        conductor_(*front_, plan::TestModel::Get().route_model(), nullptr, TestPlan(split, 2), {},
                   [this](const plan::Plan& broken, std::span<const wire::NodeId> lost,
                          const Error& why) -> Result<plan::Plan> {
                     EXPECT_TRUE(lost.empty());
                     why_ = why.message();
                     return broken;
                   }) {
    first_.Start();
    second_.Start();
  }
  ~TwoNodes() {
    second_.Stop();
    first_.Stop();
  }

  Conductor& conductor() { return conductor_; }
  const std::string& why() const { return why_; }  // the route broke

 private:
  SystemClock clock_;
  net::MemoryHub hub_{clock_};
  const std::vector<plan::PlanNode> nodes_ = plan::TestNodes(2);
  const std::unique_ptr<net::Network> first_network_ = hub_.Join(nodes_[0].id);
  const std::unique_ptr<net::Network> second_network_ = hub_.Join(nodes_[1].id);
  const std::unique_ptr<net::Network> front_ = hub_.Join(plan::TestNode(99));
  stage::Node first_;
  stage::Node second_;
  std::string why_;
  Conductor conductor_;
};

void ExpectTheAnswerOfOneMachine(Conductor& conductor) {
  ASSERT_TRUE(conductor.Open().ok());
  const std::vector<int32_t> tokens = model::RandomTokens(200, 298);
  const auto whole = plan::TestModel::Get().MakeWhole();
  SystemClock clock;
  engine::Scheduler scheduler(*whole, nullptr, clock);
  engine::Sequence there = conductor.NewSequence(), here = scheduler.NewSequence();
  there.SetHistory(tokens);
  here.SetHistory(tokens);
  EXPECT_EQ(Answer(conductor, there, Sampled()), Answer(scheduler, here, Sampled()));
}

class LostGpuOnARoute : public testing::TestWithParam<uint64_t> {};

TEST_P(LostGpuOnARoute, TheNodeGoesOnWithItsProcessor) {
  stage::TestSliceSource first;
  stage::GpuSliceSource second({.batches = GetParam()});
  TwoNodes nodes("0:1,2:out", first, second);
  ExpectTheAnswerOfOneMachine(nodes.conductor());
  EXPECT_NE(nodes.why().find("has lost the GPU"), std::string::npos) << nodes.why();
  EXPECT_EQ(nodes.conductor().counters().replans, 1u);
  EXPECT_EQ(second.with_gpu, 1);
  EXPECT_EQ(second.without_gpu, 1);
}

// In its prompt, and in its answer.
INSTANTIATE_TEST_SUITE_P(AfterBatches, LostGpuOnARoute, testing::Values(0, 1, 4, 8));

// Frames of several requests are in flight together: a device computes one while another waits for
// columns.
TEST(GpusOfAGroup, AnswerSeveralAtOnce) {
  stage::GpuSliceSource first({.looks = 3}, /*layers=*/2), second({.looks = 1}, /*layers=*/4);
  TwoNodes nodes("a+b=0:out", first, second);
  ASSERT_TRUE(nodes.conductor().Open().ok());
  const auto whole = plan::TestModel::Get().MakeWhole();
  SystemClock clock;
  engine::Scheduler scheduler(*whole, nullptr, clock);
  constexpr size_t kRequests = 5;
  std::vector<std::vector<int32_t>> expected, answers(kRequests);
  std::vector<engine::Sequence> sequences;
  for (size_t i = 0; i < kRequests; ++i) {
    const auto tokens = model::RandomTokens(20 + 45 * i, 298, /*seed=*/i);
    engine::Sequence here = scheduler.NewSequence();
    here.SetHistory(tokens);
    expected.push_back(Answer(scheduler, here, Sampled()));
    sequences.push_back(nodes.conductor().NewSequence());
    sequences.back().SetHistory(tokens);
  }
  for (size_t i = 0; i < kRequests; ++i) {
    engine::Request request = Sampled();
    request.sequence = &sequences[i];
    request.on_token = [&answers, i](const engine::Delta& delta) {
      answers[i].push_back(delta.choice.id);
    };
    ASSERT_TRUE(nodes.conductor().Submit(std::move(request)).ok());
  }
  while (!nodes.conductor().idle()) ASSERT_TRUE(nodes.conductor().Step().ok());
  EXPECT_EQ(answers, expected);
}

// Which node of a group loses its GPU, and after how many batches: one has several for a token.
struct LossInGroup {
  bool is_leader;
  uint64_t batches;
};
class LostGpuInAGroup : public testing::TestWithParam<LossInGroup> {};

TEST_P(LostGpuInAGroup, TheNodeGoesOnWithItsProcessor) {
  // Each GPU takes some time for the columns that the others wait for.
  const engine::FakeGpuPlan loses = {.batches = GetParam().batches, .looks = 2};
  const engine::FakeGpuPlan lasts = {.looks = 1};
  stage::GpuSliceSource first(GetParam().is_leader ? loses : lasts, /*layers=*/2);
  stage::GpuSliceSource second(GetParam().is_leader ? lasts : loses, /*layers=*/2);
  TwoNodes nodes("2*a+b=0:out", first, second);
  ExpectTheAnswerOfOneMachine(nodes.conductor());
  const bool is_lost = GetParam().batches != engine::kUnlimited;
  EXPECT_EQ(nodes.conductor().counters().replans, is_lost ? 1u : 0u) << nodes.why();
  EXPECT_EQ((GetParam().is_leader ? first : second).without_gpu, is_lost ? 1 : 0);
  EXPECT_EQ((GetParam().is_leader ? second : first).without_gpu, 0);
}

// While it prefills, and while it decodes; and never.
INSTANTIATE_TEST_SUITE_P(AfterBatches, LostGpuInAGroup,
                         testing::Values(LossInGroup{true, 0}, LossInGroup{true, 3},
                                         LossInGroup{true, 60}, LossInGroup{false, 0},
                                         LossInGroup{false, 3}, LossInGroup{false, 60},
                                         LossInGroup{false, engine::kUnlimited}));

}  // namespace
}  // namespace aster::conduct
