// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/reference/reference_for_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <string>

#include "model/reference/reference_gemma4_for_test.h"
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

double Silu(double x) { return x / (1.0 + std::exp(-x)); }

// Joins gate and up of an expert of gpt-oss.
double Gated(double gate, double up) {
  const double g = std::min(gate, 7.0);
  return g / (1.0 + std::exp(-1.702 * g)) * (std::clamp(up, -7.0, 7.0) + 1.0);
}

void AddPart(Row& x, const std::vector<float>& all, size_t first) {
  for (size_t i = 0; i < x.size(); ++i) x[i] += double{all[first + i]};
}

class Reference {
 public:
  Reference(const gguf::ModelFiles& files, const Shape& shape)
      : weights_(files),
        shape_(shape),
        keys_(shape.layer_count + 1),
        values_(shape.layer_count + 1) {
    const bool is_longer = shape.context_length > shape.rope.original_context;
    if (IsPhi())
      factors_ = weights_[fmt::format("rope_factors_{}.weight", is_longer ? "long" : "short")];
  }

  Row Logits(int32_t token, size_t position) {
    const auto& embedding = weights_["token_embd.weight"];
    const auto first = embedding.begin() + static_cast<ptrdiff_t>(token) * shape_.embedding;
    Row x(first, first + shape_.embedding);
    // The square root of the tests' width needs no rounding: 16.
    if (IsGemma()) Scale(x, std::sqrt(static_cast<double>(shape_.embedding)));
    for (layer_ = 0; layer_ < shape_.layer_count; ++layer_)
      IsGemma() ? GemmaLayer(x, position) : PlainLayer(x, position);
    Normalise(x, weights_["output_norm.weight"], shape_.norm_epsilon);
    Row logits =
        Multiply(shape_.tied_head ? embedding : weights_["output.weight"], x, shape_.vocab_size);
    const double cap = shape_.logit_cap;
    for (double& logit : logits) logit = cap > 0 ? cap * std::tanh(logit / cap) : logit;
    return logits;
  }

  // The MTP block's output for a token and the row of the token before it.
  Row Draft(int32_t token, Row behind, const std::string& norm, size_t position) {
    layer_ = shape_.layer_count;
    const auto& embedding = weights_["token_embd.weight"];
    const auto first = embedding.begin() + static_cast<ptrdiff_t>(token) * shape_.embedding;
    Row joined = Normalised(Row(first, first + shape_.embedding), "nextn.enorm.weight");
    Normalise(behind, weights_[norm], shape_.norm_epsilon);
    Normalise(behind, Layer("nextn.hnorm.weight"), shape_.norm_epsilon);
    joined.insert(joined.end(), behind.begin(), behind.end());
    Row x = Multiply(Layer("nextn.eh_proj.weight"), joined, shape_.embedding);
    PlainLayer(x, position);
    const bool is_mimo = shape_.arch == Arch::kMimo2;
    x = Normalised(x, is_mimo ? "layer_output_norm.weight" : "nextn.shared_head_norm.weight");
    return Multiply(weights_[shape_.tied_head ? "token_embd.weight" : "output.weight"], x,
                    shape_.vocab_size);
  }

 private:
  void PlainLayer(Row& x, size_t position) {
    Add(x, AnyAttention(Normalised(x, "attn_norm.weight"), position));
    const Arch arch = shape_.arch;
    const bool is_behind = arch == Arch::kGptOss || arch == Arch::kGlm4Moe || IsQwenNext();
    const char* const norm = is_behind ? "post_attention_norm.weight" : "ffn_norm.weight";
    Add(x, FeedForward(Normalised(x, norm)));
  }

  bool IsLlamaLike() const { return shape_.arch == Arch::kLlama || shape_.arch == Arch::kMistral3; }
  bool IsQwenNext() const { return shape_.recurrence.full_every > 0; }
  bool IsPhi() const { return shape_.arch == Arch::kPhi3; }
  bool IsGemma() const { return shape_.arch == Arch::kGemma2 || shape_.arch == Arch::kGemma3; }
  // The last layer of every few sees all rows; the others have a window, and in Gemma another RoPE.
  bool HasWindow() const {
    if (IsPhi()) return shape_.sliding_window > 0;
    return shape_.full_every > 0 && layer_ % shape_.full_every != shape_.full_every - 1;
  }

