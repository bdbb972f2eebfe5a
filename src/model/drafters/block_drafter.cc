// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/drafters/block_drafter.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace aster::model {

namespace {

// Its layers have a window of their own.
MemoryOptions MemoryOf(const Shape& layers, MemoryOptions memory) {
  memory.window = memory.sinks = 0;
  return Narrowed(memory, layers);
}

}  // namespace

BlockDrafter::BlockDrafter(const BlockWeights& weights, const MemoryOptions& memory,
                           const compute::Matrix& head, compute::Backend& backend)
    : weights_(weights),
      head_(weights.shape.has_head ? weights.layers.head : head),
      backend_(backend),
      commands_(backend.NewCommands()),
      operand_(commands_->NewOperand()),
      layers_(weights.layers, MemoryOf(weights.layers.shape, memory), backend) {
  if (weights.layers.shape.streams.count > 1)
    mixer_.emplace(weights.layers.shape, backend, *commands_);
}

Status BlockDrafter::Follow(kv::PageTable& table, std::span<const int32_t> tokens,
                            const float* rows) {
  TRY(commands_->Begin());
  TRY(RecordJoin(rows, tokens.size()));
  std::span<const float> joined;
  TRY(commands_->Download(joined_.tensor(), &joined));
  TRY(commands_->Submit());
  TRY(commands_->Wait());
  const Segment segment{.table = &table,
                        .tokens = tokens,
                        .hidden = joined.data(),
                        .wanted = Wanted::kNone,
                        .rows_as = RowsAs::kContext};
  Slice part = layers_.slice();
  part.embedding = false;
  TRY(layers_.Run({&segment, 1}, part));
  return Ok();
}

// Joins the rows of all tapped layers in one product.
Status BlockDrafter::RecordJoin(const float* rows, size_t count) {
  const Shape& shape = weights_.layers.shape;
  TRY(tapped_.Shape(backend_, count, weights_.shape.taps.size() * shape.embedding));
  TRY(joined_.Shape(backend_, count, shape.embedding));
  TRY(commands_->Upload({rows, count * tapped_.tensor().columns}, tapped_.tensor()));
  operand_->Set(tapped_.tensor());
  const compute::Product product[] = {{&weights_.join, operand_.get(), joined_.tensor()}};
  TRY(commands_->Multiply(product));
  return commands_->Normalise({.rows = joined_.tensor(),
                               .weight = weights_.join_norm.tensor(),
                               .epsilon = shape.norm_epsilon,
                               .out = joined_.tensor()});
}

Status BlockDrafter::Begin(const kv::PageTable& table, int32_t token) {
  const BlockShape& block = weights_.shape;
  std::vector<int32_t> tokens(block.block, block.mask);
  tokens.front() = token;
  kv::PageTable ahead = table.Fork();
  const Segment segment{
      .table = &ahead, .tokens = tokens, .wanted = Wanted::kNone, .rows_as = RowsAs::kBlock};
  const Output output = TRY(layers_.Run({&segment, 1}));
  const size_t count = block.drafts();
  return RecordBlock(output.hidden.last(count * weights_.layers.shape.hidden_width()), count);
}

