// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The layers of a pass that computes a group's part of them. Each of a layer's steps computes some
// columns of what the next one needs as a whole and sends them; the next one waits until those of
// the other parts are there. Where parts own experts, the last one computes sums instead.

#include <fmt/format.h>

#include "base/check.h"
#include "model/forward_pass.h"

namespace aster::model {
namespace {

// Steps of a layer: they give the attended heads, the output of attention, the wide row and the
// output of the layer.
constexpr size_t kStepsWithRows = 4;
// Without the wide row, where parts own experts.
constexpr size_t kStepsWithOwners = 3;

template <typename T>
Bytes BytesOf(std::span<const T> numbers) {
  return {reinterpret_cast<const uint8_t*>(numbers.data()), numbers.size_bytes()};
}

template <typename T>
std::span<const T> NumbersIn(Bytes bytes) {
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

uint32_t WideColumnsOf(const Shape& shape) {
  return shape.experts.count > 0 ? shape.experts.feed_forward : shape.feed_forward;
}

}  // namespace

Status ForwardPass::PlanGroupMemory() {
  const size_t attended = size_t{HeadGroupsOf(shape_)} * AttendedOfGroup();
  const PartRanges& own = ranges_[group_.index];
  TRY(own_rows_.Shape(backend_, row_count_, own.embedding.count()));
  TRY(all_attended_.Shape(backend_, row_count_, attended));
  if (!feed_forward_.is_in_sums())
    TRY(all_wide_.Shape(backend_, row_count_ * feed_forward_.wide_rows(), WideColumnsOf(shape_)));
  return part_.head ? own_logits_.Shape(backend_, wanted_.count, own.vocab.count()) : Ok();
}

// Numbers that attention gives for the heads of a group: theirs, or the low rank that they go
// through.
uint32_t ForwardPass::AttendedOfGroup() const {
  if (latent_) return shape_.latent.output_rank;
  return shape_.head_count / HeadGroupsOf(shape_) * shape_.head_dim;
}

size_t ForwardPass::StepsOfLayer() const {
  return feed_forward_.is_in_sums() ? kStepsWithOwners : kStepsWithRows;
}

Result<Progress> ForwardPass::AdvanceSteps() {
  const size_t steps = StepsOfLayer() * (part_.layer_end - part_.layer_begin);
  // The last step is that behind the layers.
  for (;; ++step_) {
    if (TRY(Collect()) == Progress::kWaiting) return Progress::kWaiting;
    if (step_ > steps) return Progress::kDone;
    TRY(step_ < steps ? RecordStep() : RecordLastStep());
  }
}

Status ForwardPass::RecordStep() {
  const auto layer = part_.layer_begin + static_cast<uint32_t>(step_ / StepsOfLayer());
  const LayerWeights& weights = WeightsOf(layer);
  switch (step_ % StepsOfLayer()) {
    case 0:
      // Behind the layer before, as a whole machine does at its end.
      if (step_ > 0) TRY(EndHalf(WeightsOf(layer - 1).fed_norm));
      TRY(BeginAttention(weights));
      return Share(TRY(AttendOwn(layer, weights)), all_attended_.tensor(), &PartRanges::head_groups,
                   AttendedOfGroup());
    case 1:
      TRY(ContractAttended(weights));
      return Share(own_rows_.tensor(), more_.tensor(), &PartRanges::embedding);
    case 2:
      TRY(EndHalf(weights.attended_norm));
      TRY(BeginFeedForward(weights));
      if (feed_forward_.is_in_sums()) return ShareSums(layer, weights);
      return ShareWide(layer, weights);
    default:
      TRY(feed_forward_.Contract(weights, all_wide_.tensor(), own_rows_.tensor()));
      return Share(own_rows_.tensor(), more_.tensor(), &PartRanges::embedding);
  }
}

Status ForwardPass::ShareWide(uint32_t layer, const LayerWeights& weights) {
  const compute::Tensor own = TRY(feed_forward_.Expand(weights, *operand_, tokens_));
  TRY(CountExperts(layer, weights));
  return Share(own, all_wide_.tensor(), &PartRanges::feed_forward);
}

// Each half is given normed rows of the residual, or a row mixed of its streams.
Status ForwardPass::BeginAttention(const LayerWeights& weights) {
  if (!latent_) return Normalise(rows_.tensor(), weights.attention_norm);
  TRY(mixer_.Before(weights.attention_mix, rows_.tensor(), more_.tensor()));
  return Normalise(more_.tensor(), weights.attention_norm);
}

Status ForwardPass::BeginFeedForward(const LayerWeights& weights) {
  if (!latent_) return Normalise(rows_.tensor(), weights.feed_forward_norm);
  TRY(mixer_.Before(weights.feed_forward_mix, rows_.tensor(), more_.tensor()));
  return Normalise(more_.tensor(), weights.feed_forward_norm);
}

// What all parts have made of it goes back to the residual, on each of them.
Status ForwardPass::EndHalf(const compute::Array& norm) {
  return latent_ ? mixer_.After(more_.tensor(), rows_.tensor()) : FinishHalf(norm);
}

// What the part's heads see, or that through their low ranks.
Result<compute::Tensor> ForwardPass::AttendOwn(uint32_t layer, const LayerWeights& weights) {
  if (latent_) {
    return latent_->Expand(layer, shape_.latent.ratios[layer], weights.latent, spans_, *operand_);
  }
  TRY(RecordHeads(layer, weights));
  return attended_.tensor();
}

// own_rows_ = the part's columns of what attention adds.
Status ForwardPass::ContractAttended(const LayerWeights& weights) {
  if (latent_) return latent_->Contract(weights.latent, all_attended_.tensor(), own_rows_.tensor());
  attended_operand_->Set(all_attended_.tensor());
  const compute::Product output[] = {
      {&weights.output, attended_operand_.get(), own_rows_.tensor()}};
  TRY(commands_->Multiply(output));
  return AddOutputBias(weights, own_rows_.tensor());
}

// The residual behind the last layer, and the part's scores for the one that leads.
Status ForwardPass::RecordLastStep() {
  TRY(EndHalf(WeightsOf(part_.layer_end - 1).fed_norm));
  if (!part_.head || wanted_.count == 0) return Ok();
  TRY(Normalise(TRY(LastRows(wanted_)), weights_.output_norm));
  const compute::Product product[] = {{&shared_.head, operand_.get(), own_logits_.tensor()}};
  TRY(commands_->Multiply(product));
  return Share(own_logits_.tensor(), logits_.tensor(), &PartRanges::vocab, 1,
               Exchange::To::kLeader);
}

// Sends the part's columns of `whole`, which Collect completes.
Status ForwardPass::Share(const compute::Tensor& own, const compute::Tensor& whole,
                          PartRange PartRanges::* range, uint32_t each, Exchange::To to) {
  std::span<const float> rows;
  TRY(commands_->Download(own, &rows));
  TRY(exchange_->Send(gather_, to, BytesOf(rows)));
  if (to == Exchange::To::kLeader && !group_.leads()) return Ok();
  gathered_ = {.whole = whole, .range = range, .each = each};
  return commands_->Upload(rows, gathered_.ColumnsOf(ranges_[group_.index]));
}

// Sends the sums of the part's experts. All parts know from the router who has none to send.
Status ForwardPass::ShareSums(uint32_t layer, const LayerWeights& weights) {
  TRY(feed_forward_.SumOwn(layer, weights, *operand_, tokens_));
  TRY(CountExperts(layer, weights));
  const std::span<const int64_t> own = feed_forward_.OwnSums();
  if (!own.empty()) TRY(exchange_->Send(gather_, Exchange::To::kAll, BytesOf(own)));
  gathered_ = {.whole = more_.tensor(), .are_sums = true};
  return Ok();
}

compute::Tensor ForwardPass::GatheredColumns::ColumnsOf(const PartRanges& ranges) const {
  const PartRange columns = ranges.*range * each;
  return whole.Columns(columns.begin, columns.count());
}

// Bytes that another part sends in the gather that is in flight.
size_t ForwardPass::ExpectedOf(uint32_t part) const {
  if (gathered_.are_sums) return feed_forward_.SumsOf(part) * sizeof(int64_t);
  const compute::Tensor columns = gathered_.ColumnsOf(ranges_[part]);
  return columns.rows * columns.columns * sizeof(float);
}

Status ForwardPass::TakeFrom(uint32_t part, Bytes numbers) {
  if (gathered_.are_sums) return feed_forward_.AddSums(part, NumbersIn<int64_t>(numbers));
  return commands_->Upload(NumbersIn<float>(numbers), gathered_.ColumnsOf(ranges_[part]));
}

// Takes what the other parts have sent of the gather that is in flight, if one is.
Result<Progress> ForwardPass::Collect() {
  if (gathered_.whole.empty()) return Progress::kDone;
  for (; gathered_.next_part < group_.count; ++gathered_.next_part) {
    const uint32_t part = gathered_.next_part;
    const size_t expected = ExpectedOf(part);
    if (part == group_.index || expected == 0) continue;
    const Bytes numbers = TRY(exchange_->Take(gather_, part));
    if (numbers.empty()) return Progress::kWaiting;
    if (numbers.size() != expected) {
      return DataLoss(fmt::format("part {} of the group sent {} bytes, where {} were expected",
                                  part + 1, numbers.size(), expected));
    }
    TRY(TakeFrom(part, numbers));
  }
  if (gathered_.are_sums) TRY(feed_forward_.FinishSums(gathered_.whole));
  gathered_ = {};
  ++gather_;
  return Progress::kDone;
}

}  // namespace aster::model
