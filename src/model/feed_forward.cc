// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/feed_forward.h"

#include <algorithm>
#include <limits>

#include "kernels/routing.h"

namespace aster::model {

Status FeedForward::Run(const LayerWeights& layer, compute::PreparedRows& rows,
                        std::span<const int32_t> tokens, float* out) {
  if (shape_.experts.count == 0) return RunDense(layer.dense, rows, out);
  return RunExperts(layer, rows, tokens, out);
}

// silu(gate) · up, left in gate_.
void FeedForward::Swiglu(size_t row_count, size_t width) {
  float* gate = gate_.As<float>();
  const float* up = up_.As<float>();
  const float limit = shape_.experts.limit;
  // Cut by elements, not by rows: a single row is worth sharing out too.
  constexpr size_t kPiece = 256;
  const size_t count = row_count * width;
  context_.pool.ParallelFor((count + kPiece - 1) / kPiece, [&](size_t begin, size_t end, size_t) {
    const size_t first = begin * kPiece;
    const size_t last = std::min(end * kPiece, count);
    context_.ops().swiglu(gate + first, up + first, last - first, limit, gate + first);
  });
}

Status FeedForward::RunDense(const ExpertWeights& dense, compute::PreparedRows& rows, float* out) {
  const size_t width = shape_.feed_forward;
  TRY(gate_.Grow(rows.rows() * width * sizeof(float)));
  TRY(up_.Grow(rows.rows() * width * sizeof(float)));
  const compute::Product expand[] = {{&dense.gate, &rows, gate_.As<float>(), width},
                                     {&dense.up, &rows, up_.As<float>(), width}};
  TRY(compute::MultiplyAll(expand, context_));
  Swiglu(rows.rows(), width);
  hidden_.Set(gate_.As<float>(), width, rows.rows(), width);
  const compute::Product contract[] = {{&dense.down, &hidden_, out, shape_.embedding}};
  return compute::MultiplyAll(contract, context_);
}

Status FeedForward::RunExperts(const LayerWeights& layer, compute::PreparedRows& rows,
                               std::span<const int32_t> tokens, float* out) {
  TRY(Route(layer, rows, tokens));
  MakeGroups(layer, rows.rows());
  TRY(ExpandGroups(layer, rows));
  TRY(ContractGroups(layer, rows.rows()));
  SumUp(rows.rows(), out);
  return Ok();
}

// By the token where the layer has a table, else by the scores.
void FeedForward::Choose(const LayerWeights& layer, int32_t token, const float* scores,
                         int32_t* ids) const {
  const size_t used = shape_.experts.used;
  if (!layer.expert_table.empty()) {
    std::copy_n(
        layer.expert_table.begin() + static_cast<ptrdiff_t>(token) * static_cast<ptrdiff_t>(used),
        used, ids);
    return;
  }
  const float* const bias = layer.router_bias.empty() ? nullptr : layer.router_bias.data();
  kernels::SelectExperts(scores, bias, shape_.experts.count, used, ids);
}

Status FeedForward::Route(const LayerWeights& layer, compute::PreparedRows& rows,
                          std::span<const int32_t> tokens) {
  const size_t experts = shape_.experts.count;
  const size_t used = shape_.experts.used;
  TRY(logits_.Grow(rows.rows() * experts * sizeof(float)));
  const compute::Product product[] = {{&layer.router, &rows, logits_.As<float>(), experts}};
  TRY(compute::MultiplyAll(product, context_));
  ids_.resize(rows.rows() * used);
  shares_.resize(rows.rows() * used);
  const auto score = shape_.arch == Arch::kDeepSeek4 ? kernels::RouterScore::kSqrtSoftplus
                                                     : kernels::RouterScore::kSoftmax;
  const kernels::RoutingSpec spec{
      .score = score, .normalized = true, .scale = shape_.experts.scale};
  context_.pool.ParallelFor(rows.rows(), [&](size_t begin, size_t end, size_t) {
    for (size_t row = begin; row < end; ++row) {
      float* scores = logits_.As<float>() + row * experts;
      int32_t* ids = ids_.data() + row * used;
      kernels::RouterScores(context_.ops(), spec.score, scores, experts, scores);
      Choose(layer, tokens[row], scores, ids);
      kernels::RouterWeights(spec, scores, ids, used, shares_.data() + row * used);
    }
  });
  return Ok();
}

void FeedForward::MakeGroups(const LayerWeights& layer, size_t row_count) {
  const size_t used = shape_.experts.used;
  groups_.resize(shape_.experts.count);
  for (size_t i = 0; i < groups_.size(); ++i) {
    groups_[i].expert = &layer.experts[i];
    groups_[i].rows.clear();
    groups_[i].choices.clear();
  }
  for (size_t choice = 0; choice < row_count * used; ++choice) {
    Group& group = groups_[ids_[choice]];
    group.rows.push_back(static_cast<uint32_t>(choice / used));
    group.choices.push_back(static_cast<uint32_t>(choice));
  }
  places_.resize(row_count * used);
  size_t first = 0;
  for (Group& group : groups_) {
    group.first = first;
    for (size_t i = 0; i < group.choices.size(); ++i)
      places_[group.choices[i]] = static_cast<uint32_t>(first + i);
    first += group.rows.size();
  }
}

Status FeedForward::ExpandGroups(const LayerWeights& layer, compute::PreparedRows& rows) {
  const size_t width = shape_.experts.feed_forward;
  const size_t count = ExpertRows(rows.rows());
  TRY(gate_.Grow(count * width * sizeof(float)));
  TRY(up_.Grow(count * width * sizeof(float)));
  std::vector<compute::Product> products;
  const auto add = [&](const ExpertWeights& expert, compute::PreparedRows& input, size_t first) {
    products.push_back({&expert.gate, &input, gate_.As<float>() + first * width, width});
    products.push_back({&expert.up, &input, up_.As<float>() + first * width, width});
  };
  for (Group& group : groups_) {
    if (group.rows.empty()) continue;
    group.input.SetGathered(rows, group.rows);
    add(*group.expert, group.input, group.first);
  }
  if (shape_.experts.shared > 0) add(layer.shared, rows, places_.size());
  TRY(compute::MultiplyAll(products, context_));
  Swiglu(count, width);
  return Ok();
}

Status FeedForward::ContractGroups(const LayerWeights& layer, size_t row_count) {
  const size_t width = shape_.experts.feed_forward;
  const size_t embedding = shape_.embedding;
  TRY(down_.Grow(ExpertRows(row_count) * embedding * sizeof(float)));
  std::vector<compute::Product> products;
  const auto add = [&](const ExpertWeights& expert, compute::PreparedRows& hidden, size_t first,
                       size_t count) {
    hidden.Set(gate_.As<float>() + first * width, width, count, width);
    products.push_back({&expert.down, &hidden, down_.As<float>() + first * embedding, embedding});
  };
  for (Group& group : groups_) {
    if (!group.rows.empty()) add(*group.expert, group.hidden, group.first, group.rows.size());
  }
  if (shape_.experts.shared > 0) add(layer.shared, shared_hidden_, places_.size(), row_count);
  return compute::MultiplyAll(products, context_);
}

// In fixed point, so that experts may be summed in any order and on any machine.
void FeedForward::SumUp(size_t row_count, float* out) {
  const size_t used = shape_.experts.used;
  const size_t embedding = shape_.embedding;
  const kernels::OpsTable& ops = context_.ops();
  context_.pool.ParallelFor(row_count, [&](size_t begin, size_t end, size_t) {
    std::vector<int64_t> sums(embedding);
    for (size_t row = begin; row < end; ++row) {
      std::fill(sums.begin(), sums.end(), 0);
      for (size_t choice = row * used; choice < (row + 1) * used; ++choice) {
        ops.fixed_accumulate(sums.data(), down_.As<float>() + places_[choice] * embedding,
                             embedding, shares_[choice]);
      }
      if (shape_.experts.shared > 0) {
        ops.fixed_accumulate(sums.data(), down_.As<float>() + (places_.size() + row) * embedding,
                             embedding, 1.0f);
      }
      ops.fixed_finish(sums.data(), embedding, out + row * embedding);
    }
  });
}

}  // namespace aster::model
