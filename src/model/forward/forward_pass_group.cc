// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The layers of a pass that computes a group's part of them. Each step of a layer computes some
// columns of the next step's input. These are sent once the step's batch is done. The next step, in
// a batch of its own, waits for the columns of the other parts. If parts own experts, the last step
// computes sums instead.

#include <fmt/format.h>

#include <algorithm>

#include "kernels/activation_blocks.h"
#include "kernels/activations.h"
#include "model/forward/forward_pass.h"

namespace aster::model {
namespace {

template <typename T>
Bytes BytesOf(std::span<const T> numbers) {
  return {reinterpret_cast<const uint8_t*>(numbers.data()), numbers.size_bytes()};
}

template <typename T>
std::span<const T> NumbersIn(Bytes bytes) {
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

}  // namespace

Status ForwardPass::PlanGroupMemory() {
  const auto plan = [&](compute::Array& array, size_t columns) {
    return array.Shape(backend_, row_count_, columns);
  };
  const PartRanges& own = ranges_[group_.index];
  size_t attended = 0;
  for (uint32_t layer = part_.layer_begin; layer < part_.layer_end; ++layer)
    attended = std::max(attended, size_t{HeadGroupsOf(shape_)} * AttendedOfGroup(shape_, layer));
  TRY(plan(own_rows_, own.embedding.count()));
  TRY(plan(all_attended_, attended));
  if (shape_.feed_forward > 0)
    TRY(plan(all_dense_, std::max(shape_.feed_forward, shape_.kinds.sharing_feed_forward)));
  if (shape_.has_wide_norms()) {
    TRY(plan(all_queries_, size_t{shape_.head_count} * shape_.head_dim));
    TRY(plan(all_keys_, size_t{shape_.kv_head_count} * shape_.head_dim));
  }
  if (delta_) TRY(delta_->PlanPart(row_count_, own.channels.count(), own.values.count()));
  if (shape_.experts.count > 0 && !feed_forward_.is_in_sums()) {
    TRY(all_wide_.Shape(backend_, row_count_ * feed_forward_.wide_rows(),
                        shape_.experts.feed_forward));
  }
  return part_.head ? own_logits_.Shape(backend_, wanted_.count, own.vocab.count()) : Ok();
}

void ForwardPass::PlanSteps() {
  steps_.clear();
  for (uint32_t layer = part_.layer_begin; layer < part_.layer_end; ++layer) {
    const LayerWeights& weights = WeightsOf(layer);
    const auto add = [&](GroupStep step) { steps_.push_back({layer, step}); };
    const bool has_state = shape_.has_state(layer);
    if (has_state || shape_.has_wide_norms()) add(GroupStep::kProject);
    if (!has_state) add(GroupStep::kAttend);
    add(GroupStep::kOutput);
    if (weights.dense.gate.rows() > 0) {
      add(GroupStep::kExpand);
      add(GroupStep::kContract);
    }
    if (weights.experts.empty()) continue;
    if (feed_forward_.is_in_sums()) {
      add(GroupStep::kChooseExperts);
      add(GroupStep::kSumExperts);
    } else {
      add(GroupStep::kExpandExperts);
      add(GroupStep::kContractExperts);
    }
  }
  step_ = 0;
  gathered_ = {};
  is_read_ = false;
}

Result<Progress> ForwardPass::AdvanceSteps() {
  // There is one more step after the layers.
  for (;; ++step_) {
    if (TRY(FinishStep()) == Progress::kWaiting) return Progress::kWaiting;
    if (TRY(Collect()) == Progress::kWaiting) return Progress::kWaiting;
    if (step_ > steps_.size()) return Progress::kDone;
    TRY(step_ < steps_.size() ? RecordStep(steps_[step_]) : RecordLastStep());
  }
}

// The host can read the last step's result once its batch is done; the next step begins another.
Result<Progress> ForwardPass::FinishStep() {
  if (!is_read_) return Progress::kDone;
  if (TRY(FinishBatch()) == Progress::kWaiting) return Progress::kWaiting;
  is_read_ = false;
  const bool is_last = step_ > steps_.size();
  if (!is_last && steps_[step_ - 1].step == GroupStep::kChooseExperts) {
    feed_forward_.Assign(steps_[step_ - 1].layer);
  } else {
    TRY(SendOwn());
  }
  TRY(commands_->Begin());
  TRY(PlaceOwn());
  return Progress::kDone;
}

Status ForwardPass::RecordStep(const LayerStep& step) {
  const uint32_t layer = step.layer;
  const LayerWeights& weights = WeightsOf(layer);
  if (step_ == 0 || steps_[step_ - 1].layer != layer) {
    // Ends the layer before, as a pass on one machine does at the layer's end.
    if (step_ > 0) TRY(EndLayer(layer - 1));
    TRY(BeginAttention(layer, weights));
  }
  const PartColumns more = {
      .own = own_rows_.tensor(), .whole = more_.tensor(), .range = &PartRanges::embedding};
  switch (step.step) {
    case GroupStep::kProject:
      return ShareProjected(layer, weights);
    case GroupStep::kAttend:
      return ShareAttended(layer, weights);
    case GroupStep::kOutput:
      TRY(ContractAttended(layer, weights));
      return Share({more});
    case GroupStep::kExpand:
      TRY(EndAttention(weights));
      return ShareDense(layer, weights);
    case GroupStep::kContract:
      TRY(feed_forward_.ContractDense(weights.dense, own_rows_.tensor()));
      return Share({more});
    case GroupStep::kExpandExperts:
      TRY(BeginExperts(weights));
      return ShareExperts(layer, weights);
    case GroupStep::kContractExperts:
      TRY(ContractExperts(weights));
      return Share(
          {{.own = own_rows_.tensor(), .whole = OutOfExperts(), .range = &PartRanges::embedding}});
    case GroupStep::kChooseExperts:
      TRY(BeginExperts(weights));
      return ChooseExperts(layer, weights);
    case GroupStep::kSumExperts:
      return ShareSums(weights);
  }
  return Ok();
}

// Each half gets normed rows of the residual, or a row mixed from its streams.
Status ForwardPass::BeginAttention(uint32_t layer, const LayerWeights& weights) {
  if (shape_.has_ngrams(layer)) TRY(AddNgrams(layer, weights));
  if (!latent_) return Normalise(rows_.tensor(), weights.attention_norm);
  TRY(mixer_.Before(weights.attention_mix, rows_.tensor(), more_.tensor()));
  return Normalise(more_.tensor(), weights.attention_norm);
}

Status ForwardPass::BeginFeedForward(const LayerWeights& weights) {
  if (!latent_) return Normalise(rows_.tensor(), weights.feed_forward_norm);
  TRY(mixer_.Before(weights.feed_forward_mix, rows_.tensor(), more_.tensor()));
  return Normalise(more_.tensor(), weights.feed_forward_norm);
}

// Adds the output of all parts to the residual, on each part.
Status ForwardPass::EndAttention(const LayerWeights& weights) {
  TRY(latent_ ? mixer_.After(more_.tensor(), rows_.tensor()) : FinishHalf(weights.attended_norm));
  return BeginFeedForward(weights);
}

Status ForwardPass::EndLayer(uint32_t layer) {
  const LayerWeights& weights = WeightsOf(layer);
  if (shape_.is_gemma4()) {
    TRY(EndGemma4Layer(layer, weights));
  } else {
    TRY(latent_ ? mixer_.After(more_.tensor(), rows_.tensor()) : FinishHalf(weights.fed_norm));
  }
  return RecordTap(layer);
}

// The states' inputs and their gate; or queries and keys that are normed over all heads.
Status ForwardPass::ShareProjected(uint32_t layer, const LayerWeights& weights) {
  if (shape_.has_state(layer)) {
    TRY(delta_->ProjectPart(weights.delta, *operand_));
    return Share(
        {{.own = delta_->own_mixed(), .whole = delta_->mixed(), .range = &PartRanges::channels},
         {.own = delta_->own_gate(), .whole = delta_->gate(), .range = &PartRanges::values}});
  }
  const HeadRows rows = HeadRowsOf(layer);
  TRY(ProjectHeads(layer, rows, weights));
  return Share({{.own = rows.queries,
                 .whole = all_queries_.tensor(),
                 .range = &PartRanges::head_groups,
                 .each = shape_.head_count / HeadGroupsOf(shape_) * shape_.head_dim},
                {.own = rows.keys,
                 .whole = all_keys_.tensor(),
                 .range = &PartRanges::head_groups,
                 .each = shape_.head_dim}});
}

Status ForwardPass::ShareAttended(uint32_t layer, const LayerWeights& weights) {
  const compute::Tensor own = TRY(AttendOwn(layer, weights));
  const PartColumns attended = {.own = own,
                                .whole = AllAttendedOf(layer),
                                .range = &PartRanges::head_groups,
                                .each = AttendedOfGroup(shape_, layer)};
  if (latent_) return Share({ForProduct(attended, weights.latent.output_high, latent_->low())});
  if (mla_) return Share({ForProduct(attended, weights.mla.output, mla_->values())});
  return Share({ForProduct(attended, weights.output, *attended_operand_)});
}

compute::Tensor ForwardPass::AllAttendedOf(uint32_t layer) const {
  return all_attended_.tensor().Narrowed(size_t{HeadGroupsOf(shape_)} *
                                         AttendedOfGroup(shape_, layer));
}

compute::Tensor ForwardPass::AllDenseOf(uint32_t layer) const {
  return all_dense_.tensor().Narrowed(FeedForwardOf(shape_, layer));
}

// The attention output of the part's heads, or that through their low ranks.
Result<compute::Tensor> ForwardPass::AttendOwn(uint32_t layer, const LayerWeights& weights) {
  if (latent_) {
    return latent_->Expand(layer, shape_.latent.ratios[layer], weights.latent, spans_, *operand_);
  }
  if (mla_) {
    const compute::Angles angles = {cosines_.tensor(), sines_.tensor()};
    return mla_->Expand(layer, weights.mla, angles, spans_, *operand_);
  }
  const HeadRows rows = HeadRowsOf(layer);
  if (!shape_.has_wide_norms()) {
    TRY(RecordHeads(layer, weights));
    return rows.attended;
  }
  // Once all heads have arrived and are normed, the part continues with its own.
  TRY(NormaliseAllHeads(all_queries_.tensor(), weights.query_norm));
  TRY(NormaliseAllHeads(all_keys_.tensor(), weights.key_norm));
  const PartRange own = ranges_[group_.index].head_groups;
  const PartRange heads = own * (shape_.head_count / HeadGroupsOf(shape_));
  const size_t dim = shape_.head_dim;
  const compute::RowRange all[] = {{0, row_count_}};
  TRY(commands_->Gather(all_queries_.tensor().Columns(heads.begin * dim, heads.count() * dim), all,
                        rows.queries));
  TRY(commands_->Gather(all_keys_.tensor().Columns(own.begin * dim, own.count() * dim), all,
                        rows.keys));
  TRY(Attend(layer, rows, weights));
  return rows.attended;
}

// Keys and values are those of all heads: the part's query heads attend to theirs, one key-value
// head after the other.
Status ForwardPass::AttendInWholeRows(uint32_t layer, const HeadRows& rows,
                                      const LayerWeights& weights) {
  const PartRange own = ranges_[group_.index].head_groups;
  const uint32_t of_each = shape_.head_count / shape_.kv_head_count;
  compute::HeadAttention some = AttentionOf(layer, rows, weights);
  for (uint32_t head = own.begin, end = 0; head < own.end; head = end) {
    end = std::min(own.end, (head / of_each + 1) * of_each);
    const size_t first = size_t{head - own.begin} * shape_.head_dim;
    const size_t count = size_t{end - head} * shape_.head_dim;
    some.head_count = end - head;
    some.kv_head_count = 1;
    some.first_kv_head = head / of_each;
    some.queries = rows.queries.Columns(first, count);
    some.out = rows.attended.Columns(first, count);
    TRY(commands_->Attend(some));
    // The first call has written them.
    some.keys = some.values = {};
  }
  return Ok();
}

// own_rows_ = the part's columns of the attention's output product.
Status ForwardPass::ContractAttended(uint32_t layer, const LayerWeights& weights) {
  const compute::Tensor& own = own_rows_.tensor();
  if (shape_.has_state(layer)) return delta_->Finish(layer, weights.delta, spans_, own);
  if (latent_) return latent_->Contract(weights.latent, own);
  if (mla_) return mla_->Contract(weights.mla, own);
  const compute::Product output[] = {{&weights.output, attended_operand_.get(), own}};
  TRY(commands_->Multiply(output));
  return AddBias(weights.output_bias, own);
}

Status ForwardPass::ShareDense(uint32_t layer, const LayerWeights& weights) {
  const bool is_own = KvLayerOf(shape_, layer) == layer;
  const compute::Tensor own = TRY(feed_forward_.ExpandDense(weights.dense, *operand_));
  return Share({ForProduct({.own = own,
                            .whole = AllDenseOf(layer),
                            .range = is_own ? &PartRanges::feed_forward : &PartRanges::sharing},
                           weights.dense.down, feed_forward_.wide())});
}

// operand_ = the experts' input, and router_operand_ = the router's if it differs.
Status ForwardPass::BeginExperts(const LayerWeights& weights) {
  return shape_.is_gemma4() ? BeginExpertsBesideDense(weights) : EndAttention(weights);
}

// The tensor for the experts' output: beside a dense network's output, or alone.
compute::Tensor ForwardPass::OutOfExperts() const {
  return shape_.is_gemma4() ? mixed_.tensor() : more_.tensor();
}

Status ForwardPass::ShareExperts(uint32_t layer, const LayerWeights& weights) {
  compute::Operand& router_rows = shape_.is_gemma4() ? *router_operand_ : *operand_;
  const compute::Tensor own =
      TRY(feed_forward_.ExpandExperts(weights, *operand_, router_rows, tokens_));
  TRY(CountExperts(layer, weights));
  const auto columns_of = [&](bool shared) -> PartColumns {
    return {.own = WideRowsOf(own, shared),
            .whole = WideRowsOf(all_wide_.tensor(), shared),
            .range = &PartRanges::experts};
  };
  const PartColumns chosen =
      ForProduct(columns_of(/*shared=*/false), weights.experts.front().down, feed_forward_.wide());
  const PartColumns shared = columns_of(/*shared=*/true);
  switch (shape_.experts.shared) {
    case 0:
      return Share({chosen});
    case 1:
      return Share({chosen, ForProduct(shared, weights.shared.down, feed_forward_.shared_wide())});
    default:
      // As one wide expert, they have a part's columns in several places: these are sent as floats.
      return Share({chosen, shared});
  }
}

// own_rows_ = the part's columns of the experts' output product.
Status ForwardPass::ContractExperts(const LayerWeights& weights) {
  const Experts& experts = shape_.experts;
  if (experts.shared > 1) {
    const compute::Tensor shared = WideRowsOf(all_wide_.tensor(), /*shared=*/true);
    feed_forward_.shared_wide().Set(shared.As(size_t{experts.shared} * experts.feed_forward));
  }
  return feed_forward_.ContractExperts(weights, own_rows_.tensor());
}

// The wide rows of shared experts come after those of chosen ones.
compute::Tensor ForwardPass::WideRowsOf(const compute::Tensor& wide, bool shared) const {
  const size_t chosen = row_count_ * shape_.experts.used;
  return shared ? wide.Rows(chosen, wide.rows - chosen) : wide.Rows(0, chosen);
}

Status ForwardPass::ChooseExperts(uint32_t layer, const LayerWeights& weights) {
  is_read_ = true;
  compute::Operand& router_rows = shape_.is_gemma4() ? *router_operand_ : *operand_;
  TRY(feed_forward_.Choose(weights, router_rows, tokens_));
  return CountExperts(layer, weights);
}

// Sends the sums of the part's experts. All parts know from the router which have none to send.
Status ForwardPass::ShareSums(const LayerWeights& weights) {
  is_read_ = true;
  gathered_.sums = OutOfExperts();
  return feed_forward_.SumOwn(weights, *operand_);
}

// The residual after the last layer, and the part's logits for the leading part.
Status ForwardPass::RecordLastStep() {
  TRY(EndLayer(part_.layer_end - 1));
  if (!part_.head || wanted_.count == 0) return Ok();
  TRY(Normalise(TRY(LastRows(wanted_)), weights_.output_norm));
  const compute::Product product[] = {{&shared_.head, operand_.get(), own_logits_.tensor()}};
  TRY(commands_->Multiply(product));
  return Share(
      {{.own = own_logits_.tensor(), .whole = logits_.tensor(), .range = &PartRanges::vocab}},
      Exchange::To::kLeader);
}

// Marks the columns as input of a product with this matrix.
ForwardPass::PartColumns ForwardPass::ForProduct(PartColumns columns, const compute::Matrix& matrix,
                                                 compute::Operand& operand) const {
  const kernels::ActivationFormat format = kernels::ActivationFormatFor(matrix.type());
  columns.operand = &operand;
  if (AreInSteps(ranges_, columns.range, columns.each, kernels::BlockStep(format)))
    columns.blocks = format;
  return columns;
}

// Shares the part's own columns; Collect adds the others. If a product reads 8-bit blocks, each
// part prepares its columns for all parts. Programs that do not know blocks get floats and prepare
// them.
Status ForwardPass::Share(std::initializer_list<PartColumns> columns, Exchange::To to) {
  is_read_ = true;
  gathered_.columns = columns;
  gathered_.to = to;
  gathered_.are_blocks = gathered_.may_be_blocks() && exchange_->TakesBlocks();
  for (PartColumns& some : gathered_.columns) {
    TRY(ReadOwn(some, gathered_.are_blocks));
    if (some.blocks)
      TRY(commands_->SetInParts(*some.operand, *some.blocks, some.whole.rows, some.whole.columns));
  }
  return Ok();
}

// Downloads the columns in the form that is sent.
Status ForwardPass::ReadOwn(PartColumns& columns, bool as_blocks) {
  if (as_blocks && columns.blocks)
    return commands_->DownloadBlocks(*columns.blocks, columns.own, &columns.sent);
  std::span<const float> numbers;
  TRY(commands_->Download(columns.own, &numbers));
  columns.sent = BytesOf(numbers);
  return Ok();
}

// Sends the part's own columns or sums, before the next batch begins.
Status ForwardPass::SendOwn() {
  if (!gathered_.sums.empty()) {
    const std::span<const int64_t> own = feed_forward_.OwnSums();
    if (own.empty()) return Ok();
    return exchange_->Send(gather_, Exchange::To::kAll, {.bytes = BytesOf(own)});
  }
  Exchange::Rows rows{.bytes = gathered_.columns.front().sent, .are_blocks = gathered_.are_blocks};
  if (gathered_.columns.size() > 1) {
    message_.clear();
    for (const PartColumns& some : gathered_.columns)
      message_.insert(message_.end(), some.sent.begin(), some.sent.end());
    rows.bytes = message_;
  }
  TRY(exchange_->Send(gather_, gathered_.to, rows));
  if (gathered_.to == Exchange::To::kLeader && !group_.is_leader()) gathered_ = {};
  for (const PartColumns& some : gathered_.columns) {
    if (some.blocks) TRY(PlaceBlocks(some, group_.index, some.sent, gathered_.are_blocks));
  }
  return Ok();
}

// Copies the part's own floats to the whole rows. Blocks were placed when they were sent.
Status ForwardPass::PlaceOwn() {
  for (const PartColumns& some : gathered_.columns) {
    if (some.blocks) continue;
    const compute::RowRange all[] = {{0, some.own.rows}};
    TRY(commands_->Gather(some.own, all, some.ColumnsOf(ranges_[group_.index])));
  }
  return Ok();
}

compute::Tensor ForwardPass::PartColumns::ColumnsOf(const PartRanges& ranges) const {
  const PartRange columns = ranges.*range * each;
  return whole.Columns(columns.begin, columns.count());
}

compute::BlockColumns ForwardPass::PartColumns::BlocksOf(const PartRanges& ranges) const {
  const PartRange columns = ranges.*range * each;
  return {.format = *blocks, .begin = columns.begin, .count = columns.count()};
}

size_t ForwardPass::PartColumns::BytesOf(const PartRanges& ranges, bool are_blocks) const {
  const size_t columns = (ranges.*range * each).count();
  if (are_blocks && blocks) return kernels::BlockBytes(*blocks, whole.rows, columns);
  return whole.rows * columns * sizeof(float);
}

bool ForwardPass::Gather::may_be_blocks() const {
  return std::ranges::any_of(columns,
                             [](const PartColumns& some) { return some.blocks.has_value(); });
}

// Bytes that another part sends in the current gather: 0 if it sends nothing.
size_t ForwardPass::ExpectedOf(uint32_t part, bool are_blocks) const {
  if (!gathered_.sums.empty()) return feed_forward_.SumsOf(part) * sizeof(int64_t);
  size_t bytes = 0;
  for (const PartColumns& some : gathered_.columns)
    bytes += some.BytesOf(ranges_[part], are_blocks);
  return bytes;
}

Status ForwardPass::TakeFrom(uint32_t part, const Exchange::Rows& rows) {
  if (!gathered_.sums.empty()) {
    feed_forward_.AddSums(part, NumbersIn<int64_t>(rows.bytes));
    return Ok();
  }
  Bytes left = rows.bytes;
  for (const PartColumns& some : gathered_.columns) {
    const Bytes own = left.first(some.BytesOf(ranges_[part], rows.are_blocks));
    TRY(Place(some, part, own, rows.are_blocks));
    left = left.subspan(own.size());
  }
  return Ok();
}

// Puts columns from another part into the whole rows.
Status ForwardPass::Place(const PartColumns& columns, uint32_t part, Bytes bytes, bool are_blocks) {
  if (columns.blocks) return PlaceBlocks(columns, part, bytes, are_blocks);
  return commands_->Upload(NumbersIn<float>(bytes), columns.ColumnsOf(ranges_[part]));
}

Status ForwardPass::PlaceBlocks(const PartColumns& columns, uint32_t part, Bytes bytes,
                                bool are_blocks) {
  const compute::BlockColumns place = columns.BlocksOf(ranges_[part]);
  if (!are_blocks) {
    bytes = TRY(blocks_.Make(backend_.host(), place.format, NumbersIn<float>(bytes), place.count));
  }
  return commands_->UploadBlocks(bytes, *columns.operand, place);
}

// Takes the other parts' rows of the current gather, if there is one.
Result<Progress> ForwardPass::Collect() {
  if (!gathered_.is_in_flight()) return Progress::kDone;
  for (; gathered_.next_part < group_.count; ++gathered_.next_part) {
    const uint32_t part = gathered_.next_part;
    if (part == group_.index || ExpectedOf(part, /*are_blocks=*/false) == 0) continue;
    const Exchange::Rows rows = TRY(exchange_->Take(gather_, part));
    if (rows.bytes.empty()) return Progress::kWaiting;
    if (rows.are_blocks && !gathered_.may_be_blocks()) {
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
  for (const PartColumns& some : gathered_.columns) {
    if (some.operand != nullptr && !some.blocks) some.operand->Set(some.whole);
  }
  if (!gathered_.sums.empty()) TRY(feed_forward_.FinishSums(gathered_.sums));
  gathered_ = {};
  ++gather_;
  return Progress::kDone;
}

}  // namespace aster::model
