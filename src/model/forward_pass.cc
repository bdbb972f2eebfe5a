// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/forward_pass.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/rope.h"
#include "quant/dequantize.h"

namespace aster::model {
namespace {

// Files of the Llama family have their query and key rows ordered so that neighbours turn together.
kernels::RopeLayout RopeLayoutOf(Arch arch) {
  return arch == Arch::kLlama ? kernels::RopeLayout::kAdjacent : kernels::RopeLayout::kHalves;
}

void AddBias(const kernels::OpsTable& ops, const std::vector<float>& bias, float* row) {
  if (!bias.empty()) ops.add(row, bias.data(), bias.size(), row);
}

}  // namespace

ForwardPass::ForwardPass(const PassWeights& weights, const MemoryOptions& memory,
                         compute::Context& context)
    : shared_(weights),
      weights_(weights.weights),
      shape_(weights_.shape),
      context_(context),
      attend_(shape_, memory, context),
      mixer_(shape_, context),
      feed_forward_(shape_, context) {
  if (shape_.is_latent()) latent_.emplace(shape_, memory, context);
}

Status ForwardPass::Begin(std::span<const Segment> segments, const Slice& part) {
  segments_.assign(segments.begin(), segments.end());
  part_ = part;
  TRY(CheckSegments());
  return Plan();
}

Result<Progress> ForwardPass::Advance() {
  // Rows come in, as tokens or from the slice before, and learn where they stand.
  TRY(Embed());
  TRY(MakeAngles());
  for (uint32_t layer = part_.layer_begin; layer < part_.layer_end; ++layer) {
    TRY(RunLayer(layer, weights_.layers[layer - weights_.slice.layer_begin]));
  }
  output_ = {.hidden = {rows_.As<float>(), row_count_ * shape_.hidden_width()}, .logits = {}};
  if (part_.head) TRY(RunHead());
  // Only now does anything follow from the batch: until here an error has changed nothing.
  for (const Segment& segment : segments_) {
    segment.table->Advance({part_.layer_begin, part_.layer_end}, segment.tokens, segment.guesses);
  }
  return Progress::kDone;
}

Status ForwardPass::CheckSegments() const {
  for (const Segment& segment : segments_) {
    CHECK(!segment.tokens.empty() && (segment.hidden != nullptr) != part_.embedding);
    for (const int32_t token : segment.tokens) {
      if (token < 0 || static_cast<uint32_t>(token) >= shape_.vocab_size) {
        return InvalidArgument(
            fmt::format("token {} of a vocabulary of {}", token, shape_.vocab_size));
      }
    }
    const size_t end =
        segment.table->length({part_.layer_begin, part_.layer_end}) + segment.tokens.size();
    if (end > static_cast<size_t>(kernels::kRopePositions)) {
      return OutOfRange(fmt::format("position {}; positions below {} can be computed", end,
                                    kernels::kRopePositions));
    }
  }
  return Ok();
}

// Where rows stand, and room for them in the tables and here.
Status ForwardPass::Plan() {
  const kv::LayerRange layers = {part_.layer_begin, part_.layer_end};
  row_count_ = 0;
  spans_.clear();
  positions_.clear();
  tokens_.clear();
  for (const Segment& segment : segments_) {
    const auto count = static_cast<uint32_t>(segment.tokens.size());
    TRY(segment.table->Reserve(layers, count));
    const uint32_t position = segment.table->length(layers);
    spans_.push_back({segment.table, position, static_cast<uint32_t>(row_count_), count});
    for (uint32_t i = 0; i < count; ++i) positions_.push_back(position + i);
    tokens_.insert(tokens_.end(), segment.tokens.begin(), segment.tokens.end());
    row_count_ += count;
  }
  // The caller's own may be gone by the time that they are needed again.
  for (size_t i = 0; i < segments_.size(); ++i) {
    segments_[i].tokens = std::span(tokens_).subspan(spans_[i].first_row, spans_[i].count);
  }
  const size_t heads = size_t{shape_.head_count} * shape_.head_dim;
  const size_t kv_heads = size_t{shape_.kv_head_count} * shape_.head_dim;
  const auto grow = [&](compute::Buffer& buffer, size_t columns) {
    return buffer.Grow(row_count_ * columns * sizeof(float));
  };
  TRY(grow(rows_, shape_.hidden_width()));
  TRY(grow(normed_, shape_.embedding));
  TRY(grow(more_, shape_.embedding));
  if (shape_.is_latent()) return Ok();
  TRY(grow(queries_, heads));
  TRY(grow(keys_, kv_heads));
  TRY(grow(values_, kv_heads));
  TRY(grow(attended_, heads));
  TRY(grow(cosines_, shared_.frequencies.size()));
  return grow(sines_, shared_.frequencies.size());
}

Status ForwardPass::Embed() {
  const size_t width = shape_.embedding;
  const size_t hidden_width = shape_.hidden_width();
  float* row = rows_.As<float>();
  for (const Segment& segment : segments_) {
    if (segment.hidden != nullptr) {
      std::copy_n(segment.hidden, segment.tokens.size() * hidden_width, row);
      row += segment.tokens.size() * hidden_width;
      continue;
    }
    const gguf::Tensor& embedding = *weights_.embedding;
    const uint64_t row_bytes = *gguf::RowBytes(embedding.type, width);
    for (const int32_t token : segment.tokens) {
      const Bytes bytes = embedding.data.subspan(static_cast<size_t>(token) * row_bytes, row_bytes);
      TRY(quant::Dequantize(embedding.type, bytes, {row, width}));
      // Every stream begins as the token.
      for (size_t i = width; i < hidden_width; i += width) std::copy_n(row, width, row + i);
      row += hidden_width;
    }
  }
  return Ok();
}

Status ForwardPass::MakeAngles() {
  if (latent_) return latent_->SetPositions(positions_);
  const size_t pairs = shared_.frequencies.size();
  context_.pool.ParallelFor(row_count_, [&](size_t begin, size_t end, size_t) {
    for (size_t row = begin; row < end; ++row) {
      kernels::RopeAngles(shared_.frequencies.data(), pairs, shared_.magnitude, positions_[row],
                          cosines_.As<float>() + row * pairs, sines_.As<float>() + row * pairs);
    }
  });
  return Ok();
}

void ForwardPass::Normalise(const float* rows, size_t row_count, const std::vector<float>& weight,
                            float* out) {
  const size_t width = shape_.embedding;
  context_.pool.ParallelFor(row_count, [&](size_t begin, size_t end, size_t) {
    context_.ops().rms_norm(rows + begin * width, width, end - begin, width, weight.data(),
                            shape_.norm_epsilon, out + begin * width, width);
  });
}

void ForwardPass::AddToRows(const float* more) {
  const size_t width = shape_.embedding;
  context_.pool.ParallelFor(row_count_, [&](size_t begin, size_t end, size_t) {
    float* rows = rows_.As<float>() + begin * width;
    context_.ops().add(rows, more + begin * width, (end - begin) * width, rows);
  });
}

Status ForwardPass::RunLayer(uint32_t layer, const LayerWeights& weights) {
  if (latent_) return RunMixedLayer(layer, weights);
  TRY(RunAttention(layer, weights));
  Normalise(rows_.As<float>(), row_count_, weights.feed_forward_norm, normed_.As<float>());
  prepared_.Set(normed_.As<float>(), shape_.embedding, row_count_, shape_.embedding);
  TRY(feed_forward_.Run(weights, prepared_, tokens_, more_.As<float>()));
  AddToRows(more_.As<float>());
  return Ok();
}

// Each half is given a row mixed of all streams, and its output goes back to all of them.
Status ForwardPass::RunMixedLayer(uint32_t layer, const LayerWeights& weights) {
  const size_t width = shape_.embedding;
  float* const streams = rows_.As<float>();
  float* const more = more_.As<float>();
  TRY(mixer_.Before(weights.attention_mix, streams, row_count_, more));
  Normalise(more, row_count_, weights.attention_norm, normed_.As<float>());
  prepared_.Set(normed_.As<float>(), width, row_count_, width);
  TRY(latent_->Run(layer, shape_.latent.ratios[layer], weights.latent, spans_, prepared_, more));
  mixer_.After(more, row_count_, streams);
  TRY(mixer_.Before(weights.feed_forward_mix, streams, row_count_, more));
  Normalise(more, row_count_, weights.feed_forward_norm, normed_.As<float>());
  prepared_.Set(normed_.As<float>(), width, row_count_, width);
  TRY(feed_forward_.Run(weights, prepared_, tokens_, more));
  mixer_.After(more, row_count_, streams);
  return Ok();
}

Status ForwardPass::RunAttention(uint32_t layer, const LayerWeights& weights) {
  const size_t heads = size_t{shape_.head_count} * shape_.head_dim;
  const size_t kv_heads = size_t{shape_.kv_head_count} * shape_.head_dim;
  Normalise(rows_.As<float>(), row_count_, weights.attention_norm, normed_.As<float>());
  prepared_.Set(normed_.As<float>(), shape_.embedding, row_count_, shape_.embedding);
  const compute::Product products[] = {{&weights.query, &prepared_, queries_.As<float>(), heads},
                                       {&weights.key, &prepared_, keys_.As<float>(), kv_heads},
                                       {&weights.value, &prepared_, values_.As<float>(), kv_heads}};
  TRY(compute::MultiplyAll(products, context_));
  FinishHeads(weights);
  TRY(attend_.Run(layer, spans_,
                  {.queries = queries_.As<float>(),
                   .keys = keys_.As<float>(),
                   .values = values_.As<float>(),
                   .out = attended_.As<float>()}));
  prepared_.Set(attended_.As<float>(), heads, row_count_, heads);
  const compute::Product output[] = {
      {&weights.output, &prepared_, more_.As<float>(), shape_.embedding}};
  TRY(compute::MultiplyAll(output, context_));
  AddToRows(more_.As<float>());
  return Ok();
}

// Biases, norms and positions of the rows' queries, keys and values.
void ForwardPass::FinishHeads(const LayerWeights& weights) {
  const kernels::OpsTable& ops = context_.ops();
  const size_t dim = shape_.head_dim;
  const size_t pairs = shared_.frequencies.size();
  const kernels::RopeLayout layout = RopeLayoutOf(shape_.arch);
  context_.pool.ParallelFor(row_count_, [&](size_t begin, size_t end, size_t) {
    for (size_t row = begin; row < end; ++row) {
      float* query = queries_.As<float>() + row * shape_.head_count * dim;
      float* key = keys_.As<float>() + row * shape_.kv_head_count * dim;
      AddBias(ops, weights.query_bias, query);
      AddBias(ops, weights.key_bias, key);
      AddBias(ops, weights.value_bias, values_.As<float>() + row * shape_.kv_head_count * dim);
      if (shape_.qk_norm()) {
        ops.rms_norm(query, dim, shape_.head_count, dim, weights.query_norm.data(),
                     shape_.norm_epsilon, query, dim);
        ops.rms_norm(key, dim, shape_.kv_head_count, dim, weights.key_norm.data(),
                     shape_.norm_epsilon, key, dim);
      }
      const float* cosines = cosines_.As<float>() + row * pairs;
      const float* sines = sines_.As<float>() + row * pairs;
      ops.rope(query, dim, shape_.head_count, pairs, cosines, sines, layout, /*inverse=*/false);
      ops.rope(key, dim, shape_.kv_head_count, pairs, cosines, sines, layout, /*inverse=*/false);
    }
  });
}

Status ForwardPass::RunHead() {
  const size_t width = shape_.embedding;
  const size_t hidden_width = shape_.hidden_width();
  TRY(wanted_.Grow(row_count_ * hidden_width * sizeof(float)));
  size_t wanted = 0;
  const float* row = rows_.As<float>();
  for (const Segment& segment : segments_) {
    const size_t count = segment.tokens.size();
    const size_t first = segment.wanted == Wanted::kAll    ? 0
                         : segment.wanted == Wanted::kLast ? count - 1
                                                           : count;
    std::copy(row + first * hidden_width, row + count * hidden_width,
              wanted_.As<float>() + wanted * hidden_width);
    wanted += count - first;
    row += count * hidden_width;
  }
  TRY(logits_.Grow(wanted * shape_.vocab_size * sizeof(float)));
  const float* last = wanted_.As<float>();
  if (latent_ && wanted > 0) {
    TRY(mixer_.Merge(weights_.merge, last, wanted, more_.As<float>()));
    last = more_.As<float>();
  }
  Normalise(last, wanted, weights_.output_norm, normed_.As<float>());
  prepared_.Set(normed_.As<float>(), width, wanted, width);
  const compute::Product product[] = {
      {&shared_.head, &prepared_, logits_.As<float>(), shape_.vocab_size}};
  TRY(compute::MultiplyAll(product, context_));
  output_.logits = {logits_.As<float>(), wanted * shape_.vocab_size};
  return Ok();
}

}  // namespace aster::model
