// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/reference/reference_gemma4_for_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <string>

#include "model/reference/reference_math_for_test.h"

namespace aster::model {
namespace {

using reference::Add;
using reference::Gelu;
using reference::Multiply;
using reference::Normalise;
using reference::Rotate;
using reference::Row;
using reference::Scale;

class Gemma4 {
 public:
  Gemma4(const gguf::ModelFiles& files, const Shape& shape)
      : weights_(files),
        shape_(shape),
        factors_(weights_["rope_freqs.weight"]),
        keys_(shape.layer_count),
        values_(shape.layer_count) {}

  Row Logits(int32_t token, size_t position) {
    token_ = token;
    position_ = position;
    const auto& embedding = weights_["token_embd.weight"];
    const auto first = embedding.begin() + static_cast<ptrdiff_t>(token) * shape_.embedding;
    embedded_.assign(first, first + shape_.embedding);
    // The square root of the tests' width needs no rounding: 16.
    Scale(embedded_, std::sqrt(static_cast<double>(shape_.embedding)));
    Row x = embedded_;
    for (layer_ = 0; layer_ < shape_.layer_count; ++layer_) AddLayer(x);
    Normalise(x, weights_["output_norm.weight"], shape_.norm_epsilon);
    Row logits = Multiply(embedding, x, shape_.vocab_size);
    const double cap = shape_.logit_cap;
    for (double& logit : logits) logit = cap * std::tanh(logit / cap);
    return logits;
  }

 private:
  bool SeesAll(uint32_t layer) const { return (layer + 1) % shape_.full_every == 0; }
  uint32_t FirstSharing() const { return shape_.layer_count - shape_.kinds.sharing; }

  const std::vector<float>& Layer(std::string_view name) const {
    return weights_[fmt::format("blk.{}.{}", layer_, name)];
  }
  Row Normalised(Row x, std::string_view weight) const {
    Normalise(x, Layer(weight), shape_.norm_epsilon);
    return x;
  }

  void AddLayer(Row& x) {
    const Row attended = Attention(Normalised(x, "attn_norm.weight"));
    Add(x, Normalised(attended, "post_attention_norm.weight"));
    const bool shares = layer_ >= FirstSharing();
    const size_t width = shares ? shape_.kinds.sharing_feed_forward : shape_.feed_forward;
    Row gate = Multiply(Layer("ffn_gate.weight"), Normalised(x, "ffn_norm.weight"), width);
    const Row up = Multiply(Layer("ffn_up.weight"), Normalised(x, "ffn_norm.weight"), width);
    for (size_t i = 0; i < width; ++i) gate[i] = Gelu(gate[i]) * up[i];
    Row fed = Multiply(Layer("ffn_down.weight"), gate, shape_.embedding);
    if (shape_.experts.count > 0) {
      fed = Normalised(fed, "post_ffw_norm_1.weight");
      Add(fed, Normalised(Mixture(x), "post_ffw_norm_2.weight"));
    }
    Add(x, Normalised(fed, "post_ffw_norm.weight"));
    if (shape_.kinds.input > 0) AddInput(x);
    Scale(x, double{Layer("layer_output_scale.weight")[0]});
  }

  // Norms all heads of a row, and applies RoPE to those of queries and keys.
  void FinishHeads(Row& rows, size_t dim, const std::vector<float>& norm, bool rotates) const {
    const Rope& rope = SeesAll(layer_) ? shape_.rope : shape_.window_rope;
    const std::vector<float> none;
    for (size_t i = 0; i < rows.size(); i += dim) {
      const std::span<double> head(rows.data() + i, dim);
      Normalise(head, norm, shape_.norm_epsilon);
      if (rotates) Rotate(head, rope, SeesAll(layer_) ? factors_ : none, false, position_);
    }
  }

  Row Attention(const Row& x) {
    const bool is_full = SeesAll(layer_);
    const size_t dim = is_full ? shape_.head_dim : shape_.kinds.window_head_dim;
    const size_t kv_heads = is_full ? shape_.kv_head_count : shape_.kinds.window_kv_heads;
    Row query = Multiply(Layer("attn_q.weight"), x, shape_.head_count * dim);
    FinishHeads(query, dim, Layer("attn_q_norm.weight"), true);
    uint32_t source = layer_;
    if (layer_ >= FirstSharing()) {
      source = FirstSharing() - 1;
      while (SeesAll(source) != is_full) --source;
    } else {
      Row key = Multiply(Layer("attn_k.weight"), x, kv_heads * dim);
      const bool takes_keys = shape_.kinds.keys_are_values && is_full;
      Row value = takes_keys ? key : Multiply(Layer("attn_v.weight"), x, kv_heads * dim);
      FinishHeads(key, dim, Layer("attn_k_norm.weight"), true);
      FinishHeads(value, dim, std::vector<float>(dim, 1.0f), false);
      keys_[layer_].push_back(std::move(key));
      values_[layer_].push_back(std::move(value));
    }
    Row out(query.size());
    for (size_t head = 0; head < shape_.head_count; ++head) {
      const size_t kv = head / (shape_.head_count / kv_heads) * dim;
      AttendHead(query, head * dim, kv, source, dim, out);
    }
    return Multiply(Layer("attn_output.weight"), out, shape_.embedding);
  }

