// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The layers of a pass that computes a group's part of them. Each of a layer's steps computes some
// columns of what the next one needs as a whole and sends them; the next one waits until those of
// the other parts are there. Where parts own experts, the last one computes sums instead.

#include <fmt/format.h>

#include <algorithm>

#include "model/forward_pass.h"

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
      add(GroupStep::kSumExperts);
    } else {
      add(GroupStep::kExpandExperts);
      add(GroupStep::kContractExperts);
    }
  }
  step_ = 0;
  gather_ = 0;
  gathered_ = {};
}

Result<Progress> ForwardPass::AdvanceSteps() {
  // Behind the layers there is one more.
  for (;; ++step_) {
    if (TRY(Collect()) == Progress::kWaiting) return Progress::kWaiting;
    if (step_ > steps_.size()) return Progress::kDone;
    TRY(step_ < steps_.size() ? RecordStep(steps_[step_]) : RecordLastStep());
  }
}

Status ForwardPass::RecordStep(const LayerStep& step) {
  const uint32_t layer = step.layer;
  const LayerWeights& weights = WeightsOf(layer);
  if (step_ == 0 || steps_[step_ - 1].layer != layer) {
    // Behind the layer before, as a whole machine does at its end.
    if (step_ > 0) TRY(EndLayer(layer - 1));
    TRY(BeginAttention(weights));
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
      TRY(feed_forward_.ContractDense(weights.dense, AllDenseOf(layer), own_rows_.tensor()));
      return Share({more});
    case GroupStep::kExpandExperts:
      TRY(BeginExperts(weights));
      return ShareExperts(layer, weights);
    case GroupStep::kContractExperts:
      TRY(feed_forward_.ContractExperts(weights, all_wide_.tensor(), own_rows_.tensor()));
      return Share(
          {{.own = own_rows_.tensor(), .whole = OutOfExperts(), .range = &PartRanges::embedding}});
    case GroupStep::kSumExperts:
      TRY(BeginExperts(weights));
      return ShareSums(layer, weights);
  }
  return Ok();
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
Status ForwardPass::EndAttention(const LayerWeights& weights) {
  TRY(latent_ ? mixer_.After(more_.tensor(), rows_.tensor()) : FinishHalf(weights.attended_norm));
  return BeginFeedForward(weights);
}

Status ForwardPass::EndLayer(uint32_t layer) {
  const LayerWeights& weights = WeightsOf(layer);
  if (shape_.is_gemma4()) return EndGemma4Layer(layer, weights);
  return latent_ ? mixer_.After(more_.tensor(), rows_.tensor()) : FinishHalf(weights.fed_norm);
}

// What states are made of, and their gate; or queries and keys that are normed over all heads.
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
  return Share({{.own = own,
                 .whole = AllAttendedOf(layer),
                 .range = &PartRanges::head_groups,
                 .each = AttendedOfGroup(shape_, layer)}});
}

compute::Tensor ForwardPass::AllAttendedOf(uint32_t layer) const {
  return all_attended_.tensor().Narrowed(size_t{HeadGroupsOf(shape_)} *
                                         AttendedOfGroup(shape_, layer));
}

compute::Tensor ForwardPass::AllDenseOf(uint32_t layer) const {
  return all_dense_.tensor().Narrowed(FeedForwardOf(shape_, layer));
}

// What the part's heads see, or that through their low ranks.
Result<compute::Tensor> ForwardPass::AttendOwn(uint32_t layer, const LayerWeights& weights) {
  if (latent_) {
    return latent_->Expand(layer, shape_.latent.ratios[layer], weights.latent, spans_, *operand_);
  }
  if (mla_) {
    const compute::Angles angles = {cosines_.tensor(), sines_.tensor()};
    return mla_->Expand(layer, weights.mla, angles, spans_, *operand_);
  }
  HeadRows rows = HeadRowsOf(layer);
  if (!shape_.has_wide_norms()) {
    TRY(RecordHeads(layer, weights));
    return rows.attended;
  }
  // Once all heads are there and normed, the part goes on with its own.
  TRY(NormaliseAllHeads(all_queries_.tensor(), weights.query_norm));
  TRY(NormaliseAllHeads(all_keys_.tensor(), weights.key_norm));
  const PartRange own = ranges_[group_.index].head_groups;
  const PartRange heads = own * (shape_.head_count / HeadGroupsOf(shape_));
  const size_t dim = shape_.head_dim;
  rows.queries = all_queries_.tensor().Columns(heads.begin * dim, heads.count() * dim);
  rows.keys = all_keys_.tensor().Columns(own.begin * dim, own.count() * dim);
  TRY(Attend(layer, rows, weights));
  return rows.attended;
}

// Keys and values are those of all heads: the part's own heads read the ones that are theirs, those
// of one at a time.
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
    // They have been written.
    some.keys = some.values = {};
  }
  return Ok();
}