  // Each half has a norm before it and one after it.
  void GemmaLayer(Row& x, size_t position) {
    const Row attended = Attention(Normalised(x, "attn_norm.weight"), position);
    Add(x, Normalised(attended, "post_attention_norm.weight"));
    const Row fed = Network(Normalised(x, "ffn_norm.weight"), ".weight", shape_.feed_forward, 0);
    Add(x, Normalised(fed, "post_ffw_norm.weight"));
  }

  const std::vector<float>& Layer(std::string_view name) const {
    return weights_[fmt::format("blk.{}.{}", layer_, name)];
  }

  Row Normalised(Row x, std::string_view weight) const {
    Normalise(x, Layer(weight), shape_.norm_epsilon);
    return x;
  }

  // Projects, and adds the bias if the architecture has one. In Phi 3 the rows are in one matrix,
  // from head `first` on.
  Row Project(const Row& x, const std::string& name, size_t heads, size_t first) const {
    if (IsPhi()) {
      return Multiply(Layer("attn_qkv.weight"), x, heads * shape_.head_dim,
                      first * shape_.head_dim * shape_.embedding);
    }
    Row y = Multiply(Layer(name + ".weight"), x, heads * shape_.head_dim);
    if (shape_.qkv_bias()) {
      const auto& bias = Layer(name + ".bias");
      for (size_t i = 0; i < y.size(); ++i) y[i] += double{bias[i]};
    }
    return y;
  }

  void FinishHeads(Row& rows, const std::string& norm, size_t position) const {
    // In MiniMax over all heads at once.
    if (shape_.arch == Arch::kMiniMaxM2) Normalise(rows, Layer(norm), shape_.norm_epsilon);
    for (size_t i = 0; i < rows.size(); i += shape_.head_dim) {
      const std::span<double> head(rows.data() + i, shape_.head_dim);
      if (shape_.qk_norm()) Normalise(head, Layer(norm), shape_.norm_epsilon);
      const Rope& rope =
          shape_.arch == Arch::kGemma3 && HasWindow() ? shape_.window_rope : shape_.rope;
      Rotate(head, rope, factors_, IsLlamaLike(), position);
    }
  }

  Row AnyAttention(const Row& x, size_t position) {
    if (shape_.arch == Arch::kMimo2) return Mimo2Attention(x, position);
    if (HasMla(shape_.arch)) return SharedRowAttention(x, position);
    const uint32_t every = shape_.recurrence.full_every;
    return every > 0 && layer_ % every != every - 1 ? DeltaNet(x) : Attention(x, position);
  }

  // MiMo 2: layers with a window have more heads for keys and values, and a sink for each; values
  // are narrower than keys, and scaled.
  Row Mimo2Attention(const Row& x, size_t position) {
    const bool has_window = layer_ > 0 && (layer_ + 1) % shape_.full_every != 0;
    const size_t heads = shape_.head_count, dim = shape_.head_dim, width = shape_.kinds.value_dim;
    const size_t kv_heads = has_window ? shape_.kinds.window_kv_heads : shape_.kv_head_count;
    // Files may have one matrix: queries, then keys, then values.
    const bool fused = shape_.kinds.fused;
    const auto project = [&](const char* name, size_t outputs, size_t before) {
      return Multiply(Layer(fused ? "attn_qkv.weight" : name), x, outputs,
                      fused ? before * shape_.embedding : 0);
    };
    Row query = project("attn_q.weight", heads * dim, 0);
    Row key = project("attn_k.weight", kv_heads * dim, heads * dim);
    Row value = project("attn_v.weight", kv_heads * width, (heads + kv_heads) * dim);
    Scale(value, double{shape_.kinds.value_scale});
    for (Row* rows : {&query, &key}) {
      for (size_t i = 0; i < rows->size(); i += dim)
        Rotate(std::span(*rows).subspan(i, dim), has_window ? shape_.window_rope : shape_.rope, {},
               false, position);
    }
    keys_[layer_].push_back(std::move(key));
    values_[layer_].push_back(std::move(value));
    const size_t count = keys_[layer_].size();
    const size_t first =
        has_window && count > shape_.sliding_window ? count - shape_.sliding_window : 0;
    Row out(heads * width);
    for (size_t head = 0; head < heads; ++head) {
      const size_t kv = head / (heads / kv_heads);
      double sum = has_window ? std::exp(double{Layer("attn_sinks.weight")[head]}) : 0.0;
      Row attended(width);
      for (size_t t = first; t < count; ++t) {
        double score = 0;
        for (size_t i = 0; i < dim; ++i)
          score += query[head * dim + i] * keys_[layer_][t][kv * dim + i];
        const double share = std::exp(score / std::sqrt(static_cast<double>(dim)));
        sum += share;
        for (size_t i = 0; i < width; ++i)
          attended[i] += share * values_[layer_][t][kv * width + i];
      }
      for (size_t i = 0; i < width; ++i) out[head * width + i] = attended[i] / sum;
    }
    return Multiply(Layer("attn_output.weight"), out, shape_.embedding);
  }

