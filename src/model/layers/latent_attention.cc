// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/layers/latent_attention.h"

#include "kernels/rope.h"
#include "model/layers/rope_spec.h"
#include "model/shape/carried.h"

namespace aster::model {
namespace {

std::vector<double> FrequenciesOf(const Rope& rope) {
  const kernels::RopeSpec spec = RopeSpecOf(rope);
  std::vector<double> frequencies(spec.pairs);
  if (spec.pairs > 0) kernels::RopeFrequencies(spec, nullptr, frequencies.data());
  return frequencies;
}

// The columns that a compressed row is made from.
compute::Tensor InputOf(const compute::Array& array, const compute::Matrix& matrix) {
  return array.tensor().Columns(0, matrix.rows());
}

}  // namespace

LatentAttention::LatentAttention(const Shape& shape, const MemoryOptions& memory,
                                 compute::Backend& backend, compute::Commands& commands)
    : shape_(shape),
      row_format_(RowFormat(shape, memory)),
      compressed_format_(CompressedFormat(shape, memory)),
      index_format_(IndexFormat(shape, memory)),
      backend_(backend),
      commands_(commands),
      ropes_{RopeAngles(FrequenciesOf(shape.rope)), RopeAngles(FrequenciesOf(shape.latent.rope)),
             RopeAngles(FrequenciesOf(shape.latent.rope))},
      low_operand_(commands.NewOperand()),
      latent_operand_(commands.NewOperand()),
      output_operand_(commands.NewOperand()) {
  for (uint32_t group = 0; group < shape.latent.output_groups; ++group)
    group_operands_.push_back(commands.NewOperand());
}

Status LatentAttention::Plan(size_t row_count) {
  const Latent& latent = shape_.latent;
  const size_t heads = size_t{shape_.head_count} * shape_.head_dim;
  const auto plan = [&](compute::Array& array, size_t columns) {
    return array.Shape(backend_, row_count, columns);
  };
  // Layers with compressed rows have another RoPE than those with only the window.
  for (RopeAngles& rope : ropes_) {
    TRY(plan(rope.cosines, rope.frequencies.size()));
    TRY(plan(rope.sines, rope.frequencies.size()));
  }
  // Queries go through a low rank; a row is both key and value.
  TRY(plan(low_, latent.query_rank));
  TRY(plan(queries_, heads));
  TRY(plan(rows_, shape_.head_dim));
  // Inputs of compressed rows: twice as wide if compression windows overlap.
  TRY(plan(values_, 2 * size_t{shape_.head_dim}));
  TRY(plan(scores_, 2 * size_t{shape_.head_dim}));
  TRY(plan(index_values_, 2 * size_t{latent.index_dim}));
  TRY(plan(index_scores_, 2 * size_t{latent.index_dim}));
  // The sparse index: its queries, and the compressed rows that each token chose.
  TRY(plan(index_queries_, size_t{latent.index_heads} * latent.index_dim));
  TRY(plan(index_weights_, latent.index_heads));
  TRY(chosen_.Shape(backend_, row_count, latent.index_top, compute::Element::kI32));
  TRY(plan(attended_, heads));
  if (is_shared()) {
    TRY(plan(latents_, shape_.head_dim));
    TRY(plan(index_keys_, latent.index_dim));
  }
  return plan(output_low_, size_t{latent.output_groups} * latent.output_rank);
}

Status LatentAttention::SetPositions(std::span<const int64_t> positions) {
  const auto make = [&](const RopeAngles& rope, std::span<const int64_t> of) {
    return commands_.MakeAngles(
        {.frequencies = rope.frequencies, .magnitude = 1.0, .positions = of}, rope.angles());
  };
  TRY(make(RopeOf(0), positions));
  TRY(make(RopeOf(1), positions));
  if (!is_shared()) return Ok();
  first_positions_.assign(positions.begin(), positions.end());
  for (int64_t& position : first_positions_) position -= position % kPairRatio;
  return make(RopeOfFirst(kPairRatio), first_positions_);
}

Status LatentAttention::Run(uint32_t layer, uint32_t ratio, const LatentWeights& weights,
                            std::span<const compute::PageSpan> spans, compute::Operand& rows,
                            const compute::Tensor& out) {
  output_operand_->Set(TRY(Expand(layer, ratio, weights, spans, rows)));
  return Contract(weights, out);
}

Status LatentAttention::Keep(uint32_t layer, const LatentWeights& weights,
                             std::span<const compute::PageSpan> spans, compute::Operand& rows) {
  const compute::Product product[] = {{&weights.row, &rows, rows_.tensor()}};
  TRY(commands_.Multiply(product));
  return WriteRows(layer, /*ratio=*/0, weights, spans);
}

Result<compute::Tensor> LatentAttention::Expand(uint32_t layer, uint32_t ratio,
                                                const LatentWeights& weights,
                                                std::span<const compute::PageSpan> spans,
                                                compute::Operand& rows) {
  // New rows are in the KV cache before attention, so that tokens of one batch see each other.
  // `ratio` is that of compression: 0 for layers with only the window.
  TRY(Project(layer, ratio, weights, rows));
  TRY(WriteRows(layer, ratio, weights, spans));
  if (KeepsCompressedRows(shape_, layer)) {
    TRY(is_shared() ? MakeSharedRows(layer, ratio, weights, spans)
                    : Compress(layer, ratio, weights, spans));
  }
  // Queries do not depend on the cache; then the index ranks the compressed rows by them.
  TRY(ProjectQueries(layer, ratio, weights));
  if (ChoosesRows(shape_, layer)) TRY(RankRows(layer, ratio, spans));
  // Over the window, the chosen compressed rows and the sink.
  TRY(Attend(layer, ratio, weights, spans));
  TRY(LowerOutput(ratio, weights));
  return output_low_.tensor();
}

// All products of the half's input, together.
Status LatentAttention::Project(uint32_t layer, uint32_t ratio, const LatentWeights& weights,
                                compute::Operand& rows) {
  products_.clear();
  const auto add = [&](const compute::Matrix& matrix, const compute::Array& out) {
    products_.push_back({&matrix, &rows, out.tensor().Columns(0, matrix.rows())});
  };
  // For every layer: the queries' low rank and the row itself.
  add(weights.query_low, low_);
  add(weights.row, rows_);
  // Compressed rows are sums of `ratio` (or twice as many) values, weighted by softmax of scores.
  if (MakesCompressedRows(shape_, layer)) {
    add(weights.compressor.values, values_);
    if (ratio > 1) add(weights.compressor.scores, scores_);
  }
  // With the small ratio there are many rows, which an index ranks.
  if (ratio == kShortRatio) {
    add(weights.index_compressor.values, index_values_);
    add(weights.index_compressor.scores, index_scores_);
  }
  if (ChoosesRows(shape_, layer)) add(weights.index_heads, index_weights_);
  return commands_.Multiply(products_);
}

// RoPE on the last numbers of a head, for the row's position.
compute::Heads LatentAttention::RotatedHeads(const RopeAngles& rope, const compute::Array& rows,
                                             size_t count) const {
  const size_t dim = rows.tensor().columns / count;
  return {.rows = rows.tensor(),
          .count = count,
          .epsilon = shape_.norm_epsilon,
          .angles = rope.angles(),
          .unrotated = dim - 2 * rope.frequencies.size()};
}

// Writes the rows of the window.
Status LatentAttention::WriteRows(uint32_t layer, uint32_t ratio, const LatentWeights& weights,
                                  std::span<const compute::PageSpan> spans) {
  compute::Heads heads = RotatedHeads(RopeOf(ratio), rows_, 1);
  heads.norm = compute::HeadNorm::kWeighted;
  heads.norm_weight = weights.row_norm.tensor();
  return commands_.WriteRows(
      {.pages = {layer, kWindowStream, spans}, .format = row_format_, .heads = heads});
}

Status LatentAttention::Compress(uint32_t layer, uint32_t ratio, const LatentWeights& weights,
                                 std::span<const compute::PageSpan> spans) {
  const auto compress = [&](uint32_t stream, uint32_t input_stream,
                            const kernels::LatentFormat& format, const CompressorWeights& with,
                            const compute::Array& values, const compute::Array& scores) {
    return commands_.Compress({.pages = {layer, stream, spans},
                               .input_stream = input_stream,
                               .ratio = ratio,
                               .overlaps = ratio == kShortRatio,
                               .format = format,
                               .is_spread = stream == kIndexStream,
                               .places = with.places.tensor(),
                               .norm = with.norm.tensor(),
                               .epsilon = shape_.norm_epsilon,
                               .frequencies = RopeOf(ratio).frequencies,
                               .values = InputOf(values, with.values),
                               .scores = InputOf(scores, with.scores)});
  };
  // A row is compressed when its last token comes. Inputs of incomplete rows stay in the input
  // stream, as the other tokens may come in another batch, or on another node.
  TRY(compress(kCompressedStream, kCompressedInputStream, compressed_format_, weights.compressor,
               values_, scores_));
  if (ratio != kShortRatio) return Ok();
  // The index has a row for each compressed row, made in the same way and narrower.
  return compress(kIndexStream, kIndexInputStream, index_format_, weights.index_compressor,
                  index_values_, index_scores_);
}

// A row is made when its last token comes, from that token's row; the index makes its own row from
// it before RoPE.
Status LatentAttention::MakeSharedRows(uint32_t layer, uint32_t ratio, const LatentWeights& weights,
                                       std::span<const compute::PageSpan> spans) {
  if (!MakesCompressedRows(shape_, layer)) return KeepSharedRows(layer, ratio, spans);
  compute::Tensor made = InputOf(values_, weights.compressor.values);
  if (ratio > 1) {
    TRY(commands_.Pool({.pages = {layer, kSharedInputStream, spans},
                        .ratio = ratio,
                        .values = made,
                        .scores = InputOf(scores_, weights.compressor.scores),
                        .out = latents_.tensor()}));
    made = latents_.tensor();
  }
  TRY(commands_.Normalise({.rows = made,
                           .weight = weights.compressor.norm.tensor(),
                           .epsilon = shape_.norm_epsilon,
                           .out = latents_.tensor()}));
  latent_operand_->Set(latents_.tensor());
  const compute::Product keys[] = {
      {&weights.index_key, latent_operand_.get(), index_keys_.tensor()}};
  TRY(commands_.Multiply(keys));
  compute::Heads heads = RotatedHeads(RopeOfFirst(ratio), index_keys_, 1);
  heads.norm = compute::HeadNorm::kWeighted;
  heads.norm_weight = weights.index_key_norm.tensor();
  TRY(commands_.WriteRows({.pages = {layer, kSharedIndexStream, spans},
                           .format = index_format_,
                           .heads = heads,
                           .ratio = ratio}));
  TRY(commands_.WriteRows({.pages = {layer, kCompressedStream, spans},
                           .format = compressed_format_,
                           .heads = RotatedHeads(RopeOfFirst(ratio), latents_, 1),
                           .ratio = ratio}));
  // For later layers that keep the rows, too, maybe on other nodes.
  const compute::RowRange all[] = {{0, rows_of_batch_.rows}};
  TRY(commands_.Gather(latents_.tensor(), all, CompressedRowsOf(shape_, rows_of_batch_)));
  return commands_.Gather(index_keys_.tensor(), all, IndexRowsOf(shape_, rows_of_batch_));
}

// Writes the rows that an earlier layer has made of the batch's tokens.
Status LatentAttention::KeepSharedRows(uint32_t layer, uint32_t ratio,
                                       std::span<const compute::PageSpan> spans) {
  TRY(commands_.WriteRows({.pages = {layer, kSharedIndexStream, spans},
                           .format = index_format_,
                           .heads = {.rows = IndexRowsOf(shape_, rows_of_batch_), .count = 1},
                           .ratio = ratio}));
  return commands_.WriteRows(
      {.pages = {layer, kCompressedStream, spans},
       .format = compressed_format_,
       .heads = {.rows = CompressedRowsOf(shape_, rows_of_batch_), .count = 1},
       .ratio = ratio});
}

// From the queries' low rank to all heads, and to the index's heads.
Status LatentAttention::ProjectQueries(uint32_t layer, uint32_t ratio,
                                       const LatentWeights& weights) {
  // The low rank is normed once, and quantised once for both products.
  TRY(commands_.Normalise({.rows = low_.tensor(),
                           .weight = weights.query_norm.tensor(),
                           .epsilon = shape_.norm_epsilon,
                           .out = low_.tensor()}));
  low_operand_->Set(low_.tensor());
  // Queries of all heads; with an index also its own.
  products_.clear();
  products_.push_back({&weights.query_high, low_operand_.get(), queries_.tensor()});
  if (ChoosesRows(shape_, layer))
    products_.push_back({&weights.index_query, low_operand_.get(), index_queries_.tensor()});
  TRY(commands_.Multiply(products_));
  // Normed without a weight (not in V4.1), then RoPE for the token's position.
  compute::Heads heads = RotatedHeads(RopeOf(ratio), queries_, shape_.head_count);
  heads.norm = is_shared() ? compute::HeadNorm::kNone : compute::HeadNorm::kPlain;
  return commands_.FinishHeads({&heads, 1});
}

// Chooses the compressed rows that are seen, if there are many.
Status LatentAttention::RankRows(uint32_t layer, uint32_t ratio,
                                 std::span<const compute::PageSpan> spans) {
  const Latent& latent = shape_.latent;
  // Queries are rounded to the format of the index's rows, as in training.
  TRY(commands_.FinishIndexQueries({.queries = index_queries_.tensor(),
                                    .heads = latent.index_heads,
                                    .angles = RopeOf(ratio).angles(),
                                    .format = index_format_,
                                    .weights = index_weights_.tensor(),
                                    .is_spread = !is_shared()}));
  // Of equal scores the earliest row is chosen: the choice must not depend on how work is cut.
  const uint32_t stream = is_shared() ? kSharedIndexStream : kIndexStream;
  return commands_.Rank({.pages = {layer, stream, spans},
                         .ratio = ratio,
                         .format = index_format_,
                         .heads = latent.index_heads,
                         .queries = index_queries_.tensor(),
                         .weights = index_weights_.tensor(),
                         .top = latent.index_top,
                         .chosen = chosen_.tensor(),
                         .blocks = BlocksOf(layer)});
}

// One layer's index chooses blocks as well, and those of later layers choose from them.
compute::RowRanking::Blocks LatentAttention::BlocksOf(uint32_t layer) const {
  const Latent& latent = shape_.latent;
  if (!latent.block_layer || layer < *latent.block_layer) return {};
  return {.rows = latent.block_rows,
          .top = latent.top_blocks,
          .chosen = ChosenBlocksOf(shape_, rows_of_batch_),
          .is_made = layer == *latent.block_layer};
}

Status LatentAttention::Attend(uint32_t layer, uint32_t ratio, const LatentWeights& weights,
                               std::span<const compute::PageSpan> spans) {
  return commands_.AttendRows(
      {.pages = {layer, kWindowStream, spans},
       .window = shape_.sliding_window,
       .compressed_layer = ratio == 0 ? layer : CompressedLayerOf(shape_, layer),
       .compressed_stream = kCompressedStream,
       .ratio = ratio,
       .top = shape_.latent.index_top,
       .chosen = HasChosenRows(shape_, layer) ? chosen_.tensor() : compute::Tensor(),
       .format = row_format_,
       .compressed_format = compressed_format_,
       .head_count = shape_.head_count,
       .scale = AttentionScaleOf(shape_),
       .queries = queries_.tensor(),
       .sinks = weights.sinks.tensor(),
       .out = attended_.tensor()});
}

// RoPE was applied to values with their rows. RoPE of the query's position is undone on the output,
// which leaves the difference of positions.
Status LatentAttention::LowerOutput(uint32_t ratio, const LatentWeights& weights) {
  compute::Heads heads = RotatedHeads(RopeOf(ratio), attended_, shape_.head_count);
  heads.inverse = true;
  TRY(commands_.FinishHeads({&heads, 1}));
  // Groups of heads, each through a low rank of its own.
  const size_t groups = weights.output_low.size();
  const size_t width = attended_.tensor().columns / groups;
  const size_t rank = shape_.latent.output_rank;
  products_.clear();
  for (size_t group = 0; group < groups; ++group) {
    group_operands_[group]->Set(attended_.tensor().Columns(group * width, width));
    products_.push_back({&weights.output_low[group], group_operands_[group].get(),
                         output_low_.tensor().Columns(group * rank, rank)});
  }
  return commands_.Multiply(products_);
}

// All groups together to the output.
Status LatentAttention::Contract(const LatentWeights& weights, const compute::Tensor& out) {
  const compute::Product output[] = {{&weights.output_high, output_operand_.get(), out}};
  return commands_.Multiply(output);
}

}  // namespace aster::model
