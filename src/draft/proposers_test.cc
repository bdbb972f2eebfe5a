// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "draft/proposers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "draft/model_proposer.h"
#include "engine/generate.h"
#include "engine/scheduler.h"
#include "model/forward/runner_for_test.h"
#include "model/synth/presets.h"

namespace aster::draft {
namespace {

using engine::DraftKind;
using testing::HasSubstr;

// MTP blocks with streams and a window of 24, or with rows, recurrent states and a window that is
// longer than the texts.
model::Shape WithMtpBlock(model::Arch arch) {
  if (arch == model::Arch::kDeepSeek4) return model::SmallDeepSeek4({0, 4});
  model::Shape shape = model::SmallShape(arch);
  shape.mtp_layers = 1;
  return shape;
}

std::unique_ptr<engine::LocalModel> Load(const model::ModelFile& file) {
  engine::LocalModelOptions options;
  options.threads = 1;
  return engine::LocalModel::Load(file.files(), options).value();
}

// Answers of a model, with every kind of drafter. The draft model is the model itself.
class Drafting : public testing::TestWithParam<model::Arch> {
 protected:
  struct Said {
    std::vector<int32_t> tokens;
    engine::RequestCounts counts;
  };

  Said Answer(engine::Scheduler& scheduler, const std::vector<int32_t>& prompt, DraftKind kind,
              float temperature, uint32_t most = 3) {
    engine::Sequence sequence(*model_);
    sequence.SetHistory(prompt);
    engine::Request request;
    request.sequence = &sequence;
    request.max_tokens = 40;
    request.sampling.temperature = temperature;
    request.sampling.seed = 5;
    request.draft = {.kind = kind, .most = most};
    auto generated = engine::Generate(scheduler, std::move(request)).value();
    return {std::move(generated.tokens), generated.finish.counts};
  }

  const model::ModelFile file_{WithMtpBlock(GetParam()), gguf::TensorType::kF32};
  const std::unique_ptr<engine::LocalModel> model_ = Load(file_);
  const std::unique_ptr<engine::LocalModel> smaller_ = Load(file_);
  Proposers proposers_{model_.get(), smaller_.get()};
  const VirtualClock clock_;
};

TEST_P(Drafting, ChangesNothingWhicheverDrafterProposes) {
  engine::Scheduler scheduler(*model_, nullptr, clock_,
                              {.batch_tokens = 64, .proposers = &proposers_});
  for (const size_t length : {1, 30, 300}) {
    const std::vector<int32_t> prompt = model::RandomTokens(length, 300, length);
    for (const float temperature : {0.0F, 1.0F}) {
      const Said plain = Answer(scheduler, prompt, DraftKind::kNone, temperature);
      EXPECT_EQ(plain.counts.drafts, engine::DraftCounts{});
      for (const DraftKind kind : {DraftKind::kNgram, DraftKind::kMtp, DraftKind::kModel}) {
        const Said said = Answer(scheduler, prompt, kind, temperature);
        EXPECT_EQ(said.tokens, plain.tokens);
        EXPECT_EQ(said.counts.drafts.steps + said.counts.drafts.accepted + 1,
                  said.counts.generated);
      }
    }
  }
}

TEST_P(Drafting, AModelThatDraftsForItselfIsAlwaysRight) {
  engine::Scheduler scheduler(*model_, nullptr, clock_, {.proposers = &proposers_});
  const std::vector<int32_t> prompt = model::RandomTokens(50, 300, 1);
  for (const float temperature : {0.0F, 1.0F}) {
    const Said said = Answer(scheduler, prompt, DraftKind::kModel, temperature);
    EXPECT_GT(said.counts.drafts.drafted, 10u);
    EXPECT_EQ(said.counts.drafts.accepted, said.counts.drafts.drafted);
  }
}

// The first draft token is the block's for the last rows of the text, in whatever pieces it
// followed them.
TEST_P(Drafting, TheBlockIsWarmedByThePrompt) {
  const std::vector<int32_t> text = model::RandomTokens(200, 300, 3);
  kv::PageTable table = model_->NewTable();
  const model::Segment segment{.table = &table,
                               .tokens = std::span(text).first(199),
                               .wanted = model::Wanted::kNone,
                               .hidden_wanted = model::Wanted::kAll};
  const model::Output output = model_->Run({&segment, 1}).value();
  const std::vector<float> rows(output.hidden.begin(), output.hidden.end());

  engine::Request request;
  request.sampling.temperature = 0;
  request.draft = {.kind = DraftKind::kMtp, .most = 3};
  const size_t width = model_->shape().hidden_width();
  const auto propose = [&](std::span<const uint32_t> cuts) {
    const auto proposer = proposers_.Make(request).value();
    for (size_t i = 0; i + 1 < cuts.size(); ++i) {
      proposer->Follow(text, cuts[i],
                       std::span(rows).subspan(cuts[i] * width, (cuts[i + 1] - cuts[i]) * width));
    }
    std::vector<int32_t> drafted;
    EXPECT_TRUE(proposer->Propose(text, 3, drafted).ok());
    return drafted;
  };
  const uint32_t whole[] = {0, 199}, pieces[] = {0, 64, 128, 190, 198, 199};
  const std::vector<int32_t> expected = propose(whole);
  EXPECT_EQ(expected.size(), 3u);
  EXPECT_EQ(propose(pieces), expected);
  // Cached tokens need not be computed again for a short window.
  const uint32_t remembered[] = {128, 199};
  if (GetParam() == model::Arch::kDeepSeek4) {
    EXPECT_EQ(propose(remembered), expected);
  } else {
    EXPECT_EQ(propose(remembered).size(), 3u);
  }
  // Without the last row nothing is drafted.
  const uint32_t missing[] = {0, 198};
  EXPECT_TRUE(propose(missing).empty());
}

TEST_P(Drafting, UnavailableDraftersAreRefused) {
  engine::Request request;
  request.draft.kind = DraftKind::kModel;
  EXPECT_FALSE(Proposers(model_.get()).Make(request).ok());
  const model::ModelFile plain(model::SmallShape(model::Arch::kLlama), gguf::TensorType::kQ8_0);
  const auto other = Load(plain);
  request.draft.kind = DraftKind::kMtp;
  EXPECT_THAT(Proposers(other.get()).Make(request).error().message(), HasSubstr("no MTP block"));
}

INSTANTIATE_TEST_SUITE_P(All, Drafting,
                         testing::Values(model::Arch::kDeepSeek4, model::Arch::kQwen35,
                                         model::Arch::kQwen35Moe, model::Arch::kGlm4Moe,
                                         model::Arch::kMimo2, model::Arch::kDeepSeek2,
                                         model::Arch::kDeepSeek32, model::Arch::kGlmDsa),
                         [](const auto& test) {
                           std::string name(ArchName(test.param));
                           std::erase(name, '-');
                           return name;
                         });

TEST(Vocabulary, HasToBeTheSame) {
  text::Vocab first, second;
  first.tokens = {"a", "b", "c"};
  second.tokens = {"a", "b"};
  EXPECT_THAT(CheckSameVocabulary(first, second).error().message(), HasSubstr("2 tokens"));
  second.tokens = {"a", "x", "c"};
  EXPECT_THAT(CheckSameVocabulary(first, second).error().message(), HasSubstr("token 1 "));
  second.tokens[1] = "b";
  EXPECT_TRUE(CheckSameVocabulary(first, second).ok());
}

}  // namespace
}  // namespace aster::draft