  // In Qwen3-Next the rows of each head's query and gate alternate.
  Row GatedQuery(const Row& x, Row& gate) const {
    const size_t dim = shape_.head_dim;
    const Row both = Multiply(Layer("attn_q.weight"), x, 2 * shape_.head_count * dim);
    Row query;
    for (size_t i = 0; i < both.size(); ++i) (i / dim % 2 == 0 ? query : gate).push_back(both[i]);
    return query;
  }

  Row Attention(const Row& x, size_t position) {
    const size_t key_heads = shape_.kv_head_count;
    Row gate;
    Row query = IsQwenNext() ? GatedQuery(x, gate) : Project(x, "attn_q", shape_.head_count, 0);
    Row key = Project(x, "attn_k", key_heads, shape_.head_count);
    FinishHeads(query, "attn_q_norm.weight", position);
    // In Mistral 3 queries grow with every multiple of the original context.
    if (shape_.temperature > 0) {
      const auto stretch = static_cast<double>(position / shape_.rope.original_context);
      Scale(query, 1.0 + double{shape_.temperature} * std::log(1.0 + stretch));
    }
    FinishHeads(key, "attn_k_norm.weight", position);
    keys_[layer_].push_back(std::move(key));
    values_[layer_].push_back(Project(x, "attn_v", key_heads, shape_.head_count + key_heads));
    Row out(query.size());
    for (size_t head = 0; head < shape_.head_count; ++head) AttendHead(query, head, out);
    for (size_t i = 0; i < gate.size(); ++i) out[i] /= 1.0 + std::exp(-gate[i]);
    Row y = Multiply(Layer("attn_output.weight"), out, shape_.embedding);
    if (shape_.arch == Arch::kGptOss) AddPart(y, Layer("attn_output.bias"), 0);
    return y;
  }

  // One of the key heads' rows, of length 1.
  static Row Direction(const Row& channels, size_t first, size_t dim) {
    Row row(channels.begin() + static_cast<ptrdiff_t>(first),
            channels.begin() + static_cast<ptrdiff_t>(first + dim));
    double squares = 1e-6;
    for (const double value : row) squares += value * value;
    Scale(row, 1.0 / std::sqrt(squares));
    return row;
  }

  // The layer's projections, in the order of attn_qkv and attn_gate, and of the heads' betas and
  // times. Qwen3-Next has them by key heads.
  struct Projected {
    Row mixed, gate, betas, times;
  };
  Projected Project(const Row& x) const {
    const Recurrence& of = shape_.recurrence;
    const size_t keys = size_t{of.key_heads} * of.key_dim;
    const size_t heads = of.value_heads, ratio = heads / of.key_heads;
    const size_t values = heads * of.value_dim;
    Projected made;
    if (of.one_matrix) {
      const size_t step = 2 * (of.key_dim + ratio * of.value_dim);
      const Row all = Multiply(Layer("ssm_in.weight"), x, 2 * (keys + values));
      Row parts[4];
      for (size_t i = 0; i < all.size(); ++i) {
        const size_t place = i % step, behind = 2 * of.key_dim;
        const size_t part =
            place < behind ? place / of.key_dim : 2 + (place - behind) / (ratio * of.value_dim);
        parts[part].push_back(all[i]);
      }
      made.gate = parts[3];
      for (const Row& part : {parts[0], parts[1], parts[2]})
        made.mixed.insert(made.mixed.end(), part.begin(), part.end());
    } else {
      made.mixed = Multiply(Layer("attn_qkv.weight"), x, 2 * keys + values);
      made.gate = Multiply(Layer("attn_gate.weight"), x, values);
    }
    if (shape_.arch == Arch::kQwen3Next) {
      const Row both = Multiply(Layer("ssm_ba.weight"), x, 2 * heads);
      for (size_t i = 0; i < both.size(); ++i)
        (i / ratio % 2 == 0 ? made.betas : made.times).push_back(both[i]);
    } else {
      made.betas = Multiply(Layer("ssm_beta.weight"), x, heads);
      made.times = Multiply(Layer("ssm_alpha.weight"), x, heads);
    }
    return made;
  }

