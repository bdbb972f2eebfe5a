// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/drafters/mtp_block.h"

#include <fmt/format.h>

namespace aster::model {

namespace {

const compute::Matrix& HeadOf(const Weights& weights) {
  return weights.slice.part.is_whole() ? weights.head : weights.mtp->whole_head;
}

}  // namespace

MtpBlock::MtpBlock(const Weights& weights, const MemoryOptions& memory, compute::Backend& backend)
    : weights_(weights),
      backend_(backend),
      commands_(backend.NewCommands()),
      block_(weights.mtp->block, Narrowed(memory, weights.mtp->block.shape), backend,
             &HeadOf(weights)),
      token_operand_(commands_->NewOperand()),
      stream_operand_(commands_->NewOperand()) {}

Result<kv::Layout> MakeMtpLayout(const Shape& shape, const MemoryOptions& memory,
                                 const Hash128& fingerprint) {
  const Shape mtp = ShapeOfMtp(shape);
  return MakeMemoryLayout(mtp, Narrowed(memory, mtp), fingerprint);
}

// For each stream the sum of both products: [tokens, hidden_width].
Result<std::span<const float>> MtpBlock::Join(std::span<const int32_t> tokens, const float* streams,
                                              RowsOf whose) {
  const Shape& shape = weights_.shape;
  const size_t rows = tokens.size() * shape.streams.count;
  for (const int32_t token : tokens) {
    if (token < 0 || static_cast<uint32_t>(token) >= shape.vocab_size)
      return InvalidArgument(
          fmt::format("token {} of a vocabulary of {}", token, shape.vocab_size));
  }
  TRY(embedded_.Shape(backend_, tokens.size(), shape.embedding));
  TRY(from_tokens_.Shape(backend_, tokens.size(), shape.embedding));
  TRY(streams_.Shape(backend_, rows, shape.embedding));
  TRY(joined_.Shape(backend_, rows, shape.embedding));
  TRY(commands_->Begin());
  TRY(RecordJoin(tokens, streams, whose));
  std::span<const float> joined;
  TRY(commands_->Download(joined_.tensor(), &joined));
  TRY(commands_->Submit());
  TRY(commands_->Wait());
  return joined;
}

Status MtpBlock::RecordJoin(std::span<const int32_t> tokens, const float* streams, RowsOf whose) {
  const Shape& shape = weights_.shape;
  const MtpWeights& mtp = *weights_.mtp;
  const auto normalise = [&](const compute::Array& rows, const compute::Array& weight) {
    return commands_->Normalise({.rows = rows.tensor(),
                                 .weight = weight.tensor(),
                                 .epsilon = shape.norm_epsilon,
                                 .out = rows.tensor()});
  };
  // The token's embedding and the streams of the token before it, both normed,
  TRY(commands_->Embed(*weights_.embedding, tokens, /*copies=*/1, embedded_.tensor()));
  TRY(commands_->Upload({streams, tokens.size() * shape.hidden_width()}, streams_.tensor()));
  // Rows first get the norm of their head: the model's, or the block's own. Streams do not.
  if (!shape.is_latent()) {
    const bool is_model = whose == RowsOf::kModel;
    TRY(normalise(streams_, is_model ? weights_.output_norm : mtp.block.output_norm));
  }
  TRY(normalise(embedded_, mtp.token_norm));
  TRY(normalise(streams_, mtp.stream_norm));
  // each through its own projection, and added: the token to every stream.
  token_operand_->Set(embedded_.tensor());
  stream_operand_->Set(streams_.tensor());
  const compute::Product products[] = {
      {&mtp.join_token, token_operand_.get(), from_tokens_.tensor()},
      {&mtp.join_stream, stream_operand_.get(), joined_.tensor()}};
  TRY(commands_->Multiply(products));
  return commands_->Add(joined_.tensor(), from_tokens_.tensor(), shape.streams.count);
}

Result<Output> MtpBlock::Run(kv::PageTable& table, std::span<const int32_t> tokens,
                             const float* streams, RowsOf whose, Wanted wanted) {
  const std::span<const float> joined = TRY(Join(tokens, streams, whose));
  const Segment segment{.table = &table,
                        .tokens = tokens,
                        .hidden = joined.data(),
                        .wanted = wanted,
                        .hidden_wanted = wanted};
  return block_.Run({&segment, 1});
}

Status MtpBlock::Follow(kv::PageTable& table, std::span<const int32_t> tokens,
                        const float* streams) {
  TRY(Run(table, tokens, streams, RowsOf::kModel, Wanted::kNone));
  return Ok();
}

Result<std::vector<int32_t>> MtpBlock::Draft(const kv::PageTable& table, int32_t token,
                                             const float* streams, size_t count) {
  std::vector<int32_t> drafts;
  // Rows of drafts go into a copy that is dropped: drafts may be rejected.
  kv::PageTable ahead = table.Fork();
  std::vector<float> last(streams, streams + weights_.shape.hidden_width());
  while (drafts.size() < count) {
    // Each draft continues the one before, with the block's own streams in place of the model's.
    const RowsOf whose = drafts.empty() ? RowsOf::kModel : RowsOf::kBlock;
    const Output output = TRY(Run(ahead, {&token, 1}, last.data(), whose, Wanted::kLast));
    token = static_cast<int32_t>(
        backend_.host().ops().argmax(output.logits.data(), output.logits.size()));
    drafts.push_back(token);
    last.assign(output.hidden.begin(), output.hidden.end());
  }
  return drafts;
}

}  // namespace aster::model
