// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/weights/weights.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "model/files/support.h"
#include "model/shape/shape_router.h"
#include "model/shape/tensors.h"
#include "model/weights/block_weights.h"
#include "model/weights/tensor_loader.h"
#include "model/weights/weight_rows.h"

namespace aster::model {
namespace {

// Knows which tensor is which of a model's weights.
class Loader : TensorLoader {
 public:
  using TensorLoader::TensorLoader;

  Result<Weights> Load(const Slice& slice) {
    FindTensors(slice);
    Weights weights;
    weights.shape = shape_;
    weights.slice = slice;
    // The MTP block belongs to the head, and needs the embedding as well.
    const bool has_mtp = slice.HasMtp(shape_);
    if (slice.embedding || has_mtp || shape_.kinds.input > 0)
      weights.embedding = files_.FindTensor("token_embd.weight");
    if (shape_.kinds.input > 0) weights.layer_embedding = &Find(std::string(kLayerEmbedding));
    if (shape_.rope_factors) weights.rope_factors = TRY(RopeFactors());
    for (uint32_t layer = slice.layer_begin; layer < slice.layer_end; ++layer) {
      weights.layers.push_back(TRY(LayerAt(layer)));
    }
    if (slice.head) {
      if (shape_.is_latent() && !shape_.mixes_ahead()) weights.merge = TRY(MixOf("output_hc_"));
      weights.output_norm = TRY(Floats("output_norm.weight"));
      weights.head = TRY(Head());
      weights.logit_bias = TRY(LogitBias());
    }
    if (has_mtp) weights.mtp = TRY(Mtp());
    return weights;
  }

  Result<BlockWeights> LoadBlock(const BlockShape& shape, const gguf::Tensor* embedding) {
    FindTensors(TensorsOf(shape));
    BlockWeights weights;
    weights.shape = shape;
    weights.join = TRY(Matrix("fc.weight"));
    weights.join_norm = TRY(Floats("enc.output_norm.weight"));
    Weights& layers = weights.layers;
    layers.shape = shape_;
    layers.slice = {.layer_end = shape_.layer_count, .embedding = true};
    for (uint32_t layer = 0; layer < shape_.layer_count; ++layer)
      layers.layers.push_back(TRY(LayerAt(layer)));
    if (shape_.is_latent()) layers.merge = TRY(MixOf("output_hc_"));
    layers.output_norm = TRY(Floats("output_norm.weight"));
    layers.embedding = shape.has_embedding ? &Find("token_embd.weight") : embedding;
    if (shape.has_head) layers.head = TRY(Matrix("output.weight"));
    if (shape.pair_rank == 0) return weights;
    weights.pair_first = &Find("markov_w1.weight");
    weights.pair_second = TRY(Matrix("markov_w2.weight"));
    if (shape.has_confidence) weights.confidence = TRY(HostFloats("conf_proj.weight"));
    if (shape.has_confidence_bias)
      weights.confidence_bias = TRY(HostFloats("conf_proj.bias")).front();
    return weights;
  }

 private:
  Result<compute::Matrix> Head() {
    return Matrix(shape_.tied_head ? "token_embd.weight" : "output.weight");
  }

  Result<compute::Array> LogitBias() {
    if (shape_.suppressed.empty()) return compute::Array();
    std::vector<float> bias(shape_.vocab_size, 0.0f);
    for (const int32_t token : shape_.suppressed)
      bias[static_cast<size_t>(token)] = -std::numeric_limits<float>::infinity();
    return compute::Array::Of(backend_, bias);
  }