  // The delta rule: a state for every head decays, and then adds what is missing for the new value.
  Row DeltaNet(const Row& x) {
    const Recurrence& of = shape_.recurrence;
    const size_t keys = size_t{of.key_heads} * of.key_dim;
    const Projected made = Project(x);
    keys_[layer_].push_back(made.mixed);
    Row channels(made.mixed.size());
    const auto& taps = Layer("ssm_conv1d.weight");
    for (size_t i = 0; i < channels.size(); ++i) {
      for (size_t t = 0; t < of.taps && t < keys_[layer_].size(); ++t)
        channels[i] += double{taps[i * of.taps + of.taps - 1 - t]} *
                       keys_[layer_][keys_[layer_].size() - 1 - t][i];
      channels[i] = Silu(channels[i]);
    }
    values_[layer_].resize(of.value_heads, Row(size_t{of.key_dim} * of.value_dim));
    const auto &rates = Layer("ssm_a"), &bias = Layer("ssm_dt.bias"),
               &norm = Layer("ssm_norm.weight");
    Row out;
    for (size_t head = 0; head < of.value_heads; ++head) {
      const size_t key_head = shape_.arch == Arch::kQwen3Next
                                  ? head / (of.value_heads / of.key_heads)
                                  : head % of.key_heads;
      const Row query = Direction(channels, key_head * of.key_dim, of.key_dim);
      const Row key = Direction(channels, keys + key_head * of.key_dim, of.key_dim);
      const double time = std::log1p(std::exp(made.times[head] + double{bias[head]}));
      Row& state = values_[layer_][head];
      Scale(state, std::exp(double{rates[head]} * time));
      const double beta = 1.0 / (1.0 + std::exp(-made.betas[head]));
      Row found(of.value_dim);
      for (size_t v = 0; v < of.value_dim; ++v) {
        double seen = 0;
        for (size_t k = 0; k < of.key_dim; ++k) seen += key[k] * state[k * of.value_dim + v];
        const double lacks = beta * (channels[2 * keys + head * of.value_dim + v] - seen);
        for (size_t k = 0; k < of.key_dim; ++k) {
          state[k * of.value_dim + v] += key[k] * lacks;
          found[v] += query[k] / std::sqrt(of.key_dim) * state[k * of.value_dim + v];
        }
      }
      Normalise(found, norm, shape_.norm_epsilon);
      out.insert(out.end(), found.begin(), found.end());
    }
    for (size_t i = 0; i < out.size(); ++i) out[i] *= Silu(made.gate[i]);
    return Multiply(Layer("ssm_out.weight"), out, shape_.embedding);
  }

  // DeepSeek V2 and V3: keys and values of every head are made of one row, as in its paper.
  Row SharedRowAttention(const Row& x, size_t position) {
    const size_t unrotated = shape_.mla.key_dim, rope_dims = shape_.rope.dimensions;
    const size_t rank = shape_.mla.row_rank, of_head = unrotated + rope_dims;
    Rope unscaled = shape_.rope;  // scores have the magnitude
    unscaled.log_multiplier = 1.0f;
    Row query = SharedRowQuery(x, of_head);
    for (size_t head = 0; head < shape_.head_count; ++head) {
      const std::span<double> part(query.data() + head * of_head + unrotated, rope_dims);
      Rotate(part, unscaled, {}, true, position);
    }
    Row row = Multiply(Layer("attn_kv_a_mqa.weight"), x, rank + rope_dims);
    Normalise(std::span(row).first(rank), Layer("attn_kv_a_norm.weight"), shape_.norm_epsilon);
    Rotate(std::span(row).subspan(rank), unscaled, {}, true, position);
    keys_[layer_].push_back(std::move(row));
    if (HasIndex()) ChooseRows(x, unscaled, position);
    Row out;
    for (size_t head = 0; head < shape_.head_count; ++head) {
      const Row part(query.begin() + static_cast<ptrdiff_t>(head * of_head),
                     query.begin() + static_cast<ptrdiff_t>((head + 1) * of_head));
      const Row attended = SharedRowHead(part, head);
      out.insert(out.end(), attended.begin(), attended.end());
    }
    return Multiply(Layer("attn_output.weight"), out, shape_.embedding);
  }

