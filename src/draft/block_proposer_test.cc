// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "draft/block_proposer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/sanitized.h"
#include "draft/proposers.h"
#include "engine/fake_gpu_for_test.h"
#include "engine/generate.h"
#include "engine/scheduler.h"
#include "model/forward/runner_for_test.h"

namespace aster::draft {
namespace {

using model::Arch;
using testing::HasSubstr;

constexpr uint32_t kMost = 3;

// A model without an MTP block, which would draft instead if the drafter cannot.
model::Shape TargetOf(Arch arch) {
  model::Shape shape =
      arch == Arch::kDeepSeek4 ? model::SmallDeepSeek4({0, 4, 0, 128}) : model::SmallShape(arch);
  shape.mtp_layers = 0;
  return shape;
}

// A drafter without a confidence, which would be low with random weights.
model::BlockShape DrafterOf(const model::Shape& target) {
  model::BlockShape shape = model::PresetDrafterFor(target);
  shape.has_confidence = false;
  return shape;
}

// The test owns the files; they outlive the model.
std::shared_ptr<const gguf::ModelFiles> Borrowed(const gguf::ModelFiles& files) {
  return {std::shared_ptr<const gguf::ModelFiles>(), &files};
}

std::unique_ptr<engine::LocalModel> Load(const model::ModelFile& file,
                                         const gguf::ModelFiles& drafter,
                                         std::optional<model::Slice> slice = {}) {
  engine::LocalModelOptions options;
  options.threads = 1;
  options.slice = slice;
  options.drafter = Borrowed(drafter);
  return engine::LocalModel::Load(file.files(), options).value();
}

engine::Request RequestWith(engine::DraftKind kind) {
  engine::Request request;
  request.sampling.temperature = 0;
  request.draft = {.kind = kind, .most = kMost};
  return request;
}

class BlockDrafts : public testing::TestWithParam<Arch> {
 protected:
  struct Said {
    std::vector<int32_t> tokens;
    engine::DraftCounts drafts;
  };

  Said Answer(engine::Scheduler& scheduler, const std::vector<int32_t>& prompt,
              engine::DraftKind kind, float temperature) {
    engine::Sequence sequence(*model_);
    sequence.SetHistory(prompt);
    engine::Request request = RequestWith(kind);
    request.sequence = &sequence;
    request.max_tokens = 60;
    request.sampling.temperature = temperature;
    request.sampling.seed = 5;
    auto generated = engine::Generate(scheduler, std::move(request)).value();
    return {std::move(generated.tokens), generated.finish.counts.drafts};
  }

  size_t width() const { return model_->taps().size() * model_->shape().embedding; }

