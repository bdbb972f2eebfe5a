// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <fmt/format.h>

#include "model/families/shape_deepseek4.h"
#include "model/families/shape_deepseek41.h"
#include "model/shape/tensors.h"

namespace aster::model {
namespace {

// How a tensor is multiplied with, if it is.
enum class Kind : uint8_t { kVector, kMatrix, kFine, kTable, kLookedUp };

// Collects the tensors of one block. If files differ in a tensor's name, the others are aliases.
class BlockSpecs {
 public:
  BlockSpecs(std::vector<TensorSpec>& specs, Part part, std::string prefix, int32_t layer)
      : specs_(specs), part_(part), prefix_(std::move(prefix)), layer_(layer) {}

  void Add(Kind kind, std::string_view name, std::vector<uint64_t> dims,
           std::initializer_list<std::string_view> aliases = {}) {
    TensorSpec spec{.name = fmt::format("{}{}", prefix_, name),
                    .dims = std::move(dims),
                    .part = part_,
                    .layer = layer_,
                    .is_matrix = kind == Kind::kMatrix || kind == Kind::kLookedUp,
                    .is_fine = kind == Kind::kFine,
                    .is_table = kind == Kind::kTable,
                    .is_looked_up = kind == Kind::kLookedUp};
    for (const std::string_view alias : aliases)
      spec.aliases.push_back(fmt::format("{}{}", prefix_, alias));
    specs_.push_back(std::move(spec));
  }
  void FallBackTo(std::string name) { specs_.back().aliases.push_back(std::move(name)); }