  Result<std::shared_ptr<const MtpWeights>> Mtp() {
    auto mtp = std::make_shared<MtpWeights>();
    if (!std::exchange(part_, {}).is_whole()) mtp->whole_head = TRY(Head());
    prefix_ = shape_.mtp_apart ? "mtp.0." : fmt::format("blk.{}.", shape_.layer_count);
    const std::string own = prefix_ + (shape_.mtp_apart ? "" : "nextn.");
    mtp->token_norm = TRY(Floats(own + "enorm.weight"));
    mtp->stream_norm = TRY(Floats(own + "hnorm.weight"));
    // The norms after it are loaded like those of a model with one layer.
    shape_ = ShapeOfMtp(shape_);
    layer_ = 0;
    if (shape_.mtp_apart) {
      mtp->join_token = TRY(Matrix(Name("e_proj.weight")));
      mtp->join_stream = TRY(Matrix(Name("h_proj.weight")));
    } else {
      mtp->join_token = TRY(HalfOfColumns(Find(own + "eh_proj.weight"), 0, backend_));
      mtp->join_stream = TRY(HalfOfColumns(Find(own + "eh_proj.weight"), 1, backend_));
      Done(Find(own + "eh_proj.weight"));
    }
    mtp->block.shape = shape_;
    mtp->block.slice = {.layer_begin = 0, .layer_end = 1, .head = true};
    mtp->block.layers.resize(1);
    if (shape_.is_latent()) {
      TRY(LatentLayer(/*ratio=*/0, /*hashed=*/false, mtp->block.layers[0]));
      mtp->block.merge = TRY(MixOf(own + "hc_head_"));
    } else {
      mtp->block.layers[0] = TRY(Layer());
    }
    mtp->block.output_norm = TRY(Floats(prefix_ + std::string(NormOfMtp(shape_))));
    return std::shared_ptr<const MtpWeights>(std::move(mtp));
  }

  Result<LayerWeights> LayerAt(uint32_t index) {
    prefix_ = fmt::format("blk.{}.", index);
    layer_ = index;
    return Layer();
  }

  Result<LayerWeights> Layer() {
    const uint32_t index = layer_;
    LayerWeights layer;
    if (shape_.is_latent()) {
      const uint32_t ratio = shape_.latent.ratios[index];
      TRY(LatentLayer(ratio, index < shape_.experts.hash_layers, layer));
      if (shape_.has_ngrams(index)) TRY(Ngrams(layer.ngrams));
      return layer;
    }
    layer.attention_norm = TRY(Floats(Name("attn_norm.weight")));
    if (shape_.is_gemma4()) return Gemma4Layer(index, std::move(layer));
    TRY(shape_.has_state(index) ? DeltaNet(layer.delta) : HeadAttention(layer));
    layer.feed_forward_norm = TRY(Floats(Name(FeedForwardNormOf(shape_))));
    if (shape_.is_gpt_oss()) TRY(Biases(layer));
    if (shape_.is_gemma()) {
      layer.attended_norm = TRY(Floats(Name("post_attention_norm.weight")));
      layer.fed_norm = TRY(Floats(Name("post_ffw_norm.weight")));
    }
    TRY(shape_.has_experts(index) ? Mixture(layer) : Dense(layer.dense));
    return layer;
  }

  Result<LayerWeights> Gemma4Layer(uint32_t index, LayerWeights layer) {
    layer.query = TRY(Matrix(Name("attn_q.weight")));
    layer.query_norm = TRY(Floats(Name("attn_q_norm.weight")));
    if (KvLayerOf(shape_, index) == index) {
      layer.key = TRY(Matrix(Name("attn_k.weight")));
      layer.key_norm = TRY(Floats(Name("attn_k_norm.weight")));
      if (!TakesKeysAsValues(shape_, index)) layer.value = TRY(Matrix(Name("attn_v.weight")));
    }
    layer.output = TRY(Matrix(Name("attn_output.weight")));
    layer.attended_norm = TRY(Floats(Name("post_attention_norm.weight")));
    layer.feed_forward_norm = TRY(Floats(Name("ffn_norm.weight")));
    TRY(Dense(layer.dense));
    layer.fed_norm = TRY(Floats(Name("post_ffw_norm.weight")));
    if (shape_.experts.count > 0) TRY(ExpertsBesideDense(layer));
    if (shape_.kinds.input > 0) TRY(OwnInput(index, layer.input));
    layer.output_scale = TRY(HostFloats(Name("layer_output_scale.weight"))).front();
    return layer;
  }

  Status ExpertsBesideDense(LayerWeights& layer) {
    layer.router = TRY(Matrix(Name("ffn_gate_inp.weight")));
    layer.dense_norm = TRY(Floats(Name("post_ffw_norm_1.weight")));
    layer.expert_norm = TRY(Floats(Name("pre_ffw_norm_2.weight")));
    layer.mixed_norm = TRY(Floats(Name("post_ffw_norm_2.weight")));
    layer.expert_scales = TRY(Floats(Name("ffn_down_exps.scale")));
    std::vector<float> scale = TRY(HostFloats(Name("ffn_gate_inp.scale")));
    for (float& weight : scale) weight /= std::sqrt(static_cast<float>(shape_.embedding));
    layer.router_norm = TRY(compute::Array::Of(backend_, scale));
    return RoutedExperts(layer.experts);
  }