  const model::Shape shape_ = TargetOf(GetParam());
  const model::ModelFile file_{shape_, gguf::TensorType::kF32};
  const model::ModelFile drafter_{DrafterOf(shape_), gguf::TensorType::kF32};
  const std::unique_ptr<engine::LocalModel> model_ = Load(file_, drafter_.files());
  Proposers proposers_{model_.get()};
  const VirtualClock clock_;
};

TEST_P(BlockDrafts, ChangeNoAnswer) {
  engine::Scheduler scheduler(*model_, nullptr, clock_,
                              {.batch_tokens = 64, .proposers = &proposers_});
  uint64_t drafted = 0;
  for (const size_t length : {1, 30, 300}) {
    const std::vector<int32_t> prompt = model::RandomTokens(length, 300, length);
    for (const float temperature : {0.0F, 1.0F}) {
      const Said plain = Answer(scheduler, prompt, engine::DraftKind::kNone, temperature);
      // Both names mean the drafter.
      for (const auto kind : {engine::DraftKind::kMtp, engine::DraftKind::kModel}) {
        const Said said = Answer(scheduler, prompt, kind, temperature);
        EXPECT_EQ(said.tokens, plain.tokens);
        drafted += said.drafts.drafted;
      }
    }
  }
  EXPECT_GT(drafted, 10u);
}

// Draft tokens are the same if rows come in any pieces, and if only those of the window come.
TEST_P(BlockDrafts, AreThoseOfTheRowsThatAreKnown) {
  const std::vector<int32_t> text = model::RandomTokens(200, 300, 3);
  auto first = proposers_.Make(RequestWith(engine::DraftKind::kMtp));
  ASSERT_TRUE(first.ok());
  EXPECT_EQ((*first)->follows(), engine::Follows::kTapped);
  kv::PageTable table = model_->NewTable();
  const model::Segment segment{.table = &table,
                               .tokens = std::span(text).first(199),
                               .wanted = model::Wanted::kNone,
                               .tapped_wanted = model::Wanted::kAll};
  const model::Output output = model_->Run({&segment, 1}).value();
  const std::vector<float> rows(output.tapped.begin(), output.tapped.end());
  ASSERT_EQ(rows.size(), 199 * width());
  const auto propose = [&](std::span<const uint32_t> cuts) {
    const auto proposer = proposers_.Make(RequestWith(engine::DraftKind::kMtp)).value();
    for (size_t i = 0; i + 1 < cuts.size(); ++i) {
      proposer->Follow(
          text, cuts[i],
          std::span(rows).subspan(cuts[i] * width(), (cuts[i + 1] - cuts[i]) * width()));
    }
    std::vector<int32_t> drafted;
    EXPECT_TRUE(proposer->Propose(text, kMost, drafted).ok());
    return drafted;
  };
  const uint32_t whole[] = {0, 199}, pieces[] = {0, 64, 65, 128, 190, 198, 199};
  const std::vector<int32_t> expected = propose(whole);
  EXPECT_EQ(expected.size(), kMost);
  EXPECT_EQ(propose(pieces), expected);
  // Cached tokens need not be computed again for a short window.
  const uint32_t remembered[] = {128, 199};
  if (GetParam() == Arch::kDeepSeek4) {
    EXPECT_EQ(propose(remembered), expected);
  } else {
    EXPECT_EQ(propose(remembered).size(), kMost);
  }
  // Without the last row nothing is drafted.
  const uint32_t missing[] = {0, 198};
  EXPECT_TRUE(propose(missing).empty());
}

// The GPU is lost at any time: the answer is the same, and tokens of the next one are drafted
// again.
TEST_P(BlockDrafts, OutliveALostGpu) {
  const std::vector<int32_t> prompt = model::RandomTokens(30, 300, 1);
  engine::Scheduler plain(*model_, nullptr, clock_, {.proposers = &proposers_});
  const Said expected = Answer(plain, prompt, engine::DraftKind::kNone, 0);
  bool is_lost = true;
  for (uint64_t batches = 0; is_lost; batches += 1 + batches / (kSanitized ? 1 : 3)) {
    SCOPED_TRACE(batches);
    engine::LocalModelOptions options =
        engine::WithGpuLayers(shape_.layer_count, engine::OpensFake({.batches = batches}));
    options.drafter = Borrowed(drafter_.files());
    const auto loaded = engine::LocalModel::Load(file_.files(), options);
    if (!loaded.ok()) continue;
    engine::LocalModel& model = **loaded;
    Proposers proposers(&model);
    engine::Scheduler scheduler(model, nullptr, clock_, {.proposers = &proposers});
    for (int turn = 0; turn < 2; ++turn) {
      const uint64_t before = model.replacements();
      engine::Sequence sequence(model);
      sequence.SetHistory(prompt);
      engine::Request request = RequestWith(engine::DraftKind::kMtp);
      request.sequence = &sequence;
      request.max_tokens = 60;
      request.sampling.seed = 5;
      const auto said = engine::Generate(scheduler, std::move(request));
      ASSERT_TRUE(said.ok());
      EXPECT_EQ(said->tokens, expected.tokens);
      const bool was_lost_now = model.replacements() > before;
      EXPECT_TRUE(was_lost_now || said->finish.counts.drafts.drafted > 0);
    }
    is_lost = model.replacements() > 0;
    EXPECT_TRUE(model.has_drafter());
  }
}

TEST_P(BlockDrafts, NeedTheLayersThatTheyRead) {
  const uint32_t last = shape_.layer_count - 1;
  const auto half =
      Load(file_, drafter_.files(),
           model::Slice{.layer_begin = last, .layer_end = shape_.layer_count, .head = true});
  EXPECT_FALSE(half->has_drafter());
  EXPECT_THAT(Proposers(half.get()).Make(RequestWith(engine::DraftKind::kMtp)).error().message(),
              HasSubstr("reads rows behind layer"));
}

TEST_P(BlockDrafts, OfAnotherModelAreLeftOut) {
  model::Shape other = shape_;
  other.embedding *= 2;
  const model::ModelFile drafter(DrafterOf(other), gguf::TensorType::kF32);
  const auto model = Load(file_, drafter.files());
  EXPECT_FALSE(model->has_drafter());
  EXPECT_THAT(model->drafter().error().message(), HasSubstr("made for another model"));
}

INSTANTIATE_TEST_SUITE_P(All, BlockDrafts,
                         testing::Values(Arch::kDeepSeek4, Arch::kQwen3, Arch::kLlama,
                                         Arch::kQwen35),
                         [](const auto& test) { return std::string(ArchName(test.param)); });

}  // namespace
}  // namespace aster::draft
