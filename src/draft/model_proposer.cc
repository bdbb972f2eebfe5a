// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "draft/model_proposer.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/sequence.h"

namespace aster::draft {
namespace {

// Tokens of a text that are read at once. Few, as other answers wait meanwhile.
constexpr size_t kChunk = 512;

class ModelProposer final : public engine::Proposer {
 public:
  ModelProposer(engine::LocalModel& model, const engine::SamplingOptions& sampling)
      : model_(model),
        sequence_(model),
        sampler_(sampling, model.shape().vocab_size, model.isa()) {}

  Status Propose(std::span<const int32_t> history, uint32_t most,
                 std::vector<int32_t>& drafts) override {
    // No drafts for a text that is longer than this model was trained for.
    if (history.size() + most > model_.shape().context_length) return Ok();
    if (model_.has_lost_gpu()) TRY(model_.ReplaceLostGpus());
    sequence_.SetHistory(history);
    if (sequence_.pending().size() > kChunk) return ReadOn();
    while (drafts.size() < most) {
      const int32_t token = TRY(ChooseNext());
      drafts.push_back(token);
      sequence_.Append(token);
    }
    return Ok();
  }

 private:
  // Reads the next tokens of the text. It drafts once it has read all of them.
  Status ReadOn() {
    const model::Segment segment{.table = &sequence_.table(),
                                 .tokens = sequence_.pending().first(kChunk),
                                 .hidden = nullptr,
                                 .wanted = model::Wanted::kNone};
    TRY(model_.Run({&segment, 1}));
    return Ok();
  }

  Result<int32_t> ChooseNext() {
    sequence_.ForgetLast();
    const model::Segment segment{.table = &sequence_.table(),
                                 .tokens = sequence_.pending(),
                                 .hidden = nullptr,
                                 .wanted = model::Wanted::kLast};
    const model::Output output = TRY(model_.Run({&segment, 1}));
    return TRY(sampler_.Choose(output.logits, sequence_.tokens())).id;
  }

  engine::LocalModel& model_;
  engine::Sequence sequence_;
  engine::Sampler sampler_;
};

}  // namespace

std::unique_ptr<engine::Proposer> NewModelProposer(engine::LocalModel& model,
                                                   const engine::SamplingOptions& sampling) {
  return std::make_unique<ModelProposer>(model, sampling);
}

Status CheckSameVocabulary(const text::Vocab& answers, const text::Vocab& drafts) {
  if (answers.tokens.size() != drafts.tokens.size()) {
    return InvalidArgument(
        fmt::format("the draft model has {} tokens and the answering model {}: a draft model needs "
                    "the same vocabulary",
                    drafts.tokens.size(), answers.tokens.size()));
  }
  const auto [mine, other] = std::ranges::mismatch(answers.tokens, drafts.tokens);
  if (mine == answers.tokens.end()) return Ok();
  return InvalidArgument(fmt::format(
      "token {} is different in the draft model: a draft model needs the same vocabulary",
      mine - answers.tokens.begin()));
}

}  // namespace aster::draft