 private:
  std::vector<TensorSpec>& specs_;
  const Part part_;
  const std::string prefix_;
  const int32_t layer_;
};

// The weights with which streams are mixed around half a layer.
void AddMix(const Shape& shape, std::string_view half, BlockSpecs& block) {
  const uint64_t streams = shape.streams.count;
  const uint64_t outputs = 2 * streams + streams * streams;
  block.Add(Kind::kFine, fmt::format("hc_{}_fn.weight", half), {shape.residual_width(), outputs});
  block.Add(Kind::kVector, fmt::format("hc_{}_scale.weight", half), {3});
  block.Add(Kind::kVector, fmt::format("hc_{}_base.weight", half), {outputs});
}

void AddCompressor(std::string_view name, std::string_view alias, uint32_t ratio, uint64_t dim,
                   uint64_t embedding, BlockSpecs& block) {
  const uint64_t columns = ratio == kShortRatio ? 2 * dim : dim;
  const auto add = [&](Kind kind, std::string_view part, std::vector<uint64_t> dims) {
    const std::string other = fmt::format("{}{}.weight", alias, part);
    block.Add(kind, fmt::format("{}{}.weight", name, part), std::move(dims), {other});
  };
  add(Kind::kFine, "kv", {embedding, columns});
  add(Kind::kFine, "gate", {embedding, columns});
  add(Kind::kFine, "ape", {columns, ratio});
  add(Kind::kVector, "norm", {dim});
}

// V4.1: compressed rows for all layers up to the next that makes some, the keys by which an index
// ranks them, and the index's queries.
void AddSharedRows(const Shape& shape, uint32_t layer, BlockSpecs& block) {
  const Latent& latent = shape.latent;
  const uint64_t embedding = shape.embedding, dim = shape.head_dim;
  if (MakesCompressedRows(shape, layer)) {
    block.Add(Kind::kFine, "attn_compressor_kv.weight", {embedding, dim});
    if (latent.ratios[layer] > 1)
      block.Add(Kind::kFine, "attn_compressor_gate.weight", {embedding, dim});
    block.Add(Kind::kVector, "attn_compressor_norm.weight", {dim});
    block.Add(Kind::kFine, "indexer.attn_k.weight", {dim, latent.index_dim});
    block.Add(Kind::kVector, "indexer.k_norm.weight", {latent.index_dim});
  }
  if (!ChoosesRows(shape, layer)) return;
  const uint64_t index = uint64_t{latent.index_heads} * latent.index_dim;
  block.Add(Kind::kMatrix, "indexer.attn_q_b.weight", {latent.query_rank, index});
  block.Add(Kind::kFine, "indexer.proj.weight", {embedding, latent.index_heads});
}

// A layer's n-gram memory.
void AddNgrams(const Shape& shape, uint32_t layer, BlockSpecs& block) {
  const Ngrams& ngrams = *shape.ngrams;
  const uint64_t embedding = shape.embedding, streams = shape.streams.count;
  block.Add(Kind::kLookedUp, kNgramTable, {ngrams.dim, NgramTableRows(ngrams, layer)});
  block.Add(Kind::kMatrix, "engram_wkv.weight",
            {uint64_t{ngrams.rows()} * ngrams.dim, embedding * (streams + 1)});
  block.Add(Kind::kVector, "engram_q.weight", {embedding, streams});
  block.Add(Kind::kVector, "engram_k.weight", {embedding, streams});
}

void AddAttention(const Shape& shape, uint32_t ratio, BlockSpecs& block) {
  const Latent& latent = shape.latent;
  const uint64_t embedding = shape.embedding;
  const uint64_t dim = shape.head_dim;
  const uint64_t heads = uint64_t{shape.head_count} * dim;
  const uint64_t rank = latent.query_rank;
  const uint64_t output = uint64_t{latent.output_groups} * latent.output_rank;
  AddMix(shape, "attn", block);
  block.Add(Kind::kVector, "attn_norm.weight", {embedding});
  block.Add(Kind::kMatrix, "attn_q_a.weight", {embedding, rank});
  block.Add(Kind::kVector, "attn_q_a_norm.weight", {rank});
  block.Add(Kind::kMatrix, "attn_q_b.weight", {rank, heads});
  block.Add(Kind::kMatrix, "attn_kv.weight", {embedding, dim},
            {"attn_kv_latent.weight", "attn_kv_a_mqa.weight"});
  block.Add(Kind::kVector, "attn_kv_a_norm.weight", {dim});
  block.Add(Kind::kVector, "attn_sinks.weight", {shape.head_count});
  block.Add(Kind::kMatrix, "attn_output_a.weight", {heads / latent.output_groups, output});
  block.Add(Kind::kMatrix, "attn_output_b.weight", {output, embedding});
  if (ratio == 0 || shape.shares_compressed_rows()) return;
  AddCompressor("attn_compressor_", "attn_compress_", ratio, dim, embedding, block);
  if (ratio != kShortRatio) return;
  const uint64_t index = uint64_t{latent.index_heads} * latent.index_dim;
  block.Add(Kind::kMatrix, "indexer.attn_q_b.weight", {rank, index});
  block.Add(Kind::kFine, "indexer.proj.weight", {embedding, latent.index_heads});
  AddCompressor("indexer_compressor_", "indexer.compress_", ratio, latent.index_dim, embedding,
                block);
}

void AddExperts(const Shape& shape, bool hashed, BlockSpecs& block) {
  const uint64_t embedding = shape.embedding;
  const uint64_t count = shape.experts.count;
  const uint64_t width = shape.experts.feed_forward;
  AddMix(shape, "ffn", block);
  block.Add(Kind::kVector, "ffn_norm.weight", {embedding});
  block.Add(Kind::kFine, "ffn_gate_inp.weight", {embedding, count});
  if (hashed) {
    block.Add(Kind::kTable, "ffn_gate_tid2eid.weight", {shape.experts.used, shape.vocab_size});
  } else {
    block.Add(Kind::kVector, "exp_probs_b.bias", {count});
  }
  block.Add(Kind::kMatrix, "ffn_gate_exps.weight", {embedding, width, count});
  block.Add(Kind::kMatrix, "ffn_up_exps.weight", {embedding, width, count});
  block.Add(Kind::kMatrix, "ffn_down_exps.weight", {width, embedding, count});
  block.Add(Kind::kMatrix, "ffn_gate_shexp.weight", {embedding, width});
  block.Add(Kind::kMatrix, "ffn_up_shexp.weight", {embedding, width});
  block.Add(Kind::kMatrix, "ffn_down_shexp.weight", {width, embedding});
}

// `fallback`, if any, is the whole name of the tensor to use if the block has none of its own.
void AddMerge(const Shape& shape, std::string_view name, std::string_view alias,
              std::string_view fallback, BlockSpecs& block) {
  const auto add = [&](Kind kind, std::string_view part, std::vector<uint64_t> dims) {
    const std::string other = fmt::format("{}{}.weight", alias, part);
    block.Add(kind, fmt::format("{}{}.weight", name, part), std::move(dims), {other});
    if (!fallback.empty()) block.FallBackTo(fmt::format("{}{}.weight", fallback, part));
  };
  add(Kind::kFine, "fn", {shape.residual_width(), shape.streams.count});
  add(Kind::kVector, "scale", {1});
  add(Kind::kVector, "base", {shape.streams.count});
}

// The MTP block, which drafts the token after the next: a layer, with the tensors before and after
// it.
void AddLatentMtp(const Shape& shape, std::vector<TensorSpec>& specs) {
  const uint64_t embedding = shape.embedding;
  const std::string prefix = shape.mtp_apart ? "mtp.0." : fmt::format("blk.{}.", shape.layer_count);
  const std::string_view own = shape.mtp_apart ? "" : "nextn.";
  BlockSpecs block(specs, Part::kHead, prefix, -1);
  block.Add(Kind::kVector, fmt::format("{}enorm.weight", own), {embedding});
  block.Add(Kind::kVector, fmt::format("{}hnorm.weight", own), {embedding});
  if (shape.mtp_apart) {
    block.Add(Kind::kMatrix, "e_proj.weight", {embedding, embedding});
    block.Add(Kind::kMatrix, "h_proj.weight", {embedding, embedding});
  } else {
    block.Add(Kind::kMatrix, "nextn.eh_proj.weight", {2 * embedding, embedding});
  }
  AddAttention(shape, /*ratio=*/0, block);
  AddExperts(shape, /*hashed=*/false, block);
  AddMerge(shape, fmt::format("{}hc_head_", own), "hc_head_", "output_hc_", block);
  block.Add(Kind::kVector, shape.mtp_apart ? "norm.weight" : "nextn.shared_head_norm.weight",
            {embedding});
}

}  // namespace

void AddDeepSeek4Tensors(const Shape& shape, std::vector<TensorSpec>& specs) {
  for (uint32_t layer = 0; layer < shape.layer_count; ++layer) {
    BlockSpecs block(specs, Part::kLayer, fmt::format("blk.{}.", layer),
                     static_cast<int32_t>(layer));
    if (shape.has_ngrams(layer)) AddNgrams(shape, layer, block);
    AddAttention(shape, shape.latent.ratios[layer], block);
    if (shape.shares_compressed_rows()) AddSharedRows(shape, layer, block);
    AddExperts(shape, layer < shape.experts.hash_layers, block);
  }
  BlockSpecs head(specs, Part::kHead, "", -1);
  if (!shape.mixes_ahead()) AddMerge(shape, "output_hc_", "hc_head_", "", head);
  if (shape.mtp_layers > 0) AddLatentMtp(shape, specs);
}

}  // namespace aster::model
