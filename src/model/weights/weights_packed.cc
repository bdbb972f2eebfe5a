// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Lists the packed weights, and how much memory they take.
#include "model/weights/weights.h"

namespace aster::model {
namespace {

uint64_t BytesOf(const compute::ExpertWeights& expert) {
  return expert.gate.bytes() + expert.up.bytes() + expert.down.bytes();
}

}  // namespace

std::vector<const compute::Matrix*> LayerWeights::Matrices() const {
  std::vector<const compute::Matrix*> matrices = {&query,
                                                  &key,
                                                  &value,
                                                  &output,
                                                  &dense.gate,
                                                  &dense.up,
                                                  &dense.down,
                                                  &router,
                                                  &shared.gate,
                                                  &shared.up,
                                                  &shared.down,
                                                  &attention_mix.mix,
                                                  &feed_forward_mix.mix,
                                                  &latent.query_low,
                                                  &latent.query_high,
                                                  &latent.row,
                                                  &latent.output_high,
                                                  &latent.compressor.values,
                                                  &latent.compressor.scores,
                                                  &latent.index_compressor.values,
                                                  &latent.index_compressor.scores,
                                                  &latent.index_query,
                                                  &latent.index_heads};
  for (const compute::Matrix* matrix :
       {&mla.query_low, &mla.query_nope, &mla.row, &mla.output, &delta.mixed, &delta.gate,
        &delta.betas, &delta.times, &delta.output, &output_gate, &shared_gate, &mla.index.row,
        &mla.index.query, &mla.index.shares, &input.projection, &input.gate, &input.back,
        &latent.index_key, &ngrams.key_value})
    matrices.push_back(matrix);
  for (const auto* heads : {&latent.output_low, &mla.query_rope, &mla.keys, &mla.values}) {
    for (const compute::Matrix& matrix : *heads) matrices.push_back(&matrix);
  }
  return matrices;
}

uint64_t Weights::PackedBytes() const {
  uint64_t bytes = head.bytes() + merge.mix.bytes();
  for (const LayerWeights& layer : layers) {
    for (const compute::Matrix* matrix : layer.Matrices()) bytes += matrix->bytes();
    for (const compute::ExpertWeights& expert : layer.experts) bytes += BytesOf(expert);
  }
  if (mtp) {
    bytes += mtp->whole_head.bytes() + mtp->join_token.bytes() + mtp->join_stream.bytes() +
             mtp->block.PackedBytes();
  }
  return bytes;
}

}  // namespace aster::model