  Status OwnInput(uint32_t index, LayerInputWeights& input) {
    const std::string all(kLayerProjection);
    input.projection = TRY(MatrixWithin(all, all, index * shape_.kinds.input, shape_.kinds.input));
    input.projection_norm = TRY(Floats(std::string(kLayerProjectionNorm)));
    input.gate = TRY(Matrix(Name("inp_gate.weight")));
    input.back = TRY(Matrix(Name("proj.weight")));
    input.norm = TRY(Floats(Name("post_norm.weight")));
    return Ok();
  }

  Status HeadAttention(LayerWeights& layer) {
    TRY(shape_.is_mla() ? MlaAttention(layer.mla) : Projections(layer));
    if (shape_.qkv_bias()) {
      layer.query_bias = TRY(Floats(Name("attn_q.bias")));
      layer.key_bias = TRY(Floats(Name("attn_k.bias")));
      layer.value_bias = TRY(Floats(Name("attn_v.bias")));
    }
    if (shape_.qk_norm() || shape_.has_wide_norms()) {
      layer.query_norm = TRY(Floats(Name("attn_q_norm.weight")));
      layer.key_norm = TRY(Floats(Name("attn_k_norm.weight")));
    }
    if (!shape_.is_mla()) layer.output = TRY(Matrix(Name("attn_output.weight")));
    if (shape_.has_window_sinks(layer_)) layer.sinks = TRY(Floats(Name("attn_sinks.weight")));
    return Ok();
  }

  Status DeltaNet(DeltaWeights& delta) {
    const Recurrence& recurrence = shape_.recurrence;
    TRY(recurrence.one_matrix ? DeltaProjections(delta) : Ok());
    if (!recurrence.one_matrix) {
      delta.mixed = TRY(Matrix(Name("attn_qkv.weight")));
      delta.gate = TRY(Matrix(Name("attn_gate.weight")));
    }
    if (shape_.arch == Arch::kQwen3Next) {
      // For each key head: the betas of its value heads, then their decay times.
      const uint64_t heads = recurrence.heads_of_key();
      const gguf::Tensor& both = Find(Name("ssm_ba.weight"));
      delta.betas = TRY(RowsOfHeads(both, {{0, heads}}, 2 * heads, backend_));
      delta.times = TRY(RowsOfHeads(both, {{heads, heads}}, 2 * heads, backend_));
      Done(both);
    } else {
      delta.betas = TRY(Matrix(Name("ssm_beta.weight")));
      delta.times = TRY(Matrix(Name("ssm_alpha.weight")));
    }
    const std::vector<float> weights = TRY(HostFloats(Name("ssm_conv1d.weight")));
    delta.convolution = TRY(compute::Array::Of(backend_, Transposed(weights, recurrence.taps)));
    delta.rates = TRY(Floats(Name("ssm_a")));
    delta.time_bias = TRY(Floats(Name("ssm_dt.bias")));
    delta.norm = TRY(Floats(Name("ssm_norm.weight")));
    delta.output = TRY(Matrix(Name("ssm_out.weight")));
    return Ok();
  }

  // One tensor, for each key head: its query, its key, the values of its heads, and their gates.
  Status DeltaProjections(DeltaWeights& delta) {
    const Recurrence& recurrence = shape_.recurrence;
    const gguf::Tensor& all = Find(Name("ssm_in.weight"));
    const uint64_t key = recurrence.key_dim;
    const uint64_t values = recurrence.values() / recurrence.key_heads;
    const uint64_t step = 2 * (key + values);
    const PartRanges own = RangesOf(part_, shape_);
    delta.mixed = TRY(RowsOfHeads(all, {{0, key}, {key, key}, {2 * key, values}}, step, backend_,
                                  {own.channels.begin, own.channels.count()}));
    delta.gate = TRY(RowsOfHeads(all, {{2 * key + values, values}}, step, backend_,
                                 {own.values.begin, own.values.count()}));
    Done(all, uint64_t{own.channels.count()} + own.values.count());
    return Ok();
  }

