// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The fault matrix of a lost GPU: at each of its batches, at each time that it maps pages, and the
// first or the second of two. Requests continue on the processor, and their answers are those of a
// machine without a GPU.
#include <gtest/gtest.h>

#include "engine/answers_for_test.h"
#include "engine/fake_gpu_for_test.h"
#include "engine/scheduler.h"

namespace aster::engine {
namespace {

using Plans = std::vector<std::shared_ptr<FakeGpuPlan>>;

std::unique_ptr<LocalModel> LoadTiny(const Plans& plans, uint32_t layers = 2) {
  return LocalModel::Load(TinyModel::Get().files(), WithGpuLayers(layers, OpensFakes(plans)))
      .value();
}

Plans OneGpu(const FakeGpuPlan& plan) { return {std::make_shared<FakeGpuPlan>(plan)}; }

// The answers to two requests that run together (the second begins later), and to a second turn of
// the first one's sequence.
std::vector<std::vector<int32_t>> Answers(LocalModel& model) {
  const uint32_t vocab_size = model.shape().vocab_size;
  SystemClock clock;
  Scheduler scheduler(model, nullptr, clock, {.batch_tokens = 64});
  std::vector<Sequence> sequences;
  for (int i = 0; i < 2; ++i) sequences.push_back(scheduler.NewSequence());
  sequences[0].SetHistory(model::RandomTokens(150, vocab_size, 1));
  sequences[1].SetHistory(model::RandomTokens(40, vocab_size, 2));
  const auto submit = [&](Sequence& sequence) {
    Request request;
    request.sequence = &sequence;
    request.sampling.temperature = 1;
    request.sampling.seed = 3;
    request.max_tokens = 4;
    request.context_limit = 1000;
    request.on_finish = [](const Finish& finish) {
      EXPECT_TRUE(finish.status.ok()) << finish.status.error().message();
    };
    EXPECT_TRUE(scheduler.Submit(std::move(request)).ok());
  };
  const auto run = [&] {
    while (!scheduler.idle()) ASSERT_TRUE(scheduler.Step().ok());
  };
  submit(sequences[0]);
  EXPECT_TRUE(scheduler.Step().ok());
  submit(sequences[1]);
  run();
  sequences[0].Append(7);
  submit(sequences[0]);
  run();
  return {sequences[0].tokens(), sequences[1].tokens()};
}

class LostGpuTest : public testing::Test {
 protected:
  const std::vector<std::vector<int32_t>> wanted_ = Answers(*TinyModel::Get().Make());
};

TEST_F(LostGpuTest, AtEachBatch) {
  uint64_t batches = 0;
  for (bool is_lost = true; is_lost; ++batches) {
    SCOPED_TRACE(batches);
    // Half of the layers are on the GPU, or all of them.
    const auto model = LoadTiny(OneGpu({.batches = batches}), 1 + batches % 2);
    EXPECT_EQ(Answers(*model), wanted_);
    is_lost = model->replacements() == 1;
    EXPECT_EQ(model->gpu_layers() == 0, is_lost);
    EXPECT_FALSE(model->has_lost_gpu());
  }
  EXPECT_GT(batches, 10u);
}

TEST_F(LostGpuTest, WhereItsPagesAreMapped) {
  const auto model = LoadTiny(OneGpu({.pages = 0}));
  EXPECT_EQ(Answers(*model), wanted_);
  EXPECT_EQ(model->replacements(), 1u);
}

TEST_F(LostGpuTest, OneOfTwoAndThenTheOther) {
  const Plans plans = {std::make_shared<FakeGpuPlan>(FakeGpuPlan{.said_bytes = 1, .batches = 5}),
                       std::make_shared<FakeGpuPlan>(FakeGpuPlan{.said_bytes = 1, .batches = 3})};
  const auto model = LoadTiny(plans);
  ASSERT_EQ(model->gpu_count(), 2u);
  EXPECT_EQ(Answers(*model), wanted_);
  EXPECT_EQ(model->replacements(), 2u);
  EXPECT_EQ(model->gpu_count(), 0u);
}

TEST_F(LostGpuTest, WhileNoRequestRuns) {
  const Plans plans = OneGpu({});
  const auto model = LoadTiny(plans, 1);
  EXPECT_EQ(Answers(*model), wanted_);
  static_cast<void>(plans[0]->Lose());
  EXPECT_EQ(Answers(*model), wanted_);
  EXPECT_EQ(model->replacements(), 1u);
}

TEST_F(LostGpuTest, WhileLogitsAreComputedEachIsPassedOnOnce) {
  const auto tokens = model::RandomTokens(30, TinyModel::Get().vocab_size());
  SystemClock clock;
  const auto logits = [&](LocalModel& model) {
    std::vector<float> all;
    Scheduler scheduler(model, nullptr, clock);
    EXPECT_TRUE(scheduler
                    .LogitsOf(tokens, 8,
                              [&](std::span<const float> row) {
                                all.insert(all.end(), row.begin(), row.end());
                                return Ok();
                              })
                    .ok());
    return all;
  };
  const auto model = LoadTiny(OneGpu({.batches = 2}));
  EXPECT_EQ(logits(*model), logits(*TinyModel::Get().Make()));
  EXPECT_EQ(model->replacements(), 1u);
}

// The GPU is lost while weights are written: the processor takes over, however many layers were
// wanted.
TEST_F(LostGpuTest, WhileItIsLoaded) {
  for (const std::optional<uint32_t> layers : {std::optional<uint32_t>(), std::optional(2u)}) {
    const Plans plans = OneGpu({.bytes = 0});
    plans[0]->is_lost = true;
    const auto model =
        LocalModel::Load(TinyModel::Get().files(), WithGpuLayers(layers, OpensFakes(plans)))
            .value();
    EXPECT_EQ(model->gpu_layers(), 0u);
    EXPECT_TRUE(model->lost_gpu_while_loading());
    EXPECT_NE(model->gpu_note().find("no GPU is used"), std::string::npos) << model->gpu_note();
    EXPECT_EQ(Answers(*model), wanted_);
  }
}

// The other GPU keeps its layers.
TEST_F(LostGpuTest, OneOfTwoWhileTheyAreLoaded) {
  const Plans plans = {std::make_shared<FakeGpuPlan>(FakeGpuPlan{.said_bytes = 1, .bytes = 0}),
                       std::make_shared<FakeGpuPlan>(FakeGpuPlan{.said_bytes = 1})};
  plans[0]->is_lost = true;
  const auto model = LoadTiny(plans);
  EXPECT_EQ(model->gpu_layers(), 1u);
  EXPECT_TRUE(model->lost_gpu_while_loading());
  EXPECT_NE(model->gpu_note().find("the processor computes 1 layers more"), std::string::npos)
      << model->gpu_note();
  EXPECT_EQ(Answers(*model), wanted_);
}

}  // namespace
}  // namespace aster::engine