  void AttendHead(const Row& query, size_t first, size_t kv, uint32_t source, size_t dim,
                  Row& out) const {
    const size_t count = keys_[source].size();
    const bool has_window = !SeesAll(layer_) && count > shape_.sliding_window;
    const size_t begin = has_window ? count - shape_.sliding_window : 0;
    double sum = 0;
    for (size_t t = begin; t < count; ++t) {
      double score = 0;
      for (size_t i = 0; i < dim; ++i) score += query[first + i] * keys_[source][t][kv + i];
      const double share = std::exp(score * double{shape_.attention_scale});
      sum += share;
      for (size_t i = 0; i < dim; ++i) out[first + i] += share * values_[source][t][kv + i];
    }
    for (size_t i = 0; i < dim; ++i) out[first + i] /= sum;
  }

  Row Mixture(const Row& x) const {
    Row routed = Normalised(x, "ffn_gate_inp.scale");
    Scale(routed, 1.0 / std::sqrt(static_cast<double>(shape_.embedding)));
    Row scores = Multiply(Layer("ffn_gate_inp.weight"), routed, shape_.experts.count);
    for (double& score : scores) score = std::exp(score);
    std::vector<size_t> order(scores.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](size_t a, size_t b) { return scores[a] > scores[b]; });
    order.resize(shape_.experts.used);
    double sum = 0;
    for (const size_t expert : order) sum += scores[expert];
    const Row in = Normalised(x, "pre_ffw_norm_2.weight");
    const size_t width = shape_.experts.feed_forward, size = width * shape_.embedding;
    const bool is_fused = shape_.experts.fused;
    const auto& gates = Layer(is_fused ? "ffn_gate_up_exps.weight" : "ffn_gate_exps.weight");
    const auto& ups = is_fused ? gates : Layer("ffn_up_exps.weight");
    const auto& down = Layer("ffn_down_exps.weight");
    const auto& scales = Layer("ffn_down_exps.scale");
    Row out(shape_.embedding);
    for (const size_t expert : order) {
      const size_t first = is_fused ? 2 * expert * size : expert * size;
      Row gate = Multiply(gates, in, width, first);
      const Row up = Multiply(ups, in, width, is_fused ? first + size : first);
      for (size_t i = 0; i < width; ++i) gate[i] = Gelu(gate[i]) * up[i];
      Row y = Multiply(down, gate, shape_.embedding, expert * size);
      Scale(y, double{scales[expert]} * scores[expert] / sum);
      Add(out, y);
    }
    return out;
  }

  void AddInput(Row& x) const {
    const size_t width = shape_.kinds.input, all = width * shape_.layer_count;
    Row input = Multiply(weights_["per_layer_model_proj.weight"], embedded_, width,
                         layer_ * width * shape_.embedding);
    Scale(input, 1.0 / std::sqrt(static_cast<double>(shape_.embedding)));
    Normalise(input, weights_["per_layer_proj_norm.weight"], shape_.norm_epsilon);
    const auto& embedding = weights_["per_layer_token_embd.weight"];
    const size_t first = static_cast<size_t>(token_) * all + layer_ * width;
    for (size_t i = 0; i < width; ++i)
      input[i] += double{embedding[first + i]} * std::sqrt(static_cast<double>(width));
    Row gate = Multiply(Layer("inp_gate.weight"), x, width);
    for (size_t i = 0; i < width; ++i) gate[i] = Gelu(gate[i]) * input[i] / std::numbers::sqrt2;
    Add(x, Normalised(Multiply(Layer("proj.weight"), gate, shape_.embedding), "post_norm.weight"));
  }

  reference::Weights weights_;
  const Shape& shape_;
  const std::vector<float> factors_;  // [rope.dimensions / 2]
  int32_t token_ = 0;
  size_t position_ = 0;
  Row embedded_;
  uint32_t layer_ = 0;
  std::vector<std::vector<Row>> keys_;    // [layers][tokens]
  std::vector<std::vector<Row>> values_;  // [layers][tokens]
};

}  // namespace

std::vector<double> Gemma4ReferenceLogits(const gguf::ModelFiles& files, const Shape& shape,
                                          std::span<const int32_t> tokens) {
  Gemma4 reference(files, shape);
  std::vector<double> logits;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Row row = reference.Logits(tokens[i], i);
    logits.insert(logits.end(), row.begin(), row.end());
  }
  return logits;
}

}  // namespace aster::model
