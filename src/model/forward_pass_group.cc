// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The layers of a pass that computes a group's part of them. Each of a layer's steps computes some
// columns of what the next one needs as a whole and sends them; the next one waits until those of
// the other parts are there. Where parts own experts, the last one computes sums instead.

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "kernels/activation_blocks.h"
#include "kernels/activations.h"
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
      return ShareAttended(TRY(AttendOwn(layer, weights)), weights);
    case 1:
      TRY(ContractAttended(weights));
      return Share(own_rows_.tensor(), {.whole = more_.tensor(), .range = &PartRanges::embedding});
    case 2:
      TRY(EndHalf(weights.attended_norm));
      TRY(BeginFeedForward(weights));
      if (feed_forward_.is_in_sums()) return ShareSums(layer, weights);
      return ShareWide(layer, weights);
    default:
      TRY(feed_forward_.Contract(weights, own_rows_.tensor()));
      return Share(own_rows_.tensor(), {.whole = more_.tensor(), .range = &PartRanges::embedding});
  }
}

Status ForwardPass::ShareWide(uint32_t layer, const LayerWeights& weights) {
  const compute::Tensor own = TRY(feed_forward_.Expand(weights, *operand_, tokens_));
  TRY(CountExperts(layer, weights));
  GatheredColumns wide{.whole = all_wide_.tensor(),
                       .range = &PartRanges::feed_forward,
                       .operand = &feed_forward_.wide()};
  wide.blocks = FormatOfBlocks(wide, FeedForward::WideFormat(weights));
  return Share(own, wide);
}

Status ForwardPass::ShareAttended(const compute::Tensor& own, const LayerWeights& weights) {
  const compute::Matrix& output = latent_ ? weights.latent.output_high : weights.output;
  GatheredColumns attended{.whole = all_attended_.tensor(),
                           .range = &PartRanges::head_groups,
                           .each = AttendedOfGroup(),
                           .operand = latent_ ? &latent_->low() : attended_operand_.get()};
  attended.blocks = FormatOfBlocks(attended, kernels::ActivationFormatFor(output.type()));
  return Share(own, attended);
}

// The format of what a product reads, where every part's columns are whole blocks of it.
std::optional<kernels::ActivationFormat> ForwardPass::FormatOfBlocks(
    const GatheredColumns& gathered, std::optional<kernels::ActivationFormat> format) const {
  const size_t step = format ? kernels::BlockStep(*format) : 0;
  const bool are_whole = step > 0 && std::ranges::all_of(ranges_, [&](const PartRanges& ranges) {
                           const PartRange columns = ranges.*gathered.range * gathered.each;
                           return columns.begin % step == 0 && columns.end % step == 0;
                         });
  return are_whole ? format : std::nullopt;
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
  if (latent_) return latent_->Contract(weights.latent, own_rows_.tensor());
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
  return Share(own_logits_.tensor(), {.whole = logits_.tensor(), .range = &PartRanges::vocab},
               Exchange::To::kLeader);
}

// Sends the part's columns of what Collect completes.
Status ForwardPass::Share(const compute::Tensor& own, const GatheredColumns& gathered,
                          Exchange::To to) {
  gathered_ = gathered;
  if (gathered.blocks) return ShareBlocks(own);
  std::span<const float> rows;
  TRY(commands_->Download(own, &rows));
  TRY(exchange_->Send(gather_, to, {.bytes = BytesOf(rows)}));
  if (to == Exchange::To::kLeader && !group_.leads()) {
    gathered_ = {};
    return Ok();
  }
  return commands_->Upload(rows, gathered_.ColumnsOf(ranges_[group_.index]));
}

// The same where a product reads 8-bit blocks: each part prepares its columns, for all. Programs
// that do not know blocks are sent numbers, and prepare them.
Status ForwardPass::ShareBlocks(const compute::Tensor& own) {
  const Bytes blocks = TRY(commands_->DownloadBlocks(*gathered_.blocks, own));
  Exchange::Rows rows{.bytes = blocks, .are_blocks = true};
  if (!exchange_->TakesBlocks()) {
    std::span<const float> numbers;
    TRY(commands_->Download(own, &numbers));
    rows = {.bytes = BytesOf(numbers)};
  }
  TRY(exchange_->Send(gather_, Exchange::To::kAll, rows));
  const compute::Tensor& whole = gathered_.whole;
  TRY(commands_->SetInParts(*gathered_.operand, *gathered_.blocks, whole.rows, whole.columns));
  const compute::BlockColumns columns = gathered_.BlocksOf(ranges_[group_.index]);
  return commands_->UploadBlocks(blocks, *gathered_.operand, columns);
}

