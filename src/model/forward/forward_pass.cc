// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/forward/forward_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "kernels/rope.h"
#include "model/shape/carried.h"

namespace aster::model {
namespace {

kernels::RopeLayout RopeLayoutOf(const Shape& shape) {
  return shape.rope_pairs_neighbours() ? kernels::RopeLayout::kAdjacent
                                       : kernels::RopeLayout::kHalves;
}

// In models with a window, layer `full_every` - 1 sees all; the layer before it has the window.
kernels::PageLayout HeadPageOf(const Shape& shape, bool has_window, const MemoryOptions& memory) {
  const bool has_heads = !shape.is_latent() && !shape.is_mla();
  const uint32_t last = shape.full_every == 0 ? 0 : shape.full_every - 1;
  const uint32_t layer = has_window && last > 0 ? last - 1 : last;
  return has_heads ? HeadPageLayout(shape, layer, memory.type) : kernels::PageLayout();
}

std::vector<PartRanges> RangesOfAll(const GroupPart& group, const Shape& shape) {
  std::vector<PartRanges> all;
  for (uint32_t part = 0; part < group.count; ++part)
    all.push_back(RangesOf(group.At(part), shape));
  return all;
}

}  // namespace

ForwardPass::ForwardPass(const PassWeights& weights, const MemoryOptions& memory,
                         compute::Backend& backend)
    : shared_(weights),
      weights_(weights.weights),
      shape_(weights_.shape),
      group_(weights_.slice.part),
      own_(ShapeOfPart(group_, shape_)),
      ranges_(RangesOfAll(group_, shape_)),
      memory_(memory),
      head_page_(HeadPageOf(shape_, false, memory)),
      window_page_(HeadPageOf(shape_, true, memory)),
      backend_(backend),
      commands_(backend.NewCommands()),
      mixer_(shape_, backend, *commands_),
      feed_forward_(own_, group_, backend, *commands_),
      operand_(commands_->NewOperand()),
      attended_operand_(commands_->NewOperand()),
      router_operand_(commands_->NewOperand()) {
  if (shape_.is_latent()) latent_.emplace(own_, memory, backend, *commands_);
  if (shape_.is_mla()) mla_.emplace(own_, backend, *commands_);
  if (shape_.is_recurrent()) delta_.emplace(shape_, backend, *commands_);
  if (shape_.kinds.input > 0) layer_input_.emplace(weights_, backend, *commands_);
  if (shape_.ngrams != nullptr) ngrams_.emplace(shape_, backend, *commands_);
}

Status ForwardPass::Begin(std::span<const Segment> segments, const Slice& part, Exchange* exchange,
                          uint32_t gather) {
  CHECK((exchange != nullptr) != group_.is_whole());
  exchange_ = exchange;
  gather_ = gather;
  is_recording_ = is_recorded_ = false;
  // The tables change only after all segments are checked. Rows that were reserved but not computed
  // are overwritten by the next batch.
  segments_.assign(segments.begin(), segments.end());
  part_ = part;
  TRY(CheckFirstLayer(part, shape_));
  TRY(CheckSegments());
  TRY(ReserveRows());
  return PlanMemory();
}

Result<Progress> ForwardPass::Advance() {
  // The first call records and submits the whole batch; later ones only poll. A group's part
  // records as far as the other parts' rows have arrived.
  if (!is_recorded_ && TRY(Record()) == Progress::kWaiting) return Progress::kWaiting;
  is_recorded_ = true;
  return FinishBatch();
}

// Computes what has been recorded.
Result<Progress> ForwardPass::FinishBatch() {
  if (!is_submitted_) TRY(commands_->Submit());
  is_submitted_ = true;
  // A back end that failed is not waited for: the next Begin starts over.
  const Result<bool> is_done = commands_->Poll();
  is_submitted_ = is_done.ok() && !*is_done;
  TRY(is_done);
  return *is_done ? Progress::kDone : Progress::kWaiting;
}

void ForwardPass::Abandon() {
  // If waiting fails, too, nothing is in flight any more.
  if (is_submitted_) static_cast<void>(commands_->Wait());
  is_submitted_ = false;
}

void ForwardPass::Gathered::Clear() {
  ranges.clear();
  count = 0;
}

void ForwardPass::Gathered::Add(size_t end, size_t more) {
  ranges.push_back({end - more, more});
  count += more;
}

Status ForwardPass::Gathered::Plan(compute::Backend& backend, size_t width) {
  return rows.Shape(backend, count, width);
}

Status ForwardPass::CheckSegments() const {
  for (const Segment& segment : segments_) {
    CHECK(!segment.tokens.empty() && (segment.hidden != nullptr) != part_.embedding);
    CHECK(segment.rows_as == segments_.front().rows_as);
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

// Finds the positions of rows and reserves room for them in the tables.
Status ForwardPass::ReserveRows() {
  const kv::LayerRange layers = {part_.layer_begin, part_.layer_end};
  row_count_ = 0;
  for (Gathered* const gathered : {&last_, &hidden_, &wanted_, &stated_, &tapped_, &tapped_last_}) {
    gathered->Clear();
  }
  taps_.clear();
  for (const uint32_t layer : shared_.taps) {
    if (layer >= part_.layer_begin && layer < part_.layer_end) taps_.push_back(layer);
  }
  spans_.clear();
  positions_.clear();
  tokens_.clear();
  last_tokens_.clear();
  for (const Segment& segment : segments_) {
    const auto count = static_cast<uint32_t>(segment.tokens.size());
    // Reserves first: the batch writes keys and values to the reserved rows.
    TRY(segment.table->Reserve(layers, count));
    const uint32_t position = segment.table->length(layers);
    spans_.push_back({segment.table, position, static_cast<uint32_t>(row_count_), count,
                      segment.rows_as == RowsAs::kBlock});
    // Tokens of all segments, one after the other: row i is tokens_[i] at positions_[i].
    for (uint32_t i = 0; i < count; ++i) positions_.push_back(position + i);
    tokens_.insert(tokens_.end(), segment.tokens.begin(), segment.tokens.end());
    // Logits cost a product with the whole vocabulary, so only rows that need them are gathered. A
    // slice without the head gives all rows to the next one.
    const size_t hidden = CountOf(part_.head ? segment.hidden_wanted : Wanted::kAll, count);
    const size_t wanted = CountOf(segment.wanted, count);
    const size_t stated = CountOf(segment.states, count);
    const size_t tapped =
        CountOf(shared_.taps.empty() ? Wanted::kNone : segment.tapped_wanted, count);
    const size_t tapped_last = IsTapped(part_.layer_end - 1) ? tapped : 0;
    row_count_ += count;
    // A group computes all rows to the end.
    last_.Add(row_count_,
              exchange_ != nullptr ? count : std::max({hidden, wanted, stated, tapped_last}));
    tapped_.Add(row_count_, tapped);
    tapped_last_.Add(last_.count, tapped_last);
    hidden_.Add(last_.count, hidden);
    wanted_.Add(last_.count, wanted);
    stated_.Add(last_.count, stated);
    const auto last = std::span(tokens_).last(last_.ranges.back().count);
    last_tokens_.insert(last_tokens_.end(), last.begin(), last.end());
  }
  // Tokens are copied, as the caller's own may not exist any more when they are needed again.
  for (size_t i = 0; i < segments_.size(); ++i) {
    segments_[i].tokens = std::span(tokens_).subspan(spans_[i].first_row, spans_[i].count);
  }
  return Ok();
}

// Allocates everything before the first operation is recorded, as operations refer to it.
Status ForwardPass::PlanMemory() {
  const auto plan = [&](compute::Array& array, size_t columns) {
    return array.Shape(backend_, row_count_, columns);
  };
  // For every architecture: the residual stream, its normed rows and the output of half a layer.
  TRY(plan(rows_, shape_.hidden_width()));
  TRY(plan(normed_, shape_.embedding));
  TRY(plan(more_, shape_.embedding));
  TRY(feed_forward_.Plan(row_count_));
  // Only a slice with the head makes logits.
  if (part_.head) {
    TRY(wanted_.Plan(backend_, shape_.hidden_width()));
    TRY(logits_.Shape(backend_, wanted_.count, shape_.vocab_size));
    TRY(stated_.Plan(backend_, shape_.hidden_width()));
    TRY(states_.Shape(backend_, stated_.count, shape_.embedding));
  }
  if (tapped_.count > 0 && !taps_.empty()) {
    TRY(tap_rows_.Shape(backend_, tapped_.count, tapped_width()));
    TRY(tap_.Shape(backend_, tapped_.count, shape_.embedding));
  }
  if (hidden_.count < last_.count) TRY(hidden_.Plan(backend_, shape_.hidden_width()));
  if (last_.count < row_count_) TRY(last_.Plan(backend_, shape_.hidden_width()));
  if (exchange_ != nullptr) TRY(PlanGroupMemory());
  // Latent attention has its own arrays; the others are for grouped-query attention.
  if (latent_) {
    TRY(mixer_.Plan(row_count_));
    if (ngrams_) TRY(ngrams_->Plan(row_count_));
    return latent_->Plan(row_count_);
  }
  TRY(plan(cosines_, shared_.frequencies.size()));
  TRY(plan(sines_, shared_.frequencies.size()));
  if (mla_) return mla_->Plan(row_count_);
  // As wide as the widest of all layers.
  const LayerKinds& kinds = own_.kinds;
  const size_t heads = size_t{own_.head_count} * std::max(own_.head_dim, kinds.window_head_dim);
  const size_t kv_heads = std::max(size_t{own_.kv_head_count} * own_.head_dim,
                                   size_t{kinds.window_kv_heads} * kinds.window_head_dim);
  TRY(plan(queries_, heads));
  TRY(plan(keys_, kv_heads));
  TRY(plan(values_, kv_heads));
  TRY(plan(attended_, heads));
  if (delta_) {
    TRY(plan(output_gates_, heads));
    TRY(delta_->Plan(row_count_));
  }
  if (layer_input_) TRY(layer_input_->Plan(row_count_));
  if (shape_.is_gemma4() && shape_.experts.count > 0) {
    TRY(plan(routed_, shape_.embedding));
    TRY(plan(mixed_, shape_.embedding));
  }
  if (shape_.temperature > 0.0f) {
    TRY(plan(query_cosines_, shared_.frequencies.size()));
    TRY(plan(query_sines_, shared_.frequencies.size()));
  }
  if (shared_.window_frequencies.empty()) return Ok();
  TRY(plan(window_cosines_, shared_.window_frequencies.size()));
  return plan(window_sines_, shared_.window_frequencies.size());
}

// Records the whole batch, from tokens or rows to rows or logits.
Result<Progress> ForwardPass::Record() {
  if (!is_recording_) {
    TRY(commands_->Begin());
    output_ = {};
    // The embedding or the rows of the slice before, then layer by layer.
    TRY(RecordInput());
    residual_ = rows_.tensor();
    if (exchange_ != nullptr) PlanSteps();
    is_recording_ = true;
  }
  if (TRY(exchange_ != nullptr ? AdvanceSteps() : RecordLayers()) == Progress::kWaiting) {
    return Progress::kWaiting;
  }
  TRY(RecordEnd());
  return Progress::kDone;
}

Result<Progress> ForwardPass::RecordLayers() {
  for (uint32_t layer = part_.layer_begin; layer < part_.layer_end; ++layer) {
    const LayerWeights& weights = WeightsOf(layer);
    if (segments_.front().rows_as == RowsAs::kContext) {
      TRY(KeepContext(layer, weights));
      continue;
    }
    if (shape_.is_gemma4()) {
      TRY(RecordGemma4Layer(layer, weights));
    } else {
      TRY(latent_ ? RecordMixedLayer(layer, weights) : RecordLayer(layer, weights));
    }
    TRY(RecordTap(layer));
  }
  return Progress::kDone;
}

const LayerWeights& ForwardPass::WeightsOf(uint32_t layer) const {
  return weights_.layers[layer - weights_.slice.layer_begin];
}

// Sets the input rows, from tokens or from the slice before, and their positions.
Status ForwardPass::RecordInput() {
  if (ngrams_) TRY(ngrams_->SetTokens(part_.layer_begin, part_.layer_end, spans_, tokens_));
  const size_t copies = shape_.streams.count;  // every stream begins as the token
  const float scale = EmbeddingScaleOf(shape_);
  for (size_t i = 0; i < segments_.size(); ++i) {
    const Segment& segment = segments_[i];
    const compute::Array& to = segment.rows_as == RowsAs::kContext ? normed_ : rows_;
    const compute::Tensor rows = to.tensor().Rows(spans_[i].first_row, spans_[i].count);
    if (segment.hidden != nullptr) {
      TRY(commands_->Upload({segment.hidden, rows.rows * rows.columns}, rows));
    } else {
      TRY(commands_->Embed(*weights_.embedding, segment.tokens, copies, ResidualOf(shape_, rows)));
      if (shape_.mixes_ahead()) TRY(mixer_.BeginAhead(rows));
      if (scale != 1.0f) TRY(commands_->Scale(rows, scale));
    }
  }
  if (layer_input_) TRY(layer_input_->SetTokens(tokens_));
  // RoPE: cosines and sines of each row's position, once for all layers with the same RoPE.
  if (latent_) {
    latent_->SetRows(rows_.tensor());
    return latent_->SetPositions(positions_);
  }
  TRY(commands_->MakeAngles(
      {.frequencies = shared_.frequencies, .magnitude = shared_.magnitude, .positions = positions_},
      {cosines_.tensor(), sines_.tensor()}));
  TRY(RecordQueryAngles());
  if (shared_.window_frequencies.empty()) return Ok();
  return commands_->MakeAngles(
      {.frequencies = shared_.window_frequencies, .magnitude = 1.0, .positions = positions_},
      {window_cosines_.tensor(), window_sines_.tensor()});
}

// Queries may grow with their position: the factor is part of their cosines and sines.
Status ForwardPass::RecordQueryAngles() {
  if (shape_.temperature == 0.0f) return Ok();
  const auto factor_at = [&](size_t row) { return QueryFactorAt(shape_, positions_[row]); };
  for (size_t row = 0, end = 0; row < row_count_; row = end) {
    // Rows with the same factor together.
    const double factor = factor_at(row);
    while (end < row_count_ && factor_at(end) == factor) ++end;
    TRY(commands_->MakeAngles({.frequencies = shared_.frequencies,
                               .magnitude = shared_.magnitude * factor,
                               .positions = std::span(positions_).subspan(row, end - row)},
                              {query_cosines_.tensor().Rows(row, end - row),
                               query_sines_.tensor().Rows(row, end - row)}));
  }
  return Ok();
}

// operand_ = the rows, normed.
Status ForwardPass::Normalise(const compute::Tensor& rows, const compute::Array& weight) {
  const compute::Tensor normed = normed_.tensor().Rows(0, rows.rows);
  TRY(commands_->Normalise(
      {.rows = rows, .weight = weight.tensor(), .epsilon = shape_.norm_epsilon, .out = normed}));
  operand_->Set(normed);
  return Ok();
}

Status ForwardPass::RecordLayer(uint32_t layer, const LayerWeights& weights) {
  // Pre-norm: each half computes from normed rows and adds its output to the residual stream.
  TRY(Normalise(rows_.tensor(), weights.attention_norm));
  if (AreAllLeftOut(layer) && !mla_ && !shape_.has_state(layer)) return KeepRows(layer, weights);
  TRY(RecordAttention(layer, weights));
  TRY(FinishHalf(weights.attended_norm));
  TRY(LeaveOut(layer));
  if (AreAllLeftOut(layer)) return Ok();
  // The feed-forward half sees what attention has added.
  TRY(Normalise(residual_, weights.feed_forward_norm));
  TRY(feed_forward_.Run(weights, *operand_, TokensLeft(), more_.tensor().Rows(0, residual_.rows)));
  TRY(CountExperts(layer, weights));
  return FinishHalf(weights.fed_norm);
}

// The tokens of the remaining rows.
std::span<const int32_t> ForwardPass::TokensLeft() const {
  return residual_.rows == tokens_.size() ? tokens_ : last_tokens_;
}

// Whether no output row of the last layer is needed.
bool ForwardPass::AreAllLeftOut(uint32_t layer) const {
  return layer + 1 == part_.layer_end && last_.count == 0;
}

// Only writes the rows' keys and values, unless the layer uses another layer's.
Status ForwardPass::KeepRows(uint32_t layer, const LayerWeights& weights) {
  HeadRows rows = HeadRowsOf(layer);
  if (rows.keys.empty()) return Ok();
  rows.queries = {};
  TRY(ProjectHeads(layer, rows, weights));
  if (shape_.has_wide_norms()) TRY(NormaliseAllHeads(rows.keys, weights.key_norm));
  TRY(FinishHeads(layer, rows, weights));
  return commands_->Attend(AttentionOf(layer, rows, weights));
}

// The same for context rows, which are every layer's input.
Status ForwardPass::KeepContext(uint32_t layer, const LayerWeights& weights) {
  operand_->Set(normed_.tensor());
  return latent_ ? latent_->Keep(layer, weights.latent, spans_, *operand_)
                 : KeepRows(layer, weights);
}

// After the last layer's attention, which keeps keys and values of all rows, only the rows that are
// needed are computed further: for most of a prompt none.
Status ForwardPass::LeaveOut(uint32_t layer) {
  if (layer + 1 != part_.layer_end || last_.count == row_count_) return Ok();
  residual_ = last_.rows.tensor();
  if (AreAllLeftOut(layer)) return Ok();
  TRY(commands_->Gather(rows_.tensor(), last_.ranges, residual_));
  return feed_forward_.Plan(last_.count);
}

// Counts the router's last choices.
Status ForwardPass::CountExperts(uint32_t layer, const LayerWeights& weights) {
  if (shared_.expert_use == nullptr || weights.experts.empty()) return Ok();
  shared_.expert_use->Add(layer, TRY(feed_forward_.ReadChoice()));
  return Ok();
}

// Adds the output of half a layer to the residual stream, normed if the model has a norm there.
Status ForwardPass::FinishHalf(const compute::Array& norm) {
  const compute::Tensor more = more_.tensor().Rows(0, residual_.rows);
  if (!norm.empty()) {
    TRY(commands_->Normalise(
        {.rows = more, .weight = norm.tensor(), .epsilon = shape_.norm_epsilon, .out = more}));
  }
  return commands_->Add(residual_, more, 1);
}

// Each half gets a row mixed from all streams, and its output is added to all of them.
Status ForwardPass::RecordMixedLayer(uint32_t layer, const LayerWeights& weights) {
  const compute::Tensor& all = more_.tensor();
  if (shape_.has_ngrams(layer)) TRY(AddNgrams(layer, weights));
  TRY(mixer_.Before(weights.attention_mix, residual_, all));
  TRY(Normalise(all, weights.attention_norm));
  TRY(latent_->Run(layer, shape_.latent.ratios[layer], weights.latent, spans_, *operand_, all));
  TRY(mixer_.After(all, residual_));
  TRY(LeaveOut(layer));
  if (AreAllLeftOut(layer)) return Ok();
  const compute::Tensor more = all.Rows(0, residual_.rows);
  TRY(mixer_.Before(weights.feed_forward_mix, residual_, more));
  TRY(Normalise(more, weights.feed_forward_norm));
  TRY(feed_forward_.Run(weights, *operand_, TokensLeft(), more));
  TRY(CountExperts(layer, weights));
  return mixer_.After(more, residual_);
}

// Adds the layer's rows of the n-gram table to the streams.
Status ForwardPass::AddNgrams(uint32_t layer, const LayerWeights& weights) {
  return ngrams_->Run(layer, weights.ngrams, ResidualOf(shape_, rows_.tensor()));
}

Status ForwardPass::RecordAttention(uint32_t layer, const LayerWeights& weights) {
  if (mla_) {
    const compute::Angles angles = {cosines_.tensor(), sines_.tensor()};
    return mla_->Run(layer, weights.mla, angles, spans_, *operand_, more_.tensor());
  }
  if (shape_.has_state(layer))
    return delta_->Run(layer, weights.delta, spans_, *operand_, more_.tensor());
  TRY(RecordHeads(layer, weights));
  attended_operand_->Set(HeadRowsOf(layer).attended);
  const compute::Product output[] = {{&weights.output, attended_operand_.get(), more_.tensor()}};
  TRY(commands_->Multiply(output));
  return AddBias(weights.output_bias, more_.tensor());
}

Status ForwardPass::AddBias(const compute::Array& bias, const compute::Tensor& rows) {
  if (bias.empty()) return Ok();
  const compute::Heads biased[] = {{.rows = rows, .count = 1, .bias = bias.tensor()}};
  return commands_->FinishHeads(biased);
}

ForwardPass::HeadRows ForwardPass::HeadRowsOf(uint32_t layer) const {
  const size_t heads = own_.head_count;
  HeadRows rows{.kv_head_count = KvHeadsOf(own_, layer),
                .queries = queries_.tensor().Narrowed(heads * HeadDimOf(own_, layer)),
                .attended = attended_.tensor().Narrowed(heads * ValueDimOf(own_, layer))};
  if (KvLayerOf(own_, layer) != layer) return rows;
  rows.keys = keys_.tensor().Narrowed(rows.kv_head_count * HeadDimOf(own_, layer));
  rows.values = values_.tensor().Narrowed(rows.kv_head_count * ValueDimOf(own_, layer));
  return rows;
}

// One operand for all products: its rows are quantised once.
Status ForwardPass::ProjectHeads(uint32_t layer, const HeadRows& rows,
                                 const LayerWeights& weights) {
  std::array<compute::Product, 4> products;
  size_t count = 0;
  const auto add = [&](const compute::Matrix& matrix, const compute::Tensor& out) {
    products[count++] = {&matrix, operand_.get(), out};
  };
  const bool takes_keys = TakesKeysAsValues(own_, layer);
  if (!rows.queries.empty()) add(weights.query, rows.queries);
  if (!rows.keys.empty()) add(weights.key, rows.keys);
  if (!rows.keys.empty() && !takes_keys) add(weights.value, rows.values);
  if (delta_ && !rows.queries.empty()) add(weights.output_gate, output_gates_.tensor());
  TRY(commands_->Multiply(std::span(products).first(count)));
  if (const float scale = own_.kinds.value_scale; scale != 1.0f)
    TRY(commands_->Scale(rows.values, scale));
  if (rows.keys.empty() || !takes_keys) return Ok();
  const compute::RowRange all[] = {{0, row_count_}};
  return commands_->Gather(rows.keys, all, rows.values);
}

// attended_ = the attention output of the heads here.
Status ForwardPass::RecordHeads(uint32_t layer, const LayerWeights& weights) {
  const HeadRows rows = HeadRowsOf(layer);
  TRY(ProjectHeads(layer, rows, weights));
  if (shape_.has_wide_norms()) {
    TRY(NormaliseAllHeads(rows.queries, weights.query_norm));
    TRY(NormaliseAllHeads(rows.keys, weights.key_norm));
  }
  return Attend(layer, rows, weights);
}

Status ForwardPass::Attend(uint32_t layer, const HeadRows& rows, const LayerWeights& weights) {
  TRY(FinishHeads(layer, rows, weights));
  const bool has_some = !group_.is_whole() && HasWholeKeys(shape_);
  TRY(has_some ? AttendInWholeRows(layer, rows, weights)
               : commands_->Attend(AttentionOf(layer, rows, weights)));
  return delta_ ? commands_->GateBySigmoid(attended_.tensor(), output_gates_.tensor()) : Ok();
}

// New keys and values are written into their pages before any query reads them, so that tokens of a
// prompt see each other. Sliding window and attention sinks are options of the KV cache.
compute::HeadAttention ForwardPass::AttentionOf(uint32_t layer, const HeadRows& rows,
                                                const LayerWeights& weights) const {
  const MemoryOptions memory = MemoryOfLayer(memory_, shape_, layer);
  return {.pages = {KvLayerOf(shape_, layer), /*stream=*/0, spans_},
          .head_page = WindowOf(shape_, layer) > 0 ? &window_page_ : &head_page_,
          .head_count = own_.head_count,
          .kv_head_count = rows.kv_head_count,
          .scale = AttentionScaleOf(shape_),
          .window = memory.window,
          .sinks = memory.sinks,
          .cap = shape_.attention_cap,
          .sink_logits = weights.sinks.tensor(),
          .queries = rows.queries,
          .keys = rows.keys,
          .values = rows.values,
          .out = rows.attended};
}

// Layers with a window may have another RoPE than those that see all.
compute::Angles ForwardPass::AnglesOf(uint32_t layer) const {
  const bool is_other = !shared_.window_frequencies.empty() && WindowOf(shape_, layer) > 0;
  if (is_other) return {window_cosines_.tensor(), window_sines_.tensor()};
  return {cosines_.tensor(), sines_.tensor()};
}

// Queries, or keys, of all heads as one row.
Status ForwardPass::NormaliseAllHeads(const compute::Tensor& rows, const compute::Array& weight) {
  return commands_->Normalise(
      {.rows = rows, .weight = weight.tensor(), .epsilon = shape_.norm_epsilon, .out = rows});
}

// Applies biases, norms and RoPE to the rows' keys and values, and to queries, if there are any.
Status ForwardPass::FinishHeads(uint32_t layer, const HeadRows& rows, const LayerWeights& weights) {
  const auto norm = shape_.qk_norm() ? compute::HeadNorm::kWeighted : compute::HeadNorm::kNone;
  const auto heads = [&](const compute::Tensor& of, size_t count, const compute::Array& bias,
                         const compute::Array& norm_weight, const compute::Angles& angles) {
    return compute::Heads{.rows = of,
                          .count = count,
                          .bias = bias.tensor(),
                          .norm = norm,
                          .norm_weight = norm_weight.tensor(),
                          .epsilon = shape_.norm_epsilon,
                          .angles = angles,
                          .layout = RopeLayoutOf(shape_)};
  };
  // Queries and keys are normed and rotated; values only get their bias, which most models lack, or
  // a norm without weights.
  const compute::Angles angles = AnglesOf(layer);
  const compute::Angles query_angles =
      shape_.temperature > 0.0f ? compute::Angles{query_cosines_.tensor(), query_sines_.tensor()}
                                : angles;
  const bool norms_values = shape_.is_gemma4();
  const compute::Heads all[] = {
      heads(rows.queries, own_.head_count, weights.query_bias, weights.query_norm, query_angles),
      heads(rows.keys, rows.kv_head_count, weights.key_bias, weights.key_norm, angles),
      {.rows = rows.values,
       .count = rows.kv_head_count,
       .bias = weights.value_bias.tensor(),
       .norm = norms_values ? compute::HeadNorm::kPlain : compute::HeadNorm::kNone,
       .epsilon = shape_.norm_epsilon}};
  const bool has_values = shape_.qkv_bias() || norms_values;
  const size_t begin = rows.queries.empty() ? 1 : 0;
  const size_t end = rows.keys.empty() ? 1 : has_values ? 3 : 2;
  return commands_->FinishHeads(std::span(all).subspan(begin, end - begin));
}

}  // namespace aster::model