  Status Mixture(LayerWeights& layer) {
    layer.router = TRY(Matrix(Name("ffn_gate_inp.weight")));
    if (shape_.experts.choice_bias) layer.choice_bias = TRY(Floats(Name("exp_probs_b.bias")));
    TRY(RoutedExperts(layer.experts));
    if (shape_.experts.shared_gate)
      layer.shared_gate = TRY(FineMatrix(Name("ffn_gate_inp_shexp.weight")));
    return shape_.experts.shared > 0 ? Shared(layer.shared) : Ok();
  }

  Status RoutedExperts(std::vector<compute::ExpertWeights>& experts) {
    const bool is_fused = shape_.experts.fused;
    // In a fused tensor, for every expert the rows of gate, then those of up.
    const PartRange gates = RowsOfExperts();
    const uint32_t before = is_fused ? shape_.experts.feed_forward : 0;
    const PartRange ups = {before + gates.begin, before + gates.end};
    return Experts({{is_fused ? "ffn_gate_up_exps.weight" : "ffn_gate_exps.weight", gates,
                     &compute::ExpertWeights::gate},
                    {is_fused ? "ffn_gate_up_exps.weight" : "ffn_up_exps.weight", ups,
                     &compute::ExpertWeights::up},
                    {"ffn_down_exps.weight", RowsOfDown(), &compute::ExpertWeights::down}},
                   experts);
  }

  Status Shared(compute::ExpertWeights& shared) {
    shared.gate = TRY(RowsOfShared(Name("ffn_gate_shexp.weight")));
    shared.up = TRY(RowsOfShared(Name("ffn_up_shexp.weight")));
    shared.down = TRY(Matrix(Name("ffn_down_shexp.weight")));
    return Ok();
  }

  // Several shared experts are one wide expert: the part's rows of each.
  Result<compute::Matrix> RowsOfShared(const std::string& name) {
    if (shape_.experts.shared == 1 || part_.is_whole() || part_.owns_experts) return Matrix(name);
    const gguf::Tensor& tensor = Find(name);
    const PartRange own = RowsOfExperts();
    auto matrix =
        TRY(RowsOfHeads(tensor, {{own.begin, own.count()}}, shape_.experts.feed_forward, backend_));
    Done(tensor, matrix.rows());
    return matrix;
  }

  Status Projections(LayerWeights& layer) {
    const bool is_fused = shape_.is_fused() || shape_.kinds.fused;
    if (shape_.is_recurrent()) {
      // For every head its query, then the gate of its output.
      const std::string name = Name("attn_q.weight");
      const gguf::Tensor both = RowsWithin(name, name, 0, Find(name).dims[1]);
      const uint64_t dim = shape_.head_dim;
      layer.query = TRY(RowsOfHeads(both, {{0, dim}}, 2 * dim, backend_));
      layer.output_gate = TRY(RowsOfHeads(both, {{dim, dim}}, 2 * dim, backend_));
      Done(both);
    } else if (!is_fused) {
      layer.query = TRY(Matrix(Name("attn_q.weight")));
    }
    if (!is_fused) {
      layer.key = TRY(Matrix(Name("attn_k.weight")));
      layer.value = TRY(Matrix(Name("attn_v.weight")));
      return Ok();
    }
    const uint64_t dim = HeadDimOf(shape_, layer_), kv_heads = KvHeadsOf(shape_, layer_);
    const uint64_t heads = shape_.head_count * dim, keys = kv_heads * dim;
    const uint64_t values = kv_heads * ValueDimOf(shape_, layer_);
    const std::string all = Name("attn_qkv.weight");
    layer.query = TRY(MatrixWithin(all, Name("attn_q.weight"), 0, heads));
    layer.key = TRY(MatrixWithin(all, Name("attn_k.weight"), heads, keys));
    layer.value = TRY(MatrixWithin(all, Name("attn_v.weight"), heads + keys, values));
    return Ok();
  }