  Row SharedRowQuery(const Row& x, size_t of_head) const {
    const size_t all = shape_.head_count * of_head, rank = shape_.mla.query_rank;
    if (rank == 0) return Multiply(Layer("attn_q.weight"), x, all);
    return Multiply(Layer("attn_q_b.weight"), LowQuery(x), all);
  }

  Row LowQuery(const Row& x) const {
    const Row low = Multiply(Layer("attn_q_a.weight"), x, shape_.mla.query_rank);
    return Normalised(low, "attn_q_a_norm.weight");
  }

  // An MTP block sees fewer rows than an index would choose.
  bool HasIndex() const { return shape_.index.heads > 0 && layer_ < shape_.layer_count; }
  // The rows that an index ranks highest; layers without an index use the last choice.
  void ChooseRows(const Row& x, const Rope& unscaled, size_t position) {
    if (shape_.index.own[layer_] == 0) return;
    const size_t heads = shape_.index.heads, dim = shape_.index.dim;
    Row row = Multiply(Layer("indexer.attn_k.weight"), x, dim);
    reference::NormaliseLayer(row, Layer("indexer.k_norm.weight"), Layer("indexer.k_norm.bias"));
    const bool adjacent = shape_.arch == Arch::kGlmDsa;  // or by halves
    Rotate(row, unscaled, {}, adjacent, position);
    values_[layer_].push_back(std::move(row));
    Row query = Multiply(Layer("indexer.attn_q_b.weight"), LowQuery(x), heads * dim);
    for (size_t head = 0; head < heads; ++head)
      Rotate(std::span(query).subspan(head * dim, dim), unscaled, {}, adjacent, position);
    const Row shares = Multiply(Layer("indexer.proj.weight"), x, heads);
    std::vector<std::pair<double, size_t>> ranks;  // negative
    for (const Row& other : values_[layer_]) {
      double rank = 0;
      for (size_t head = 0; head < heads; ++head) {
        double product = 0;
        for (size_t i = 0; i < dim; ++i) product += query[head * dim + i] * other[i];
        rank += std::max(product, 0.0) * shares[head];
      }
      ranks.emplace_back(-rank, ranks.size());
    }
    std::sort(ranks.begin(), ranks.end());
    ranks.resize(std::min<size_t>(ranks.size(), shape_.index.top));
    is_seen_.assign(values_[layer_].size(), false);
    for (const auto& [rank, token] : ranks) is_seen_[token] = true;
  }

  Row SharedRowHead(const Row& query, size_t head) const {
    const size_t unrotated = shape_.mla.key_dim, width = shape_.mla.value_dim;
    const size_t rank = shape_.mla.row_rank, rope_dims = shape_.rope.dimensions;
    const bool is_joint = shape_.kinds.fused;
    const auto& key_matrix = Layer(is_joint ? "attn_kv_b.weight" : "attn_k_b.weight");
    const auto& value_matrix = is_joint ? key_matrix : Layer("attn_v_b.weight");
    const size_t keys_at = head * (unrotated + width) * rank;  // if both are in one tensor
    const size_t values_at = is_joint ? keys_at + unrotated * rank : head * width * rank;
    double size = 1.0;
    if (shape_.rope.scaling == RopeScaling::kYarn)
      size += double{shape_.rope.log_multiplier} * std::log(double{shape_.rope.factor});
    const double scale = size * size / std::sqrt(static_cast<double>(unrotated + rope_dims));
    Row out(width);
    double sum = 0;
    for (size_t token = 0; token < keys_[layer_].size(); ++token) {
      if (HasIndex() && !is_seen_[token]) continue;
      const Row& row = keys_[layer_][token];
      double score = 0;
      for (size_t i = 0; i < unrotated; ++i) {
        double key = 0;
        for (size_t r = 0; r < rank; ++r)
          key += double{key_matrix[is_joint ? keys_at + i * rank + r
                                            : (head * rank + r) * unrotated + i]} *
                 row[r];
        score += query[i] * key;
      }
      for (size_t i = 0; i < rope_dims; ++i) score += query[unrotated + i] * row[rank + i];
      const double share = std::exp(score * scale);
      const Row low(row.begin(), row.begin() + static_cast<ptrdiff_t>(rank));
      Row value = Multiply(value_matrix, low, width, values_at);
      Scale(value, share);
      Add(out, value);
      sum += share;
    }
    Scale(out, 1.0 / sum);
    return out;
  }

