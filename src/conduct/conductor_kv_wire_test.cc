// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// KV transfers are compressed on routes that ask for it: the answer is close to one machine's, and
// requests for exact rows never use such rows.
#include <gtest/gtest.h>

#include "conduct/cluster_for_test.h"
#include "conduct/parts_for_test.h"
#include "conduct/prefix_search.h"
#include "engine/scheduler.h"

namespace aster::conduct {
namespace {

ConductorOptions Small() {
  ConductorOptions options;
  options.route.kv_encoding = wire::RowEncoding::kQ8;
  // No timeout is short enough to fail on a slow machine.
  options.ask_ns = options.fetch_silence_ns = 60 * kNsPerSecond;
  return options;
}

engine::Request AskingOverWire(uint64_t tokens) {
  engine::Request request;
  request.max_tokens = tokens;
  return request;
}

std::vector<float> LogitsOf(engine::Generator& generator, std::span<const int32_t> tokens) {
  std::vector<float> logits;
  const Status status = generator.LogitsOf(tokens, 64, [&](std::span<const float> row) {
    logits.insert(logits.end(), row.begin(), row.end());
    return Ok();
  });
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message());
  return logits;
}

class KvWire : public testing::Test {
 protected:
  const std::unique_ptr<engine::LocalModel> whole_ = plan::TestModel::Get().MakeWhole();
  SystemClock clock_;
  engine::Scheduler scheduler_{*whole_, nullptr, clock_};
  const std::vector<int32_t> tokens_ = model::RandomTokens(700, kTestVocab);
  TestCluster cluster_{3};

  std::unique_ptr<Conductor> Also(const std::string& plan, const ConductorOptions& options) {
    const plan::Plan stages = TestPlan(plan, 3);
    // Slices are packed one after the other, before nodes ask for them at the same time.
    for (const plan::PlanStage& stage : stages.AllStages())
      plan::TestModel::Get().Make(stage.slice, {});
    return std::make_unique<Conductor>(cluster_.front(), plan::TestModel::Get().route_model(),
                                       nullptr, stages, options);
  }
  std::vector<int32_t> Told(engine::Generator& generator, uint64_t count) {
    engine::Sequence sequence = generator.NewSequence();
    sequence.SetHistory(tokens_);
    return Answer(generator, sequence, AskingOverWire(count));
  }
};

// After the middle the logits are those of the decode path, with rows of the prefill path.
TEST_F(KvWire, LogitsBehindTheTransferAreCloseAndNotTheSame) {
  const std::vector<float> exact = LogitsOf(scheduler_, tokens_);
  for (const char* plan : {"a decode b", "a=0:1,b=2:out decode c", "a decode b=0:1,c=2:out"}) {
    TestCluster cluster(3);
    const auto conductor = cluster.Conduct(plan, Small());
    const std::vector<float> logits = LogitsOf(*conductor, tokens_);
    ASSERT_EQ(logits.size(), exact.size());
    double error = 0;
    double scale = 0;
    for (size_t i = 0; i < exact.size(); ++i) {
      if (i < exact.size() / 2) {
        ASSERT_EQ(logits[i], exact[i]);
      } else {
        error += (logits[i] - exact[i]) * (logits[i] - exact[i]);
        scale += exact[i] * exact[i];
      }
    }
    EXPECT_GT(error, 0) << plan;
    EXPECT_LT(error, scale * 0.001) << plan;
  }
}

TEST_F(KvWire, ARequestWithoutItOnTheSameNodesGetsExactBits) {
  auto small = cluster_.Conduct("a=0:1,b=2:out decode c", Small());
  // Two turns, so that rows of the decode path are sent to the prefill path, too (KV sync).
  engine::Sequence sequence = small->NewSequence();
  sequence.SetHistory(tokens_);
  Answer(*small, sequence, AskingOverWire(200));
  sequence.Append(std::span(tokens_).first(200));
  Answer(*small, sequence, AskingOverWire(20));
  const std::vector<int32_t> said = sequence.tokens();
  small.reset();
  const std::vector<int32_t> expected = Told(scheduler_, 40);
  for (const char* plan : {"a=0:1,b=2:out decode c", "a=0:1,b=2:out", "c", "b decode a"}) {
    ConductorOptions options = Small();
    options.route.kv_encoding = wire::RowEncoding::kF32;
    const auto exact = Also(plan, options);
    EXPECT_EQ(Told(*exact, 40), expected) << plan;
    // Rows of neither prompt nor answer are found.
    engine::Sequence later = exact->NewSequence();
    later.SetHistory(said);
    engine::Sequence here = scheduler_.NewSequence();
    here.SetHistory(said);
    EXPECT_EQ(Answer(*exact, later, AskingOverWire(10)),
              Answer(scheduler_, here, AskingOverWire(10)))
        << plan;
    EXPECT_EQ(LogitsHash(*exact, said), LogitsHash(scheduler_, said)) << plan;
  }
}

// Routes with compressed KV transfers find each other's rows, and get them compressed.
TEST_F(KvWire, ANodeThatAsksGetsTheOthersRows) {
  auto small = cluster_.Conduct("a=0:1,b=2:out decode c", Small());
  Told(*small, 5);
  small.reset();
  ConductorOptions options = Small();
  options.peers = [] {
    std::vector<KvPeer> peers;
    for (plan::PlanNode& node : plan::TestNodes(3)) peers.push_back({.node = node});
    return peers;
  };
  const auto other = Also("b", options);
  Told(*other, 5);
  EXPECT_GE(other->counters().fetched_tokens, 512u);
  EXPECT_EQ(other->counters().fetches_given_up, 0u);
}

TEST_F(KvWire, WhatIsKeptIsExactOrNotKept) {
  const auto small = cluster_.Conduct("a decode b", Small());
  engine::Sequence sequence = small->NewSequence();
  sequence.SetHistory(tokens_);
  Answer(*small, sequence, AskingOverWire(5));
  const Status exported = small->ExportRows(sequence, 0, 128, [](Bytes) { return Ok(); });
  ASSERT_FALSE(exported.ok());
  EXPECT_EQ(exported.error().code(), Code::kUnimplemented);
  EXPECT_FALSE(small->ImportRows(sequence, {}).ok());
}

TEST_F(KvWire, AnUnknownEncodingIsRefused) {
  ConductorOptions options = Small();
  options.route.kv_encoding = wire::RowEncoding::kBf16;
  const auto conductor = cluster_.Conduct("a decode b", options);
  EXPECT_FALSE(conductor->Open().ok());
}

}  // namespace
}  // namespace aster::conduct