  Status MlaAttention(MlaWeights& mla) {
    if (shape_.mla.query_rank > 0) {
      mla.query_low = TRY(Matrix(Name("attn_q_a.weight")));
      mla.query_norm = TRY(Floats(Name("attn_q_a_norm.weight")));
    }
    TRY(MlaQueries(Name(shape_.mla.query_rank > 0 ? "attn_q_b.weight" : "attn_q.weight"), mla));
    mla.row = TRY(Matrix(Name("attn_kv_a_mqa.weight")));
    mla.row_norm = TRY(Floats(Name("attn_kv_a_norm.weight")));
    if (shape_.kinds.fused) {
      TRY(JointHeads(mla));
    } else {
      mla.keys = TRY(HeadMatrices(Name("attn_k_b.weight")));
      mla.values = TRY(HeadMatrices(Name("attn_v_b.weight")));
    }
    const std::vector<float> none(mla.keys.size(), -std::numeric_limits<float>::infinity());
    mla.no_sinks = TRY(compute::Array::Of(backend_, none));
    mla.output = TRY(Matrix(Name("attn_output.weight")));
    return shape_.has_index(layer_) ? RowIndex(mla.index) : Ok();
  }

  // For every head the rows of its key, which are transposed, and those of its value.
  Status JointHeads(MlaWeights& mla) {
    const std::string name = Name("attn_kv_b.weight");
    const gguf::Tensor tensor = RowsWithin(name, name, 0, Find(name).dims[1]);
    const uint64_t row_bytes = tensor.data.size() / tensor.dims[1];
    const uint64_t of_head = shape_.mla.key_dim + shape_.mla.value_dim;
    for (uint64_t head = 0; head < tensor.dims[1] / of_head; ++head) {
      gguf::Tensor part = tensor;
      part.dims[1] = shape_.mla.key_dim;
      part.data = tensor.data.subspan(head * of_head * row_bytes, part.dims[1] * row_bytes);
      mla.keys.push_back(TRY(PackTransposed(part, backend_)));
      part.data = tensor.data.subspan((head * of_head + part.dims[1]) * row_bytes,
                                      shape_.mla.value_dim * row_bytes);
      part.dims[1] = shape_.mla.value_dim;
      mla.values.push_back(TRY(compute::Matrix::Pack(part, 0, backend_)));
    }
    Done(tensor);
    return Ok();
  }

  Status RowIndex(RowIndexWeights& index) {
    const std::string row = Name("indexer.attn_k.weight");
    index.row = TRY(PackCentred(Find(row), TRY(HostFloats(row)), backend_));
    index.norm = TRY(Floats(Name("indexer.k_norm.weight")));
    index.bias = TRY(Floats(Name("indexer.k_norm.bias")));
    index.query = TRY(Matrix(Name("indexer.attn_q_b.weight")));
    index.shares = TRY(FineMatrix(Name("indexer.proj.weight")));
    return Ok();
  }

  // One matrix for the part without RoPE of all heads' queries; one for each head for the rest.
  Status MlaQueries(const std::string& name, MlaWeights& mla) {
    const gguf::Tensor tensor = RowsWithin(name, name, 0, Find(name).dims[1]);
    const uint64_t of_head = shape_.mla.key_dim + shape_.rope.dimensions;
    const uint64_t heads = tensor.dims[1] / of_head;
    const uint64_t row_bytes = tensor.data.size() / tensor.dims[1];
    const uint64_t unrotated = shape_.mla.key_dim * row_bytes;
    const uint64_t rope_dims = shape_.rope.dimensions * row_bytes;
    mla.query_nope = TRY(RowsOfHeads(tensor, {{0, shape_.mla.key_dim}}, of_head, backend_));
    gguf::Tensor part = tensor;
    part.dims[1] = shape_.rope.dimensions;
    for (uint64_t head = 0; head < heads; ++head) {
      part.data = tensor.data.subspan(head * (unrotated + rope_dims) + unrotated, rope_dims);
      mla.query_rope.push_back(TRY(compute::Matrix::Pack(part, 0, backend_)));
    }
    Done(tensor);
    return Ok();
  }

  Status Dense(compute::ExpertWeights& dense) {
    if (shape_.is_fused()) {
      const std::string both = Name("ffn_up.weight");
      const uint64_t width = shape_.feed_forward;
      dense.gate = TRY(MatrixWithin(both, Name("ffn_gate.weight"), 0, width));
      dense.up = TRY(MatrixWithin(both, both, width, width));
    } else {
      dense.gate = TRY(Matrix(Name("ffn_gate.weight")));
      dense.up = TRY(Matrix(Name("ffn_up.weight")));
    }
    dense.down = TRY(Matrix(Name("ffn_down.weight")));
    return Ok();
  }

