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

class LostGpuOnARoute : public testing::TestWithParam<uint64_t> {};

TEST_P(LostGpuOnARoute, TheNodeGoesOnWithItsProcessor) {
  const std::vector<int32_t> tokens = model::RandomTokens(200, 298);
  const auto whole = plan::TestModel::Get().MakeWhole();
  SystemClock clock;
  engine::Scheduler scheduler(*whole, nullptr, clock);
  net::MemoryHub hub(clock);
  const auto nodes = plan::TestNodes(2);
  const auto first_network = hub.Join(nodes[0].id), second_network = hub.Join(nodes[1].id);
  const auto front = hub.Join(plan::TestNode(99));
  stage::TestSliceSource first_source;
  stage::GpuSliceSource second_source({.batches = GetParam()});
  stage::Node first(*first_network, first_source), second(*second_network, second_source);
  first.Start();
  second.Start();
  Conductor conductor(*front, plan::TestModel::Get().route_model(), nullptr,
                      TestPlan("0:1,2:out", 2), {},
                      [](const plan::Plan& broken, std::span<const wire::NodeId> lost,
                         const Error& why) -> Result<plan::Plan> {
                        // No node is lost: the same ones open the next route.
                        EXPECT_TRUE(lost.empty());
                        EXPECT_NE(why.message().find("has lost the GPU"), std::string::npos);
                        return broken;
                      });
  ASSERT_TRUE(conductor.Open().ok());

  engine::Request request;
  request.max_tokens = 12;
  request.sampling.temperature = 1;
  request.sampling.seed = 5;
  engine::Sequence there = conductor.NewSequence(), here = scheduler.NewSequence();
  there.SetHistory(tokens);
  here.SetHistory(tokens);
  EXPECT_EQ(Answer(conductor, there, request), Answer(scheduler, here, request));
  EXPECT_EQ(conductor.counters().replans, 1u);
  EXPECT_EQ(second_source.with_gpu, 1);
  EXPECT_EQ(second_source.without_gpu, 1);
  second.Stop();
  first.Stop();
}

// In its prompt, and in its answer.
INSTANTIATE_TEST_SUITE_P(AfterBatches, LostGpuOnARoute, testing::Values(0, 1, 4, 8));

}  // namespace
}  // namespace aster::conduct
