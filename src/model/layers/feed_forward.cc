// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/layers/feed_forward.h"

#include <algorithm>

#include "compute/fixed_sums.h"

namespace aster::model {
namespace {

// `width` biases for each expert; none if there are no such biases.
compute::Tensor ByExpert(const compute::Array& biases, size_t width) {
  return biases.empty() || width == 0 ? compute::Tensor() : biases.tensor().As(width);
}

compute::GateKind GateOf(const Shape& shape) {
  if (shape.is_gemma()) return compute::GateKind::kGeglu;
  return shape.is_gpt_oss() ? compute::GateKind::kSwigluOai : compute::GateKind::kSwiglu;
}

}  // namespace

FeedForward::FeedForward(const Shape& shape, const GroupPart& part, compute::Backend& backend,
                         compute::Commands& commands)
    : shape_(shape),
      part_(part.index),
      is_whole_(part.is_whole()),
      owners_(part.owns_experts ? std::optional<ExpertOwners>(std::in_place, part, shape)
                                : std::nullopt),
      backend_(backend),
      commands_(commands),
      hidden_(commands.NewOperand()),
      shared_hidden_(commands.NewOperand()),
      rows_of_(part.count) {}

size_t FeedForward::wide_rows() const { return shape_.experts.used + shape_.experts.shared; }

Status FeedForward::Plan(size_t row_count) {
  const Experts& experts = shape_.experts;
  if (shape_.feed_forward > 0) {
    const size_t widest = std::max(shape_.feed_forward, shape_.kinds.sharing_feed_forward);
    TRY(gate_.Shape(backend_, row_count, widest));
    TRY(up_.Shape(backend_, row_count, widest));
  }
  if (experts.count == 0) return Ok();
  TRY(logits_.Shape(backend_, row_count, experts.count));
  TRY(ids_.Shape(backend_, row_count, experts.used, compute::Element::kI32));
  TRY(shares_.Shape(backend_, row_count, experts.used));
  if (experts.shared_gate) TRY(shared_scores_.Shape(backend_, row_count, 1));
  if (owners_) {
    parts_.resize(row_count * owners_->choices());
    is_own_.resize(parts_.size());
    sums_.resize(row_count * shape_.embedding);
  }
  if (is_whole_ || owners_) return Ok();
  return wide_.Shape(backend_, row_count * wide_rows(), experts.feed_forward);
}

Status FeedForward::Run(const LayerWeights& layer, compute::Operand& rows,
                        std::span<const int32_t> tokens, const compute::Tensor& out) {
  if (layer.experts.empty()) return RunDense(layer.dense, rows, out);
  return RunExperts(layer, rows, rows, tokens, out);
}

Status FeedForward::RunDense(const compute::ExpertWeights& dense, compute::Operand& rows,
                             const compute::Tensor& out) {
  hidden_->Set(TRY(ExpandDense(dense, rows)));
  return ContractDense(dense, out);
}

Status FeedForward::RunExperts(const LayerWeights& layer, compute::Operand& rows,
                               compute::Operand& router_rows, std::span<const int32_t> tokens,
                               const compute::Tensor& out) {
  TRY(ChooseExperts(layer, router_rows, tokens));
  // Rows of one expert are multiplied together. The sum is in fixed point, so its order, and
  // therefore the other rows of the batch, make no difference.
  return commands_.SumExperts(SumOf(layer, &rows, out));
}

Result<compute::Tensor> FeedForward::ExpandExperts(const LayerWeights& layer,
                                                   compute::Operand& rows,
                                                   compute::Operand& router_rows,
                                                   std::span<const int32_t> tokens) {
  // Every part chooses: the router sees the same rows everywhere.
  TRY(ChooseExperts(layer, router_rows, tokens));
  TRY(commands_.ExpandExperts(SumOf(layer, &rows, {}), wide_.tensor()));
  return wide_.tensor();
}

Status FeedForward::ContractExperts(const LayerWeights& layer, const compute::Tensor& out) {
  return commands_.ContractExperts(SumOf(layer, nullptr, out), *hidden_, *shared_hidden_);
}

Result<std::span<const int32_t>> FeedForward::ReadChoice() {
  std::span<const int32_t> choice;
  TRY(commands_.ReadChoice(ids_.tensor(), &choice));
  return choice;
}

Status FeedForward::Choose(const LayerWeights& layer, compute::Operand& router_rows,
                           std::span<const int32_t> tokens) {
  TRY(ChooseExperts(layer, router_rows, tokens));
  return commands_.ReadChoice(ids_.tensor(), &read_choice_);
}

// Every part gets the same result.
void FeedForward::Assign(uint32_t index) {
  choice_.assign(read_choice_.begin(), read_choice_.end());
  const std::span<const int32_t> ids = choice_;
  const size_t used = shape_.experts.used;
  const size_t choices = owners_->choices();
  for (std::vector<uint32_t>& rows : rows_of_) rows.clear();
  for (size_t row = 0; row < ids.size() / used; ++row) {
    const auto parts = std::span(parts_).subspan(row * choices, choices);
    owners_->Assign(index, ids.subspan(row * used, used), parts);
    for (const uint8_t part : parts) {
      std::vector<uint32_t>& rows = rows_of_[part];
      if (rows.empty() || rows.back() != row) rows.push_back(static_cast<uint32_t>(row));
    }
  }
  std::ranges::transform(parts_, is_own_.begin(),
                         [this](uint8_t part) { return static_cast<uint8_t>(part == part_); });
}

Status FeedForward::SumOwn(const LayerWeights& layer, compute::Operand& rows) {
  compute::ExpertSum sum = SumOf(layer, &rows, {});
  sum.biases.down = ByExpert(layer.expert_down_bias, shape_.embedding);
  return commands_.SumOwnExperts(sum, {.ids = choice_, .is_own = is_own_, .sums = sums_});
}

std::span<const int64_t> FeedForward::OwnSums() {
  const std::vector<uint32_t>& rows = rows_of_[part_];
  const size_t width = shape_.embedding;
  if (rows.size() * width == sums_.size()) return sums_;
  packed_.clear();
  for (const uint32_t row : rows) {
    const auto sum = std::span(sums_).subspan(row * width, width);
    packed_.insert(packed_.end(), sum.begin(), sum.end());
  }
  return packed_;
}

void FeedForward::AddSums(uint32_t part, std::span<const int64_t> sums) {
  compute::AddFixedSums(backend_.host(), sums_, rows_of_[part], sums, shape_.embedding);
}

Status FeedForward::FinishSums(const compute::Tensor& out) {
  return commands_.FinishSums(sums_, out);
}

Result<compute::Tensor> FeedForward::ExpandDense(const compute::ExpertWeights& dense,
                                                 compute::Operand& rows) {
  // Layers may differ in width.
  const compute::Tensor gate = gate_.tensor().Narrowed(dense.gate.rows());
  const compute::Tensor up = up_.tensor().Narrowed(dense.gate.rows());
  const compute::Product expand[] = {{&dense.gate, &rows, gate}, {&dense.up, &rows, up}};
  TRY(commands_.Multiply(expand));
  TRY(commands_.Gate(gate, up, GateOf(shape_), shape_.experts.limit));
  return gate;
}

Status FeedForward::ContractDense(const compute::ExpertWeights& dense, const compute::Tensor& out) {
  const compute::Product contract[] = {{&dense.down, hidden_.get(), out}};
  return commands_.Multiply(contract);
}

// ids_ = the experts of each row, shares_ = their weights.
Status FeedForward::ChooseExperts(const LayerWeights& layer, compute::Operand& rows,
                                  std::span<const int32_t> tokens) {
  // The router scores all experts for each row.
  const compute::Product route[] = {{&layer.router, &rows, logits_.tensor()},
                                    {&layer.shared_gate, &rows, shared_scores_.tensor()}};
  TRY(commands_.Multiply(std::span(route).first(shape_.experts.shared_gate ? 2 : 1)));
  if (!layer.router_bias.empty()) {
    const compute::Heads scores[] = {
        {.rows = logits_.tensor(), .count = 1, .bias = layer.router_bias.tensor()}};
    TRY(commands_.FinishHeads(scores));
  }
  // Chooses the experts of each row and their shares: by the scores, or in the first layers of
  // DeepSeek V4 by a table of tokens. A softmax over all, divided by the sum of the chosen, is the
  // softmax over the chosen.
  return commands_.Choose({.logits = logits_.tensor(),
                           .spec = {.score = shape_.experts.score,
                                    .normalized = shape_.experts.normalized,
                                    .scale = shape_.experts.scale,
                                    .groups = shape_.experts.groups,
                                    .used_groups = shape_.experts.used_groups},
                           .bias = layer.choice_bias.tensor(),
                           .scales = layer.expert_scales.tensor(),
                           .table = layer.expert_table,
                           .tokens = tokens,
                           .ids = ids_.tensor(),
                           .shares = shares_.tensor()});
}

compute::ExpertSum FeedForward::SumOf(const LayerWeights& layer, compute::Operand* rows,
                                      const compute::Tensor& out) const {
  const size_t width = shape_.experts.feed_forward;
  return {.rows = rows,
          .ids = ids_.tensor(),
          .shares = shares_.tensor(),
          .experts = layer.experts,
          .shared = shape_.experts.shared > 0 ? &layer.shared : nullptr,
          .limit = shape_.experts.limit,
          .gate = GateOf(shape_),
          .biases = {.gate = ByExpert(layer.expert_gate_bias, width),
                     .up = ByExpert(layer.expert_up_bias, width),
                     .down = ByExpert(layer.expert_down_bias, out.columns)},
          .shared_scores = shared_scores_.tensor(),
          .out = out};
}

}  // namespace aster::model
