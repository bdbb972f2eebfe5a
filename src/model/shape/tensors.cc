// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/shape/tensors.h"

#include <fmt/format.h>

#include "model/families/shape_deepseek4.h"
#include "model/families/shape_phi3.h"
#include "model/shape/shape_router.h"

namespace aster::model {
namespace {

// Collects the tensors of one layer, or of an MTP block, by their names in published files.
class LayerSpecs {
 public:
  LayerSpecs(std::vector<TensorSpec>& specs, uint32_t layer, Part part = Part::kLayer)
      : specs_(specs), layer_(layer), part_(part) {}

  void Matrix(std::string_view name, std::vector<uint64_t> dims) {
    Add(name, std::move(dims), true);
  }
  void Fine(std::string_view name, std::vector<uint64_t> dims) {
    Add(name, std::move(dims), false);
    specs_.back().is_fine = true;
  }
  void Vector(std::string_view name, std::vector<uint64_t> dims) {
    Add(name, std::move(dims), false);
  }
  // For the last tensor: the name of the tensor that is used if there is none of its own.
  void FallBackTo(std::string name) { specs_.back().aliases.push_back(std::move(name)); }

 private:
  void Add(std::string_view name, std::vector<uint64_t> dims, bool is_matrix) {
    specs_.push_back({.name = fmt::format("blk.{}.{}", layer_, name),
                      .dims = std::move(dims),
                      .part = part_,
                      .layer = part_ == Part::kLayer ? static_cast<int32_t>(layer_) : -1,
                      .is_matrix = is_matrix});
  }

