// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A node with a GPU and one without: either may prefill or decode, KV rows are sent between the
// memories of both, and answers are those of one machine.
#include <gtest/gtest.h>

#include "conduct/cluster_for_test.h"
#include "engine/scheduler.h"
#include "stage/gpu_slice_source_for_test.h"

namespace aster::conduct {
namespace {

constexpr uint32_t kGpuNodesVocab = 298;

// Node a has a GPU, whose batches end late and out of order; node b has none.
class GpuNodes {
 public:
  GpuNodes(uint32_t gpu_layers, uint64_t kv_bytes) : gpu_source_({.looks = 3}, gpu_layers) {
    options_.route.kv_bytes = kv_bytes;
    a_.Start();
    b_.Start();
  }
  ~GpuNodes() {
    b_.Stop();
    a_.Stop();
  }

  std::unique_ptr<Conductor> Conduct(const std::string& split) {
    return std::make_unique<Conductor>(*front_, plan::TestModel::Get().route_model(), nullptr,
                                       TestPlan(split, 2), options_, nullptr);
  }

 private:
  SystemClock clock_;
  net::MemoryHub hub_{clock_};
  const std::vector<plan::PlanNode> nodes_ = plan::TestNodes(2);
  const std::unique_ptr<net::MemoryNetwork> a_network_ = hub_.Join(nodes_[0].id);
  const std::unique_ptr<net::MemoryNetwork> b_network_ = hub_.Join(nodes_[1].id);
  const std::unique_ptr<net::MemoryNetwork> front_ = hub_.Join(plan::TestNode(99));
  stage::GpuSliceSource gpu_source_;
  stage::TestSliceSource plain_source_;
  stage::Node a_{*a_network_, gpu_source_};
  stage::Node b_{*b_network_, plain_source_};
  ConductorOptions options_;
};

// The answers of three requests that run at the same time, each twice: the second time as the next
// turn of its sequence.
std::vector<std::vector<int32_t>> AnswersBesideEachOther(engine::Generator& generator) {
  std::vector<engine::Sequence> sequences;
  for (uint64_t i = 0; i < 3; ++i) {
    sequences.push_back(generator.NewSequence());
    sequences.back().SetHistory(model::RandomTokens(250, kGpuNodesVocab, i));
  }
  for (int turn = 0; turn < 2; ++turn) {
    for (engine::Sequence& sequence : sequences) {
      engine::Request request;
      request.sequence = &sequence;
      request.max_tokens = 6;
      request.sampling.temperature = 1;
      request.sampling.seed = 11;
      request.on_finish = [](const engine::Finish& finish) {
        EXPECT_TRUE(finish.status.ok()) << finish.status.error().message();
      };
      EXPECT_TRUE(generator.Submit(std::move(request)).ok());
    }
    while (!generator.idle()) EXPECT_TRUE(generator.Step().ok());
    for (engine::Sequence& sequence : sequences) sequence.Append(3);
  }
  std::vector<std::vector<int32_t>> texts;
  for (const engine::Sequence& sequence : sequences) texts.push_back(sequence.tokens());
  return texts;
}

struct GpuWay {
  const char* split;
  uint32_t gpu_layers;
};

class EveryGpuWay : public testing::TestWithParam<GpuWay> {
 protected:
  EveryGpuWay() {
    const auto whole = plan::TestModel::Get().MakeWhole();
    SystemClock clock;
    engine::Scheduler scheduler(*whole, nullptr, clock);
    wanted_ = AnswersBesideEachOther(scheduler);
    wanted_hash_ = LogitsHash(scheduler, text_);
  }

  const std::vector<int32_t> text_ = model::RandomTokens(200, kGpuNodesVocab, 9);
  std::vector<std::vector<int32_t>> wanted_;
  Hash128 wanted_hash_;
};

TEST_P(EveryGpuWay, GivesTheSameBits) {
  const bool transfers = std::string(GetParam().split).find("decode") != std::string::npos;
  GpuNodes nodes(GetParam().gpu_layers, uint64_t{1} << 24);
  const auto conductor = nodes.Conduct(GetParam().split);
  ASSERT_TRUE(conductor->Open().ok());
  EXPECT_EQ(LogitsHash(*conductor, text_), wanted_hash_);
  EXPECT_EQ(AnswersBesideEachOther(*conductor), wanted_);
  EXPECT_EQ(conductor->counters().transferred_bytes > 0, transfers);
}

// Rows of a preempted request are freed, and computed or sent again.
TEST_P(EveryGpuWay, GivesTheSameBitsWhereMemoryIsShort) {
  GpuNodes nodes(GetParam().gpu_layers, uint64_t{600} << 10);
  const auto conductor = nodes.Conduct(GetParam().split);
  ASSERT_TRUE(conductor->Open().ok());
  EXPECT_EQ(AnswersBesideEachOther(*conductor), wanted_);
}

INSTANTIATE_TEST_SUITE_P(Splits, EveryGpuWay,
                         testing::Values(GpuWay{"a=0:out decode b=0:out", 4},
                                         GpuWay{"a=0:out decode b=0:out", 2},
                                         GpuWay{"b=0:out decode a=0:out", 4},
                                         GpuWay{"b=0:out decode a=0:out", 2},
                                         GpuWay{"a=0:1,b=2:out decode b=0:1,a=2:out", 1},
                                         GpuWay{"a=0:1,b=2:out", 2}, GpuWay{"b=0:1,a=2:out", 1}),
                         [](const auto& way) { return std::to_string(way.index); });

}  // namespace
}  // namespace aster::conduct