// From the rows after the last layer to logits.
Status BlockDrafter::RecordBlock(std::span<const float> hidden, size_t count) {
  const Shape& shape = weights_.layers.shape;
  TRY(hidden_.Shape(backend_, count, shape.hidden_width()));
  TRY(normed_.Shape(backend_, count, shape.embedding));
  TRY(logits_.Shape(backend_, count, head_.rows()));
  if (mixer_) {
    TRY(merged_.Shape(backend_, count, shape.embedding));
    TRY(mixer_->Plan(count));
  }
  TRY(commands_->Begin());
  TRY(commands_->Upload(hidden, hidden_.tensor()));
  if (mixer_) TRY(mixer_->Merge(weights_.layers.merge, hidden_.tensor(), merged_.tensor()));
  TRY(commands_->Normalise({.rows = mixer_ ? merged_.tensor() : hidden_.tensor(),
                            .weight = weights_.layers.output_norm.tensor(),
                            .epsilon = shape.norm_epsilon,
                            .out = normed_.tensor()}));
  operand_->Set(normed_.tensor());
  const compute::Product product[] = {{&head_, operand_.get(), logits_.tensor()}};
  TRY(commands_->Multiply(product));
  // The confidence is computed from rows after the norm; with several streams, from those before.
  const bool has_confidence = !weights_.confidence.empty();
  const bool is_alone = weights_.shape.pair_rank == 0;
  std::span<const float> states, logits;
  if (has_confidence)
    TRY(commands_->Download(mixer_ ? merged_.tensor() : normed_.tensor(), &states));
  if (is_alone) TRY(commands_->Download(logits_.tensor(), &logits));
  TRY(commands_->Submit());
  TRY(commands_->Wait());
  states_.assign(states.begin(), states.end());
  block_logits_.assign(logits.begin(), logits.end());
  return Ok();
}

Result<std::span<const float>> BlockDrafter::LogitsOf(size_t index, int32_t before) {
  CHECK(index < weights_.shape.drafts());
  std::span<const float> logits;
  if (weights_.shape.pair_rank > 0) {
    TRY(AddPair(index, before, logits));
  } else {
    logits = std::span(block_logits_).subspan(index * head_.rows(), head_.rows());
  }
  return weights_.own_vocab.empty() ? logits : InModelVocab(logits);
}

// Adds the contribution of the token before to the block's logits.
Status BlockDrafter::AddPair(size_t index, int32_t before, std::span<const float>& logits) {
  TRY(pair_.Shape(backend_, 1, weights_.shape.pair_rank));
  TRY(sum_.Shape(backend_, 1, head_.rows()));
  TRY(commands_->Begin());
  TRY(commands_->Embed(*weights_.pair_first, {&before, 1}, /*copies=*/1, pair_.tensor()));
  operand_->Set(pair_.tensor());
  const compute::Product product[] = {{&weights_.pair_second, operand_.get(), sum_.tensor()}};
  TRY(commands_->Multiply(product));
  TRY(commands_->Add(sum_.tensor(), logits_.tensor().Rows(index, 1), 1));
  std::span<const float> pair;
  TRY(commands_->Download(sum_.tensor(), &logits));
  if (!weights_.confidence.empty()) TRY(commands_->Download(pair_.tensor(), &pair));
  TRY(commands_->Submit());
  TRY(commands_->Wait());
  if (!pair.empty()) FindConfidence(index, pair);
  return Ok();
}

void BlockDrafter::FindConfidence(size_t index, std::span<const float> pair) {
  const size_t embedding = weights_.layers.shape.embedding;
  const float* const state = states_.data() + index * embedding;
  const float* const weights = weights_.confidence.data();
  double score = weights_.confidence_bias;
  for (size_t i = 0; i < embedding; ++i) score += double{weights[i]} * state[i];
  for (size_t i = 0; i < pair.size(); ++i) score += double{weights[embedding + i]} * pair[i];
  confidence_ = static_cast<float>(1.0 / (1.0 + std::exp(-score)));
}

std::span<const float> BlockDrafter::InModelVocab(std::span<const float> logits) {
  all_logits_.assign(weights_.layers.shape.vocab_size, -std::numeric_limits<float>::infinity());
  for (size_t i = 0; i < logits.size(); ++i)
    all_logits_[static_cast<size_t>(weights_.own_vocab[i])] = logits[i];
  return all_logits_;
}

Result<kv::Layout> MakeBlockLayout(const BlockShape& shape, const MemoryOptions& memory,
                                   const Hash128& fingerprint) {
  return MakeMemoryLayout(shape.layers, MemoryOf(shape.layers, memory), fingerprint);
}

}  // namespace aster::model