  void AttendHead(const Row& query, size_t head, Row& out) const {
    const size_t dim = shape_.head_dim;
    const size_t kv = head / (shape_.head_count / shape_.kv_head_count) * dim;
    const double cap = shape_.attention_cap;
    const double scale =
        IsGemma() ? double{shape_.attention_scale} : 1 / std::sqrt(static_cast<double>(dim));
    Row shares;
    const size_t count = keys_[layer_].size();
    for (size_t t = 0; t < count; ++t) {
      if (HasWindow() && t + shape_.sliding_window < count) {
        shares.push_back(0);
        continue;
      }
      const Row& key = keys_[layer_][t];
      double score = 0;
      for (size_t i = 0; i < dim; ++i) score += query[head * dim + i] * key[kv + i];
      score *= scale;
      shares.push_back(std::exp(cap > 0 ? cap * std::tanh(score / cap) : score));
    }
    double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
    if (shape_.arch == Arch::kGptOss) sum += std::exp(double{Layer("attn_sinks.weight")[head]});
    for (size_t t = 0; t < shares.size(); ++t) {
      for (size_t i = 0; i < dim; ++i)
        out[head * dim + i] += shares[t] / sum * values_[layer_][t][kv + i];
    }
  }

  Row Network(const Row& x, const std::string& suffix, size_t width, size_t expert) const {
    const size_t size = width * shape_.embedding, first = expert * size;
    const bool is_fused = shape_.experts.fused && suffix == "_exps.weight";
    const bool one = is_fused || IsPhi();  // matrix, for each expert its gates first
    const std::string ups = (is_fused ? "ffn_gate_up" : "ffn_up") + suffix;
    Row gate = Multiply(Layer(one ? ups : "ffn_gate" + suffix), x, width, one ? 2 * first : first);
    const Row up = Multiply(Layer(ups), x, width, one ? 2 * first + size : first);
    for (size_t i = 0; i < width; ++i)
      gate[i] = (IsGemma() ? Gelu(gate[i]) : Silu(gate[i])) * up[i];
    return Multiply(Layer("ffn_down" + suffix), gate, shape_.embedding, first);
  }

  Row OssExpert(const Row& x, size_t expert) const {
    const size_t width = shape_.experts.feed_forward, first = expert * width * shape_.embedding;
    Row gate = Multiply(Layer("ffn_gate_exps.weight"), x, width, first);
    Row up = Multiply(Layer("ffn_up_exps.weight"), x, width, first);
    AddPart(gate, Layer("ffn_gate_exps.bias"), expert * width);
    AddPart(up, Layer("ffn_up_exps.bias"), expert * width);
    for (size_t i = 0; i < width; ++i) gate[i] = Gated(gate[i], up[i]);
    Row down = Multiply(Layer("ffn_down_exps.weight"), gate, shape_.embedding, first);
    AddPart(down, Layer("ffn_down_exps.bias"), expert * shape_.embedding);
    return down;
  }

  // DeepSeek V2 and V3: groups are ranked by their best expert or, with a bias, by their best two.
  std::vector<size_t> OfBestGroups(const Row& scores, const std::vector<float>& bias) const {
    const size_t groups = shape_.experts.groups, size = scores.size() / groups;
    std::vector<std::pair<double, size_t>> ranks;  // negative
    for (size_t group = 0; group < groups; ++group) {
      Row keys;
      for (size_t i = group * size; i < (group + 1) * size; ++i)
        keys.push_back(-scores[i] - double{bias[i]});
      std::sort(keys.begin(), keys.end());
      ranks.emplace_back(keys[0] + (shape_.experts.choice_bias ? keys[1] : 0.0), group);
    }
    std::sort(ranks.begin(), ranks.end());
    std::vector<size_t> experts;
    for (size_t i = 0; i < shape_.experts.used_groups; ++i) {
      for (size_t k = 0; k < size; ++k) experts.push_back(ranks[i].second * size + k);
    }
    std::sort(experts.begin(), experts.end());
    return experts;
  }