  // Biases and sinks: what a layer of gpt-oss has beside its matrices.
  Status Biases(LayerWeights& layer) {
    layer.output_bias = TRY(Floats(Name("attn_output.bias")));
    layer.sinks = TRY(Floats(Name("attn_sinks.weight")));
    layer.router_bias = TRY(Floats(Name("ffn_gate_inp.bias")));
    layer.expert_gate_bias = TRY(FloatsOfExperts(Name("ffn_gate_exps.bias")));
    layer.expert_up_bias = TRY(FloatsOfExperts(Name("ffn_up_exps.bias")));
    layer.expert_down_bias = TRY(FloatsOfExperts(Name("ffn_down_exps.bias")));
    return Ok();
  }

  // A layer of DeepSeek V4.
  Status LatentLayer(uint32_t ratio, bool hashed, LayerWeights& layer) {
    layer.attention_mix = TRY(MixOf(Name("hc_attn_")));
    layer.attention_norm = TRY(Floats(Name("attn_norm.weight")));
    TRY(Attention(ratio, layer.latent));
    layer.feed_forward_mix = TRY(MixOf(Name("hc_ffn_")));
    layer.feed_forward_norm = TRY(Floats(Name("ffn_norm.weight")));
    layer.router = TRY(FineMatrix(Name("ffn_gate_inp.weight")));
    if (hashed) {
      const gguf::Tensor& table = Find(Name("ffn_gate_tid2eid.weight"));
      layer.expert_table = TRY(ReadExpertTable(table, shape_.experts.count));
      Done(table);
    } else {
      layer.choice_bias = TRY(Floats(Name("exp_probs_b.bias")));
    }
    TRY(RoutedExperts(layer.experts));
    return Shared(layer.shared);
  }

  Status Attention(uint32_t ratio, LatentWeights& latent) {
    latent.query_low = TRY(Matrix(Name("attn_q_a.weight")));
    latent.query_norm = TRY(Floats(Name("attn_q_a_norm.weight")));
    latent.query_high = TRY(Matrix(Name("attn_q_b.weight")));
    latent.row = TRY(Matrix(Name("attn_kv.weight")));
    latent.row_norm = TRY(Floats(Name("attn_kv_a_norm.weight")));
    latent.sinks = TRY(Floats(Name("attn_sinks.weight")));
    latent.output_low = TRY(OutputGroups(Name("attn_output_a.weight")));
    latent.output_high = TRY(Matrix(Name("attn_output_b.weight")));
    if (shape_.shares_compressed_rows()) return SharedRows(ratio, latent);
    // Layers with compressed rows; with the small ratio they have an index.
    if (ratio == 0) return Ok();
    latent.compressor = TRY(Compressor("attn_compressor_"));
    if (ratio != kShortRatio) return Ok();
    latent.index_compressor = TRY(Compressor("indexer_compressor_"));
    latent.index_query = TRY(Matrix(Name("indexer.attn_q_b.weight")));
    latent.index_heads = TRY(FineMatrix(Name("indexer.proj.weight")));
    return Ok();
  }

  // V4.1: the weights of rows for several layers, of the index's keys, and of its queries.
  Status SharedRows(uint32_t ratio, LatentWeights& latent) {
    if (MakesCompressedRows(shape_, layer_)) {
      latent.compressor.values = TRY(FineMatrix(Name("attn_compressor_kv.weight")));
      if (ratio > 1)
        latent.compressor.scores = TRY(FineMatrix(Name("attn_compressor_gate.weight")));
      latent.compressor.norm = TRY(Floats(Name("attn_compressor_norm.weight")));
      latent.index_key = TRY(FineMatrix(Name("indexer.attn_k.weight")));
      latent.index_key_norm = TRY(Floats(Name("indexer.k_norm.weight")));
    }
    if (!ChoosesRows(shape_, layer_)) return Ok();
    latent.index_query = TRY(Matrix(Name("indexer.attn_q_b.weight")));
    latent.index_heads = TRY(FineMatrix(Name("indexer.proj.weight")));
    return Ok();
  }