  std::vector<TensorSpec>& specs_;
  const uint32_t layer_;
  const Part part_;
};

void AddAttention(const Shape& shape, LayerSpecs& layer) {
  const uint64_t embedding = shape.embedding;
  const uint64_t q = uint64_t{shape.head_count} * shape.head_dim;
  const uint64_t kv = uint64_t{shape.kv_head_count} * shape.head_dim;
  layer.Vector("attn_norm.weight", {embedding});
  if (shape.is_fused()) {
    layer.Matrix("attn_qkv.weight", {embedding, q + 2 * kv});
  } else {
    // Each head has a query and then a gate for its output.
    layer.Matrix("attn_q.weight", {embedding, shape.is_recurrent() ? 2 * q : q});
    layer.Matrix("attn_k.weight", {embedding, kv});
    layer.Matrix("attn_v.weight", {embedding, kv});
  }
  if (shape.qkv_bias()) {
    layer.Vector("attn_q.bias", {q});
    layer.Vector("attn_k.bias", {kv});
    layer.Vector("attn_v.bias", {kv});
  }
  if (shape.qk_norm() || shape.has_wide_norms()) {
    layer.Vector("attn_q_norm.weight", {shape.has_wide_norms() ? q : shape.head_dim});
    layer.Vector("attn_k_norm.weight", {shape.has_wide_norms() ? kv : shape.head_dim});
  }
  layer.Matrix("attn_output.weight", {q, embedding});
  if (shape.is_gemma()) layer.Vector("post_attention_norm.weight", {embedding});
  if (!shape.is_gpt_oss()) return;
  layer.Vector("attn_output.bias", {embedding});
  layer.Vector("attn_sinks.weight", {shape.head_count});
}

// Layers with a window have more key-value heads, and a sink for each head.
void AddMimo2Attention(const Shape& shape, uint32_t index, LayerSpecs& layer) {
  const uint64_t embedding = shape.embedding;
  const uint64_t heads = shape.head_count, kv_heads = KvHeadsOf(shape, index);
  const uint64_t key_dim = HeadDimOf(shape, index), value_dim = ValueDimOf(shape, index);
  layer.Vector("attn_norm.weight", {embedding});
  if (shape.kinds.fused) {
    layer.Matrix("attn_qkv.weight",
                 {embedding, (heads + kv_heads) * key_dim + kv_heads * value_dim});
  } else {
    layer.Matrix("attn_q.weight", {embedding, heads * key_dim});
    layer.Matrix("attn_k.weight", {embedding, kv_heads * key_dim});
    layer.Matrix("attn_v.weight", {embedding, kv_heads * value_dim});
  }
  layer.Matrix("attn_output.weight", {heads * value_dim, embedding});
  if (shape.has_window_sinks(index)) layer.Vector("attn_sinks.weight", {heads});
}

void AddMlaAttention(const Shape& shape, LayerSpecs& layer) {
  const Mla& mla = shape.mla;
  const uint64_t embedding = shape.embedding;
  const uint64_t heads = shape.head_count;
  const uint64_t rank = mla.row_rank;
  const uint64_t q = heads * (mla.key_dim + shape.rope.dimensions);
  layer.Vector("attn_norm.weight", {embedding});
  if (mla.query_rank > 0) {
    layer.Matrix("attn_q_a.weight", {embedding, mla.query_rank});
    layer.Vector("attn_q_a_norm.weight", {mla.query_rank});
    layer.Matrix("attn_q_b.weight", {mla.query_rank, q});
  } else {
    layer.Matrix("attn_q.weight", {embedding, q});
  }
  layer.Matrix("attn_kv_a_mqa.weight", {embedding, shape.head_dim});
  layer.Vector("attn_kv_a_norm.weight", {rank});
  if (shape.kinds.fused) {
    // As in files until 2025: for every head the rows of its key, then those of its value.
    layer.Matrix("attn_kv_b.weight", {rank, heads * (mla.key_dim + mla.value_dim)});
  } else {
    // Rows of one head's key are too short for most types.
    layer.Fine("attn_k_b.weight", {mla.key_dim, rank, heads});
    layer.Matrix("attn_v_b.weight", {rank, mla.value_dim, heads});
  }
  layer.Matrix("attn_output.weight", {heads * mla.value_dim, embedding});
}

void AddRowIndex(const Shape& shape, LayerSpecs& layer) {
  const RowIndex& index = shape.index;
  layer.Fine("indexer.proj.weight", {shape.embedding, index.heads});
  layer.Fine("indexer.attn_k.weight", {shape.embedding, index.dim});
  layer.Vector("indexer.k_norm.weight", {index.dim});
  layer.Vector("indexer.k_norm.bias", {index.dim});
  layer.Matrix("indexer.attn_q_b.weight",
               {shape.mla.query_rank, uint64_t{index.heads} * index.dim});
}

void AddDeltaNet(const Shape& shape, LayerSpecs& layer) {
  const Recurrence& recurrence = shape.recurrence;
  const uint64_t embedding = shape.embedding;
  const uint64_t heads = recurrence.value_heads;
  const uint64_t channels = recurrence.channels();
  const uint64_t values = recurrence.values();
  layer.Vector("attn_norm.weight", {embedding});
  if (recurrence.one_matrix) {
    layer.Matrix("ssm_in.weight", {embedding, channels + values});
  } else {
    layer.Matrix("attn_qkv.weight", {embedding, channels});
    layer.Matrix("attn_gate.weight", {embedding, values});
  }
  layer.Vector("ssm_conv1d.weight", {recurrence.taps, channels});
  layer.Vector("ssm_dt.bias", {heads});
  layer.Vector("ssm_a", {heads});
  if (shape.arch == Arch::kQwen3Next) {
    layer.Fine("ssm_ba.weight", {embedding, 2 * heads});
  } else {
    layer.Fine("ssm_beta.weight", {embedding, heads});
    layer.Fine("ssm_alpha.weight", {embedding, heads});
  }
  layer.Vector("ssm_norm.weight", {recurrence.value_dim});
  layer.Matrix("ssm_out.weight", {values, embedding});
}

void AddLayerAttention(const Shape& shape, uint32_t index, LayerSpecs& layer) {
  if (shape.has_state(index)) return AddDeltaNet(shape, layer);
  if (shape.is_mimo2()) return AddMimo2Attention(shape, index, layer);
  shape.is_mla() ? AddMlaAttention(shape, layer) : AddAttention(shape, layer);
  if (shape.has_index(index)) AddRowIndex(shape, layer);
}

void AddDense(const Shape& shape, LayerSpecs& layer) {
  const uint64_t embedding = shape.embedding;
  const uint64_t halves = shape.is_fused() ? 2 : 1;
  if (!shape.is_fused()) layer.Matrix("ffn_gate.weight", {embedding, shape.feed_forward});
  layer.Matrix("ffn_up.weight", {embedding, halves * shape.feed_forward});
  layer.Matrix("ffn_down.weight", {shape.feed_forward, embedding});
  if (shape.is_gemma()) layer.Vector("post_ffw_norm.weight", {embedding});
}

void AddExpertMatrices(const Shape& shape, LayerSpecs& layer) {
  const uint64_t embedding = shape.embedding;
  const uint64_t experts = shape.experts.count;
  const uint64_t width = shape.experts.feed_forward;
  if (shape.experts.fused) {
    layer.Matrix("ffn_gate_up_exps.weight", {embedding, 2 * width, experts});
  } else {
    layer.Matrix("ffn_gate_exps.weight", {embedding, width, experts});
    layer.Matrix("ffn_up_exps.weight", {embedding, width, experts});
  }
  layer.Matrix("ffn_down_exps.weight", {width, embedding, experts});
}

void AddMixture(const Shape& shape, LayerSpecs& layer) {
  const uint64_t embedding = shape.embedding;
  const uint64_t experts = shape.experts.count;
  const uint64_t feed_forward = shape.experts.feed_forward;
  // The router stays in full precision: rounding could choose another expert.
  layer.Vector("ffn_gate_inp.weight", {embedding, experts});
  if (shape.experts.choice_bias) layer.Vector("exp_probs_b.bias", {experts});
  AddExpertMatrices(shape, layer);
  if (const uint64_t shared = shape.experts.shared_width(); shared > 0) {
    if (shape.experts.shared_gate) layer.Vector("ffn_gate_inp_shexp.weight", {embedding});
    layer.Matrix("ffn_gate_shexp.weight", {embedding, shared});
    layer.Matrix("ffn_up_shexp.weight", {embedding, shared});
    layer.Matrix("ffn_down_shexp.weight", {shared, embedding});
  }
  if (!shape.is_gpt_oss()) return;
  layer.Vector("ffn_gate_inp.bias", {experts});
  layer.Vector("ffn_gate_exps.bias", {feed_forward, experts});
  layer.Vector("ffn_up_exps.bias", {feed_forward, experts});
  layer.Vector("ffn_down_exps.bias", {embedding, experts});
}

// A layer of Gemma 4: heads by the layer's kind; no keys and values if it shares KV rows; experts,
// if any, beside the dense network.
void AddGemma4Layer(const Shape& shape, uint32_t index, LayerSpecs& layer) {
  const uint64_t embedding = shape.embedding;
  const uint64_t dim = HeadDimOf(shape, index);
  const uint64_t q = shape.head_count * dim;
  const uint64_t kv = KvHeadsOf(shape, index) * dim;
  const uint64_t wide = FeedForwardOf(shape, index);
  layer.Vector("attn_norm.weight", {embedding});
  layer.Matrix("attn_q.weight", {embedding, q});
  layer.Vector("attn_q_norm.weight", {dim});
  if (KvLayerOf(shape, index) == index) {
    layer.Matrix("attn_k.weight", {embedding, kv});
    if (!TakesKeysAsValues(shape, index)) layer.Matrix("attn_v.weight", {embedding, kv});
    layer.Vector("attn_k_norm.weight", {dim});
  }
  layer.Matrix("attn_output.weight", {q, embedding});
  layer.Vector("post_attention_norm.weight", {embedding});
  layer.Vector("ffn_norm.weight", {embedding});
  layer.Matrix("ffn_gate.weight", {embedding, wide});
  layer.Matrix("ffn_up.weight", {embedding, wide});
  layer.Matrix("ffn_down.weight", {wide, embedding});
  layer.Vector("post_ffw_norm.weight", {embedding});
  if (const uint64_t experts = shape.experts.count; experts > 0) {
    layer.Vector("ffn_gate_inp.weight", {embedding, experts});
    layer.Vector("ffn_gate_inp.scale", {embedding});
    layer.Vector("pre_ffw_norm_2.weight", {embedding});
    layer.Vector("post_ffw_norm_1.weight", {embedding});
    layer.Vector("post_ffw_norm_2.weight", {embedding});
    AddExpertMatrices(shape, layer);
    layer.Vector("ffn_down_exps.scale", {experts});
  }
  if (const uint64_t input = shape.kinds.input; input > 0) {
    layer.Matrix("inp_gate.weight", {embedding, input});
    layer.Matrix("proj.weight", {input, embedding});
    layer.Vector("post_norm.weight", {embedding});
  }
  layer.Vector("layer_output_scale.weight", {1});
}

void AddLayer(const Shape& shape, uint32_t index, LayerSpecs& layer) {
  if (shape.is_gemma4()) return AddGemma4Layer(shape, index, layer);
  AddLayerAttention(shape, index, layer);
  layer.Vector(FeedForwardNormOf(shape), {shape.embedding});
  shape.has_experts(index) ? AddMixture(shape, layer) : AddDense(shape, layer);
}

void AddMtp(const Shape& shape, std::vector<TensorSpec>& specs) {
  const uint64_t embedding = shape.embedding;
  LayerSpecs block(specs, shape.layer_count, Part::kHead);
  block.Vector("nextn.enorm.weight", {embedding});
  block.Vector("nextn.hnorm.weight", {embedding});
  block.Matrix("nextn.eh_proj.weight", {2 * embedding, embedding});
  AddLayer(ShapeOfMtp(shape), 0, block);
  block.Vector(NormOfMtp(shape), {embedding});
  if (shape.is_mimo2())
    block.FallBackTo(fmt::format("blk.{}.nextn.shared_head_norm.weight", shape.layer_count));
  block.FallBackTo("output_norm.weight");
}

// The tensors from which every layer's own embedding of a token is made.
void AddLayerInputs(const Shape& shape, std::vector<TensorSpec>& specs) {
  const uint64_t all = uint64_t{shape.kinds.input} * shape.layer_count;
  const auto add = [&](std::string_view name, std::vector<uint64_t> dims, bool is_matrix) {
    specs.push_back({.name = std::string(name),
                     .dims = std::move(dims),
                     .part = Part::kEmbedding,
                     .is_matrix = is_matrix});
  };
  add(kLayerEmbedding, {all, shape.vocab_size}, true);
  add(kLayerProjection, {shape.embedding, all}, true);
  add(kLayerProjectionNorm, {shape.kinds.input}, false);
}

// Phi 3 has two tables, one of which is used.
void AddRopeFactors(const Shape& shape, std::vector<TensorSpec>& specs) {
  const auto add = [&](std::string_view name) {
    specs.push_back(
        {.name = std::string(name), .dims = {shape.rope.dimensions / 2}, .part = Part::kEmbedding});
  };
  if (shape.arch != Arch::kPhi3) return add(RopeFactorsOf(shape));
  add(kLongPhiFactors);
  add(kShortPhiFactors);
}

}  // namespace

std::string_view RopeFactorsOf(const Shape& shape) {
  if (shape.arch == Arch::kPhi3) return PhiFactorsOf(shape);
  return "rope_freqs.weight";
}

std::string_view FeedForwardNormOf(const Shape& shape) {
  const bool is_behind = shape.is_gpt_oss() || shape.is_glm() || shape.is_recurrent();
  return is_behind ? "post_attention_norm.weight" : "ffn_norm.weight";
}

bool IsOfMtpBlock(const TensorSpec& spec) {
  return spec.part == Part::kHead && !spec.name.starts_with("output");
}

bool IsTiedHead(const Shape& shape, const TensorSpec& spec) {
  return shape.tied_head && spec.name == "token_embd.weight";
}

std::vector<TensorSpec> TensorsOf(const Shape& shape) {
  std::vector<TensorSpec> specs;
  const uint64_t embedding = shape.embedding;
  const uint64_t vocab = shape.vocab_size;
  specs.push_back({.name = "token_embd.weight",
                   .dims = {embedding, vocab},
                   .part = Part::kEmbedding,
                   .is_matrix = true});
  if (shape.kinds.input > 0) AddLayerInputs(shape, specs);
  if (shape.rope_factors) AddRopeFactors(shape, specs);
  if (shape.is_latent()) AddDeepSeek4Tensors(shape, specs);
  for (uint32_t i = 0; i < shape.layer_count && !shape.is_latent(); ++i) {
    LayerSpecs layer(specs, i);
    AddLayer(shape, i, layer);
  }
  if (shape.mtp_layers > 0 && !shape.is_latent()) AddMtp(shape, specs);
  specs.push_back({.name = "output_norm.weight", .dims = {embedding}, .part = Part::kHead});
  if (!shape.tied_head) {
    specs.push_back({.name = "output.weight",
                     .dims = {embedding, vocab},
                     .part = Part::kHead,
                     .is_matrix = true});
  }
  return specs;
}

}  // namespace aster::model