  // GLM, MiniMax and DeepSeek V3: every expert is scored by itself, with a bias for the choice
  // only. V2: softmax shares over all, not normalised.
  Row MixtureByKeys(const Row& x) const {
    Row scores = Multiply(Layer("ffn_gate_inp.weight"), x, shape_.experts.count);
    std::vector<float> bias(scores.size());
    if (shape_.experts.choice_bias) bias = Layer("exp_probs_b.bias");
    const bool is_softmax = shape_.experts.score == kernels::RouterScore::kSoftmax;
    for (double& score : scores)
      score = is_softmax ? std::exp(score) : 1.0 / (1.0 + std::exp(-score));
    const double all = std::accumulate(scores.begin(), scores.end(), 0.0);
    std::vector<size_t> order = OfBestGroups(scores, bias);
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return scores[a] + double{bias[a]} > scores[b] + double{bias[b]};
    });
    order.resize(shape_.experts.used);
    double sum = 0;
    for (const size_t expert : order) sum += scores[expert];
    const size_t width = shape_.experts.feed_forward;
    Row out(shape_.embedding);
    if (!shape_.experts.normalized) sum = is_softmax ? all : 1.0;
    const size_t shared = width * shape_.experts.shared;
    if (shared > 0) out = Network(x, "_shexp.weight", shared, 0);
    for (const size_t expert : order) {
      Row y = Network(x, "_exps.weight", width, expert);
      Scale(y, double{shape_.experts.scale} * scores[expert] / sum);
      Add(out, y);
    }
    return out;
  }

  Row FeedForward(const Row& x) const {
    const bool is_dense_block = layer_ == shape_.layer_count && shape_.arch == Arch::kMimo2;
    if (shape_.experts.count == 0 || layer_ < shape_.experts.dense_layers || is_dense_block)
      return Network(x, ".weight", shape_.feed_forward, 0);
    if (HasRouterKeys(shape_.arch)) return MixtureByKeys(x);
    Row scores = Multiply(Layer("ffn_gate_inp.weight"), x, shape_.experts.count);
    if (shape_.arch == Arch::kGptOss) AddPart(scores, Layer("ffn_gate_inp.bias"), 0);
    for (double& score : scores) score = std::exp(score);
    std::vector<size_t> order(scores.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return scores[a] > scores[b]; });
    order.resize(shape_.experts.used);
    double sum = 0;
    for (const size_t expert : order) sum += scores[expert];
    Row out(shape_.embedding);
    for (const size_t expert : order) {
      const Row y = shape_.arch == Arch::kGptOss
                        ? OssExpert(x, expert)
                        : Network(x, "_exps.weight", shape_.experts.feed_forward, expert);
      for (size_t i = 0; i < y.size(); ++i) out[i] += scores[expert] / sum * y[i];
    }
    if (!IsQwenNext()) return out;
    Row y = Network(x, "_shexp.weight", shape_.experts.feed_forward * shape_.experts.shared, 0);
    const Row score = Multiply(Layer("ffn_gate_inp_shexp.weight"), x, 1);
    Scale(y, 1.0 / (1.0 + std::exp(-score[0])));
    Add(out, y);
    return out;
  }

  reference::Weights weights_;
  const Shape& shape_;
  std::vector<float> factors_;  // [rope.dimensions / 2] or none
  uint32_t layer_ = 0;
  std::vector<bool> is_seen_;             // [tokens], by the index's last choice
  std::vector<std::vector<Row>> keys_;    // [layers][tokens]
  std::vector<std::vector<Row>> values_;  // [layers][tokens]
};

}  // namespace

std::vector<double> ReferenceLogits(const gguf::ModelFiles& files, const Shape& shape,
                                    std::span<const int32_t> tokens) {
  if (shape.arch == Arch::kGemma4) return Gemma4ReferenceLogits(files, shape, tokens);
  Reference reference(files, shape);
  std::vector<double> logits;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Row row = reference.Logits(tokens[i], i);
    logits.insert(logits.end(), row.begin(), row.end());
  }
  return logits;
}

std::vector<double> ReferenceDrafts(const gguf::ModelFiles& files, const Shape& shape,
                                    const std::string& norm, std::span<const int32_t> tokens,
                                    std::span<const float> rows) {
  Shape attending = shape;
  if (attending.recurrence.full_every > 0) attending.recurrence.full_every = 1;
  Reference reference(files, attending);
  std::vector<double> logits;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const auto behind = rows.subspan(i * shape.embedding, shape.embedding);
    const Row row = reference.Draft(tokens[i], Row(behind.begin(), behind.end()), norm, i);
    logits.insert(logits.end(), row.begin(), row.end());
  }
  return logits;
}

}  // namespace aster::model