  Status Ngrams(NgramWeights& ngrams) {
    ngrams.table = &Find(Name(kNgramTable));
    ngrams.key_value = TRY(Matrix(Name("engram_wkv.weight")));
    // Only the product of both is used.
    std::vector<float> weights = TRY(HostFloats(Name("engram_q.weight")));
    const std::vector<float> of_keys = TRY(HostFloats(Name("engram_k.weight")));
    for (size_t i = 0; i < weights.size(); ++i) weights[i] *= of_keys[i];
    ngrams.weights = TRY(compute::Array::Of(backend_, weights));
    return Ok();
  }

  Result<MixWeights> MixOf(const std::string& name) {
    MixWeights mix;
    mix.mix = TRY(FineMatrix(name + "fn.weight"));
    mix.scale = TRY(Floats(name + "scale.weight"));
    mix.base = TRY(Floats(name + "base.weight"));
    return mix;
  }

  Result<CompressorWeights> Compressor(const std::string& name) {
    CompressorWeights compressor;
    compressor.values = TRY(FineMatrix(Name(name + "kv.weight")));
    compressor.scores = TRY(FineMatrix(Name(name + "gate.weight")));
    compressor.places = TRY(Floats(Name(name + "ape.weight")));
    compressor.norm = TRY(Floats(Name(name + "norm.weight")));
    return compressor;
  }

  // The rows of a group of heads have only these heads as input: a matrix for each group.
  Result<std::vector<compute::Matrix>> OutputGroups(const std::string& name) {
    gguf::Tensor groups = RowsWithin(name, name, 0, Find(name).dims[1]);
    const gguf::Tensor rows = groups;
    groups.dims[1] = shape_.latent.output_rank;
    groups.dims[2] = rows.dims[1] / shape_.latent.output_rank;
    auto matrices = TRY(compute::Matrix::PackAll(groups, backend_));
    Done(rows);
    return matrices;
  }

  Result<std::vector<float>> RopeFactors() {
    const std::string name(RopeFactorsOf(shape_));
    std::vector<float> factors = TRY(HostFloats(name));
    for (const float factor : factors) {
      if (factor > 0.0f) continue;
      return DataLoss(
          fmt::format("{} holds {}; frequencies are divided by positive numbers", name, factor));
    }
    return factors;
  }
};

// For each of the drafter's own tokens, the model's token.
Result<std::vector<int32_t>> ReadOwnVocab(const gguf::ModelFiles& files, const BlockShape& shape) {
  std::vector<int32_t> tokens;
  const Bytes data = files.FindTensor(kOwnVocabTable)->data;
  for (size_t at = 0; at < data.size(); at += sizeof(int64_t)) {
    const auto token = LoadUnaligned<int64_t>(data.data() + at);
    if (token < 0 || token >= int64_t{shape.layers.vocab_size}) {
      return DataLoss(fmt::format("{} holds {} of a vocabulary of {}", kOwnVocabTable, token,
                                  shape.layers.vocab_size));
    }
    tokens.push_back(static_cast<int32_t>(token));
  }
  return tokens;
}

}  // namespace

Result<BlockWeights> LoadBlockWeights(const gguf::ModelFiles& files, const BlockShape& shape,
                                      const gguf::Tensor* embedding, compute::Backend& backend) {
  const LoadProgress no_progress;
  Loader loader(files, shape.layers, backend, no_progress);
  BlockWeights weights = TRY(loader.LoadBlock(shape, embedding));
  if (shape.own_vocab > 0) weights.own_vocab = TRY(ReadOwnVocab(files, shape));
  return weights;
}

Result<Weights> LoadWeights(const gguf::ModelFiles& files, const Slice& slice,
                            compute::Backend& backend, const LoadProgress& progress) {
  const Support support = CheckSupport(files, slice);
  if (!support.ok()) {
    return Unimplemented(
        fmt::format("this model cannot be run: {}", fmt::join(support.obstacles, "; ")));
  }
  const Shape& shape = *support.shape;
  if (slice.layer_begin >= slice.layer_end || slice.layer_end > shape.layer_count) {
    return InvalidArgument(fmt::format("layers {} to {} of a model of {} layers", slice.layer_begin,
                                       slice.layer_end, shape.layer_count));
  }
  TRY(CheckGroup(slice.part, shape));
  TRY(CheckFirstLayer(slice, shape));
  return Loader(files, shape, backend, progress).Load(slice);
}

}  // namespace aster::model