// Sends the sums of the part's experts. All parts know from the router who has none to send.
Status ForwardPass::ShareSums(uint32_t layer, const LayerWeights& weights) {
  TRY(feed_forward_.SumOwn(layer, weights, *operand_, tokens_));
  TRY(CountExperts(layer, weights));
  const std::span<const int64_t> own = feed_forward_.OwnSums();
  if (!own.empty()) TRY(exchange_->Send(gather_, Exchange::To::kAll, {.bytes = BytesOf(own)}));
  gathered_ = {.whole = more_.tensor(), .are_sums = true};
  return Ok();
}

compute::Tensor ForwardPass::GatheredColumns::ColumnsOf(const PartRanges& ranges) const {
  const PartRange columns = ranges.*range * each;
  return whole.Columns(columns.begin, columns.count());
}

compute::BlockColumns ForwardPass::GatheredColumns::BlocksOf(const PartRanges& ranges) const {
  const PartRange columns = ranges.*range * each;
  return {.format = *blocks, .begin = columns.begin, .count = columns.count()};
}

// Bytes that another part sends in the gather that is under way: 0 where it sends nothing.
size_t ForwardPass::ExpectedOf(uint32_t part, bool are_blocks) const {
  if (gathered_.are_sums) return feed_forward_.SumsOf(part) * sizeof(int64_t);
  const compute::Tensor columns = gathered_.ColumnsOf(ranges_[part]);
  if (are_blocks) return kernels::BlockBytes(*gathered_.blocks, columns.rows, columns.columns);
  return columns.rows * columns.columns * sizeof(float);
}

Status ForwardPass::TakeFrom(uint32_t part, const Exchange::Rows& rows) {
  if (gathered_.are_sums) return feed_forward_.AddSums(part, NumbersIn<int64_t>(rows.bytes));
  Bytes blocks = rows.bytes;
  if (!rows.are_blocks) {
    const compute::Tensor columns = gathered_.ColumnsOf(ranges_[part]);
    TRY(commands_->Upload(NumbersIn<float>(rows.bytes), columns));
    if (!gathered_.blocks) return Ok();
    blocks = TRY(commands_->DownloadBlocks(*gathered_.blocks, columns));
  }
  return commands_->UploadBlocks(blocks, *gathered_.operand, gathered_.BlocksOf(ranges_[part]));
}

// Takes what the other parts have sent of the gather that is under way, if one is.
Result<Progress> ForwardPass::Collect() {
  if (gathered_.whole.empty()) return Progress::kDone;
  for (; gathered_.next_part < group_.count; ++gathered_.next_part) {
    const uint32_t part = gathered_.next_part;
    if (part == group_.index || ExpectedOf(part, /*are_blocks=*/false) == 0) continue;
    const Exchange::Rows rows = TRY(exchange_->Take(gather_, part));
    if (rows.bytes.empty()) return Progress::kWaiting;
    if (rows.are_blocks && !gathered_.blocks) {
      return DataLoss(
          fmt::format("part {} of the group sent blocks, where numbers were expected", part + 1));
    }
    const size_t expected = ExpectedOf(part, rows.are_blocks);
    if (rows.bytes.size() != expected) {
      return DataLoss(fmt::format("part {} of the group sent {} bytes, where {} were expected",
                                  part + 1, rows.bytes.size(), expected));
    }
    TRY(TakeFrom(part, rows));
  }
  if (gathered_.operand != nullptr && !gathered_.blocks) gathered_.operand->Set(gathered_.whole);
  if (gathered_.are_sums) TRY(feed_forward_.FinishSums(gathered_.whole));
  gathered_ = {};
  ++gather_;
  return Progress::kDone;
}

}  // namespace aster::model