// own_rows_ = the part's columns of what attention adds.
Status ForwardPass::ContractAttended(uint32_t layer, const LayerWeights& weights) {
  const compute::Tensor& own = own_rows_.tensor();
  if (shape_.has_state(layer)) return delta_->Finish(layer, weights.delta, spans_, own);
  const compute::Tensor all = AllAttendedOf(layer);
  if (latent_) return latent_->Contract(weights.latent, all, own);
  if (mla_) return mla_->Contract(weights.mla, all, own);
  attended_operand_->Set(all);
  const compute::Product output[] = {{&weights.output, attended_operand_.get(), own}};
  TRY(commands_->Multiply(output));
  return AddOutputBias(weights, own);
}

Status ForwardPass::ShareDense(uint32_t layer, const LayerWeights& weights) {
  const bool is_own = KvLayerOf(shape_, layer) == layer;
  const compute::Tensor own = TRY(feed_forward_.ExpandDense(weights.dense, *operand_));
  return Share({{.own = own,
                 .whole = AllDenseOf(layer),
                 .range = is_own ? &PartRanges::feed_forward : &PartRanges::sharing}});
}

// operand_ = what experts are given, and router_operand_ what their router is where that differs.
Status ForwardPass::BeginExperts(const LayerWeights& weights) {
  return shape_.is_gemma4() ? BeginExpertsBesideDense(weights) : EndAttention(weights);
}

// Where what experts give is gathered: beside what a dense network has given, or alone.
compute::Tensor ForwardPass::OutOfExperts() const {
  return shape_.is_gemma4() ? mixed_.tensor() : more_.tensor();
}

Status ForwardPass::ShareExperts(uint32_t layer, const LayerWeights& weights) {
  compute::Operand& router_rows = shape_.is_gemma4() ? *router_operand_ : *operand_;
  const compute::Tensor own =
      TRY(feed_forward_.ExpandExperts(weights, *operand_, router_rows, tokens_));
  TRY(CountExperts(layer, weights));
  return Share({{.own = own, .whole = all_wide_.tensor(), .range = &PartRanges::experts}});
}

// Sends the sums of the part's experts. All parts know from the router who has none to send.
Status ForwardPass::ShareSums(uint32_t layer, const LayerWeights& weights) {
  compute::Operand& router_rows = shape_.is_gemma4() ? *router_operand_ : *operand_;
  TRY(feed_forward_.SumOwn(layer, weights, *operand_, router_rows, tokens_));
  TRY(CountExperts(layer, weights));
  const std::span<const int64_t> own = feed_forward_.OwnSums();
  if (!own.empty()) TRY(exchange_->Send(gather_, Exchange::To::kAll, BytesOf(own)));
  gathered_.sums = OutOfExperts();
  return Ok();
}

// The residual behind the last layer, and the part's scores for the one that leads.
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

// Sends the part's own columns of what Collect completes.
Status ForwardPass::Share(std::initializer_list<PartColumns> columns, Exchange::To to) {
  message_.clear();
  std::span<const float> numbers;
  for (const PartColumns& some : columns) {
    TRY(commands_->Download(some.own, &numbers));
    if (columns.size() > 1) message_.insert(message_.end(), numbers.begin(), numbers.end());
  }
  if (columns.size() > 1) numbers = message_;
  TRY(exchange_->Send(gather_, to, BytesOf(numbers)));
  if (to == Exchange::To::kLeader && !group_.leads()) return Ok();
  gathered_.columns = columns;
  return TakeFrom(group_.index, BytesOf(numbers));
}

compute::Tensor ForwardPass::PartColumns::ColumnsOf(const PartRanges& ranges) const {
  const PartRange columns = ranges.*range * each;
  return whole.Columns(columns.begin, columns.count());
}

size_t ForwardPass::PartColumns::NumbersOf(const PartRanges& ranges) const {
  return whole.rows * (ranges.*range).count() * each;
}

// Bytes that another part sends in the gather that is in flight.
size_t ForwardPass::ExpectedOf(uint32_t part) const {
  if (!gathered_.sums.empty()) return feed_forward_.SumsOf(part) * sizeof(int64_t);
  size_t numbers = 0;
  for (const PartColumns& some : gathered_.columns) numbers += some.NumbersOf(ranges_[part]);
  return numbers * sizeof(float);
}

Status ForwardPass::TakeFrom(uint32_t part, Bytes bytes) {
  if (!gathered_.sums.empty()) return feed_forward_.AddSums(part, NumbersIn<int64_t>(bytes));
  std::span<const float> numbers = NumbersIn<float>(bytes);
  for (const PartColumns& some : gathered_.columns) {
    const size_t count = some.NumbersOf(ranges_[part]);
    TRY(commands_->Upload(numbers.first(count), some.ColumnsOf(ranges_[part])));
    numbers = numbers.subspan(count);
  }
  return Ok();
}

// Takes what the other parts have sent of the gather that is in flight, if one is.
Result<Progress> ForwardPass::Collect() {
  if (!gathered_.is_under_way()) return Progress::kDone;
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
  if (!gathered_.sums.empty()) TRY(feed_forward_.FinishSums(gathered_.sums));
  gathered_ = {};
  ++gather_;
  return Progress::kDone;
}

}  // namespace aster::model
