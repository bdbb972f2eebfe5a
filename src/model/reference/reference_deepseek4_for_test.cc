// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/reference/reference_deepseek4_for_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>
#include <string>

#include "quant/dequantize.h"

namespace aster::model {
namespace {

using Row = std::vector<double>;
using Rows = std::vector<Row>;

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

void Normalise(std::span<double> x, const Row* weight, double epsilon) {
  double squares = 0;
  for (const double value : x) squares += value * value;
  const double factor = 1 / std::sqrt(squares / static_cast<double>(x.size()) + epsilon);
  for (size_t i = 0; i < x.size(); ++i) x[i] *= factor * (weight == nullptr ? 1 : (*weight)[i]);
}

Row FrequenciesOf(const Rope& rope) {
  Row frequencies;
  const double dims = rope.dimensions, base = rope.base;
  const auto pair_of = [&](double turns) {
    return dims * std::log(rope.original_context / (turns * 2 * std::numbers::pi)) /
           (2 * std::log(base));
  };
  for (uint32_t i = 0; i < rope.dimensions / 2; ++i) {
    const double fast = std::pow(base, -2.0 * i / dims);
    double kept = 1;
    if (rope.scaling == RopeScaling::kYarn) {
      const double low = std::max(0.0, std::floor(pair_of(rope.beta_fast)));
      const double high = std::min(dims - 1, std::ceil(pair_of(rope.beta_slow)));
      kept = 1 - std::clamp((i - low) / std::max(0.001, high - low), 0.0, 1.0);
    }
    frequencies.push_back(fast / rope.factor * (1 - kept) + fast * kept);
  }
  return frequencies;
}

// RoPE on the last numbers of x, with neighbours as pairs.
void Rotate(std::span<double> x, const Row& frequencies, double position) {
  const size_t first = x.size() - 2 * frequencies.size();
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const double angle = position * frequencies[i];
    double& a = x[first + 2 * i];
    double& b = x[first + 2 * i + 1];
    const double rotated = a * std::cos(angle) - b * std::sin(angle);
    b = a * std::sin(angle) + b * std::cos(angle);
    a = rotated;
  }
}

// The definition: the sign depends on the number of ones that two indices share.
void Hadamard(std::span<double> x) {
  Row y(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t j = 0; j < x.size(); ++j)
      y[i] += (std::popcount(i & j) % 2 == 0 ? 1 : -1) * x[j] / std::sqrt(x.size());
  }
  std::copy(y.begin(), y.end(), x.begin());
}

Row Held(const kernels::LatentFormat& format, const Row& row) {
  const std::vector<float> values(row.begin(), row.end());
  std::vector<uint8_t> bytes(kernels::LatentRowBytes(format));
  std::vector<float> held(row.size());
  kernels::EncodeLatentRow(format, values.data(), bytes.data());
  const uint8_t* const packed = bytes.data();
  kernels::kLatentRef.decode(format, &packed, 1, held.data(), held.size());
  return {held.begin(), held.end()};
}

// A layer's KV cache.
struct Past {
  Rows window;
  Rows far, compressed_values, compressed_scores;
  Rows index, index_values, index_scores;
};

class Reference {
 public:
  Reference(const gguf::ModelFiles& files, const Shape& shape, const MemoryOptions& memory)
      : files_(files),
        shape_(shape),
        memory_(memory),
        frequencies_(FrequenciesOf(shape.rope)),
        compressed_frequencies_(FrequenciesOf(shape.latent.rope)),
        past_(shape.layer_count + 1) {}

  Row Logits(int32_t token, size_t position) {
    token_ = token;
    position_ = position;
    const Row& embedding = Weights("token_embd.weight");
    const auto first = embedding.begin() + static_cast<ptrdiff_t>(token) * shape_.embedding;
    Rows streams(shape_.streams.count, Row(first, first + shape_.embedding));
    for (layer_ = 0; layer_ < shape_.layer_count; ++layer_) {
      prefix_ = fmt::format("blk.{}.", layer_);
      Half("attn", streams, [&](const Row& x) { return Attention(x); });
      Half("ffn", streams, [&](const Row& x) { return FeedForward(x); });
    }
    prefix_.clear();
    return Head("output_hc_", "output_norm.weight", streams);
  }

  // The MTP block after the last layer; its own first position is 0.
  Row Draft(int32_t token, std::span<const float> behind, size_t position) {
    token_ = token;
    position_ = position;
    layer_ = shape_.layer_count;
    const size_t width = shape_.embedding;
    prefix_.clear();
    const Row& embedding = Weights("token_embd.weight");
    const auto first = embedding.begin() + static_cast<ptrdiff_t>(token) * shape_.embedding;
    const Row embedded(first, first + shape_.embedding);
    prefix_ = fmt::format("blk.{}.", layer_);
    Rows streams;
    for (size_t i = 0; i < shape_.streams.count; ++i) {
      Row joined = embedded;
      Normalise(joined, &Weights("nextn.enorm.weight"), shape_.norm_epsilon);
      Row hidden(behind.begin() + static_cast<ptrdiff_t>(i * width),
                 behind.begin() + static_cast<ptrdiff_t>((i + 1) * width));
      Normalise(hidden, &Weights("nextn.hnorm.weight"), shape_.norm_epsilon);
      joined.insert(joined.end(), hidden.begin(), hidden.end());
      streams.push_back(Multiply("nextn.eh_proj.weight", joined, 0, width));
    }
    Half("attn", streams, [&](const Row& x) { return Attention(x); });
    Half("ffn", streams, [&](const Row& x) { return FeedForward(x); });
    return Head("nextn.hc_head_", "nextn.shared_head_norm.weight", streams);
  }

  // A drafter's block: all of its rows see each other and the context, which is every layer's
  // input. Returns the merged rows after the layers.
  Rows Block(const Rows& context, const Rows& embedded) {
    std::vector<Rows> block;
    for (const Row& row : embedded) block.emplace_back(shape_.streams.count, row);
    for (layer_ = 0; layer_ < shape_.layer_count; ++layer_) {
      prefix_ = fmt::format("blk.{}.", layer_);
      for (position_ = 0; position_ < context.size(); ++position_) KeepRow(context[position_]);
      const auto keep = [&](const Row& x) {
        KeepRow(x);
        return x;
      };
      for (Rows streams : block) {
        Half("attn", streams, keep);
        ++position_;
      }
      position_ = context.size();
      for (Rows& streams : block) {
        Half("attn", streams, [&](const Row& x) { return Attend(x); });
        Half("ffn", streams, [&](const Row& x) { return FeedForward(x); });
        ++position_;
      }
    }
    prefix_.clear();
    Rows merged;
    for (const Rows& streams : block) merged.push_back(Merged("output_hc_", streams));
    return merged;
  }

 private:
  Row Head(const std::string& merge, const std::string& norm, const Rows& streams) {
    Row x = Merged(merge, streams);
    Normalise(x, &Weights(norm), shape_.norm_epsilon);
    prefix_.clear();
    return Multiply("output.weight", x, 0, shape_.vocab_size);
  }

  Row Merged(const std::string& merge, const Rows& streams) {
    const Row mixed = Mixed(merge + "fn.weight", streams);
    Row x(shape_.embedding);
    for (size_t i = 0; i < streams.size(); ++i) {
      const double weight = Sigmoid(mixed[i] * Weights(merge + "scale.weight")[0] +
                                    Weights(merge + "base.weight")[i]) +
                            shape_.streams.epsilon;
      for (size_t e = 0; e < x.size(); ++e) x[e] += weight * streams[i][e];
    }
    return x;
  }

  const Row& Weights(const std::string& name) {
    Row& values = weights_[prefix_ + name];
    if (!values.empty()) return values;
    const gguf::Tensor* tensor = files_.FindTensor(prefix_ + name);
    CHECK_NOTE(tensor != nullptr, prefix_ + name);
    std::vector<float> floats(tensor->element_count);
    CHECK(quant::Dequantize(tensor->type, tensor->data, floats).ok());
    values.assign(floats.begin(), floats.end());
    return values;
  }

  // Rows [first, first + outputs) of a matrix with x.
  Row Multiply(const std::string& name, std::span<const double> x, size_t first, size_t outputs) {
    const Row& weights = Weights(name);
    Row y(outputs);
    for (size_t o = 0; o < outputs; ++o) {
      for (size_t i = 0; i < x.size(); ++i) y[o] += weights[(first + o) * x.size() + i] * x[i];
    }
    return y;
  }

  Row Mixed(const std::string& name, const Rows& streams) {
    Row flat;
    for (const Row& stream : streams) flat.insert(flat.end(), stream.begin(), stream.end());
    Normalise(flat, nullptr, shape_.norm_epsilon);
    return Multiply(name, flat, 0, Weights(name).size() / flat.size());
  }

  template <typename Function>
  void Half(const std::string& half, Rows& streams, const Function& function) {
    const size_t n = streams.size();
    const double epsilon = shape_.streams.epsilon;
    const Row mixed = Mixed("hc_" + half + "_fn.weight", streams);
    const Row& scale = Weights("hc_" + half + "_scale.weight");
    const Row& base = Weights("hc_" + half + "_base.weight");
    Row x(shape_.embedding);
    for (size_t i = 0; i < n; ++i) {
      const double weight = Sigmoid(mixed[i] * scale[0] + base[i]) + epsilon;
      for (size_t e = 0; e < x.size(); ++e) x[e] += weight * streams[i][e];
    }
    Rows square(n, Row(n));
    for (size_t a = 0; a < n; ++a) {
      for (size_t b = 0; b < n; ++b)
        square[a][b] = std::exp(mixed[2 * n + a * n + b] * scale[2] + base[2 * n + a * n + b]);
      const double sum = std::accumulate(square[a].begin(), square[a].end(), 0.0);
      for (double& value : square[a]) value = value / sum + epsilon;
    }
    for (uint32_t i = 0; i < shape_.streams.sinkhorn; ++i) Balance(square, i > 0);
    Normalise(x, &Weights(half == "attn" ? "attn_norm.weight" : "ffn_norm.weight"),
              shape_.norm_epsilon);
    const Row y = function(x);
    const Rows before = streams;
    for (size_t b = 0; b < n; ++b) {
      const double back = 2 * Sigmoid(mixed[n + b] * scale[1] + base[n + b]);
      for (size_t e = 0; e < y.size(); ++e) {
        streams[b][e] = back * y[e];
        for (size_t a = 0; a < n; ++a) streams[b][e] += square[a][b] * before[a][e];
      }
    }
  }

  void Balance(Rows& square, bool rows_too) const {
    for (size_t a = 0; rows_too && a < square.size(); ++a) {
      const double sum =
          std::accumulate(square[a].begin(), square[a].end(), shape_.streams.epsilon);
      for (double& value : square[a]) value /= sum;
    }
    for (size_t b = 0; b < square.size(); ++b) {
      double sum = shape_.streams.epsilon;
      for (const Row& row : square) sum += row[b];
      for (Row& row : square) row[b] /= sum;
    }
  }

  uint32_t RatioHere() const {
    return layer_ < shape_.layer_count ? shape_.latent.ratios[layer_] : 0;
  }
  const Row& FrequenciesHere() const {
    return RatioHere() == 0 ? frequencies_ : compressed_frequencies_;
  }

  Row Attention(const Row& x) {
    const Latent& latent = shape_.latent;
    const uint32_t ratio = RatioHere();
    const size_t dim = shape_.head_dim;
    Past& past = past_[layer_];
    KeepRow(x);
    if (ratio != 0) {
      Compress("attn_compressor_", x, dim, past.compressed_values, past.compressed_scores);
      if ((position_ + 1) % ratio == 0)
        past.far.push_back(
            NewRow("attn_compressor_", dim, past.compressed_values, past.compressed_scores));
    }
    if (ratio == kShortRatio) {
      Compress("indexer_compressor_", x, latent.index_dim, past.index_values, past.index_scores);
      if ((position_ + 1) % ratio == 0) {
        past.index.push_back(
            NewRow("indexer_compressor_", latent.index_dim, past.index_values, past.index_scores));
      }
    }
    return Attend(x);
  }

  void KeepRow(const Row& x) {
    Row row = Multiply("attn_kv.weight", x, 0, shape_.head_dim);
    Normalise(row, &Weights("attn_kv_a_norm.weight"), shape_.norm_epsilon);
    Rotate(row, FrequenciesHere(), static_cast<double>(position_));
    past_[layer_].window.push_back(Held(RowFormat(shape_, memory_), row));
  }

  // Attention to the newest rows, as many as the window has.
  Row Attend(const Row& x) {
    const size_t dim = shape_.head_dim;
    Past& past = past_[layer_];
    Row low = Multiply("attn_q_a.weight", x, 0, shape_.latent.query_rank);
    Normalise(low, &Weights("attn_q_a_norm.weight"), shape_.norm_epsilon);
    Row queries = Multiply("attn_q_b.weight", low, 0, shape_.head_count * dim);
    const size_t end = past.window.size();
    const size_t window = std::min<size_t>(shape_.sliding_window, end);
    std::vector<const Row*> seen;
    for (size_t i = end - window; i < end; ++i) seen.push_back(&past.window[i]);
    for (const size_t i : Chosen(x, low)) seen.push_back(&past.far[i]);
    Row out;
    for (size_t head = 0; head < shape_.head_count; ++head) {
      const std::span<double> query(queries.data() + head * dim, dim);
      Normalise(query, nullptr, shape_.norm_epsilon);
      Rotate(query, FrequenciesHere(), static_cast<double>(position_));
      Row value = AttendHead(query, Weights("attn_sinks.weight")[head], seen);
      Rotate(value, FrequenciesHere(), -static_cast<double>(position_));
      out.insert(out.end(), value.begin(), value.end());
    }
    return Output(out);
  }

  Row AttendHead(std::span<const double> query, double sink,
                 const std::vector<const Row*>& seen) const {
    double sum = std::exp(sink);
    Row value(query.size());
    for (const Row* row : seen) {
      const double score = std::inner_product(query.begin(), query.end(), row->begin(), 0.0);
      const double weight = std::exp(score / std::sqrt(query.size()));
      sum += weight;
      for (size_t i = 0; i < value.size(); ++i) value[i] += weight * (*row)[i];
    }
    for (double& number : value) number /= sum;
    return value;
  }

  Row Output(const Row& out) {
    const Latent& latent = shape_.latent;
    const size_t width = out.size() / latent.output_groups;
    Row low;
    for (size_t group = 0; group < latent.output_groups; ++group) {
      const Row part =
          Multiply("attn_output_a.weight", std::span(out).subspan(group * width, width),
                   group * latent.output_rank, latent.output_rank);
      low.insert(low.end(), part.begin(), part.end());
    }
    return Multiply("attn_output_b.weight", low, 0, shape_.embedding);
  }

  void Compress(const std::string& name, const Row& x, size_t dim, Rows& values, Rows& scores) {
    const uint32_t ratio = RatioHere();
    const size_t columns = ratio == kShortRatio ? 2 * dim : dim;
    values.push_back(Multiply(name + "kv.weight", x, 0, columns));
    Row score = Multiply(name + "gate.weight", x, 0, columns);
    const Row& places = Weights(name + "ape.weight");
    for (size_t i = 0; i < columns; ++i) score[i] += places[position_ % ratio * columns + i];
    scores.push_back(std::move(score));
  }

  Row NewRow(const std::string& name, size_t dim, const Rows& values, const Rows& scores) {
    const uint32_t ratio = RatioHere();
    const size_t first = position_ + 1 - ratio;
    Row row(dim);
    for (size_t i = 0; i < dim; ++i) {
      double sum = 0;
      const auto add = [&](size_t token, size_t column) {
        const double weight = std::exp(scores[token][column]);
        sum += weight;
        row[i] += weight * values[token][column];
      };
      const bool is_short = ratio == kShortRatio;
      for (size_t token = is_short && first > 0 ? first - ratio : first; token < first; ++token)
        add(token, i);
      for (size_t token = first; token <= position_; ++token) add(token, is_short ? dim + i : i);
      row[i] /= sum;
    }
    Normalise(row, &Weights(name + "norm.weight"), shape_.norm_epsilon);
    Rotate(row, compressed_frequencies_, static_cast<double>(first));
    if (!name.starts_with("indexer")) return Held(RowFormat(shape_, memory_), row);
    Hadamard(row);
    return Held(IndexFormat(shape_, memory_), row);
  }

  // The compressed rows of the layer that the token sees.
  std::vector<size_t> Chosen(const Row& x, const Row& low) {
    const Latent& latent = shape_.latent;
    const Past& past = past_[layer_];
    std::vector<size_t> order(past.far.size());
    std::iota(order.begin(), order.end(), 0);
    if (RatioHere() != kShortRatio || order.size() <= latent.index_top) return order;
    Row queries =
        Multiply("indexer.attn_q_b.weight", low, 0, latent.index_heads * latent.index_dim);
    const Row weights = Multiply("indexer.proj.weight", x, 0, latent.index_heads);
    Row ranks(order.size());
    for (size_t head = 0; head < latent.index_heads; ++head) {
      const std::span<double> query(queries.data() + head * latent.index_dim, latent.index_dim);
      Rotate(query, compressed_frequencies_, static_cast<double>(position_));
      Hadamard(query);
      Row held(query.begin(), query.end());
      const kernels::LatentFormat format = IndexFormat(shape_, memory_);
      if (format.type == kernels::LatentRows::kF4) held = Held(format, held);
      for (size_t i = 0; i < ranks.size(); ++i) {
        const double score =
            std::inner_product(held.begin(), held.end(), past.index[i].begin(), 0.0);
        ranks[i] += std::max(score, 0.0) * weights[head];
      }
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return ranks[a] > ranks[b]; });
    order.resize(latent.index_top);
    return order;
  }

  Row Network(const Row& x, const std::string& suffix, size_t expert) {
    const size_t width = shape_.experts.feed_forward;
    const double limit = shape_.experts.limit;
    Row gate = Multiply("ffn_gate" + suffix, x, expert * width, width);
    const Row up = Multiply("ffn_up" + suffix, x, expert * width, width);
    for (size_t i = 0; i < width; ++i) {
      const double limited = std::min(gate[i], limit);
      gate[i] = limited * Sigmoid(limited) * std::clamp(up[i], -limit, limit);
    }
    return Multiply("ffn_down" + suffix, gate, expert * shape_.embedding, shape_.embedding);
  }

  Row FeedForward(const Row& x) {
    const Experts& experts = shape_.experts;
    Row scores = Multiply("ffn_gate_inp.weight", x, 0, experts.count);
    for (double& score : scores) score = std::sqrt(std::log1p(std::exp(score)));
    std::vector<size_t> chosen(experts.count);
    std::iota(chosen.begin(), chosen.end(), 0);
    if (layer_ < experts.hash_layers) {
      const gguf::Tensor* table = files_.FindTensor(prefix_ + "ffn_gate_tid2eid.weight");
      for (size_t i = 0; i < experts.used; ++i) {
        const size_t at = static_cast<size_t>(token_) * experts.used + i;
        chosen[i] = LoadUnaligned<uint32_t>(table->data.data() + at * sizeof(uint32_t));
      }
    } else {
      const Row& bias = Weights("exp_probs_b.bias");
      std::stable_sort(chosen.begin(), chosen.end(), [&](size_t a, size_t b) {
        return scores[a] + bias[a] > scores[b] + bias[b];
      });
    }
    chosen.resize(experts.used);
    double sum = 0;
    for (const size_t expert : chosen) sum += scores[expert];
    Row out = Network(x, "_shexp.weight", 0);
    for (const size_t expert : chosen) {
      const Row y = Network(x, "_exps.weight", expert);
      for (size_t i = 0; i < y.size(); ++i)
        out[i] += double{experts.scale} * scores[expert] / sum * y[i];
    }
    return out;
  }

  const gguf::ModelFiles& files_;
  const Shape& shape_;
  const MemoryOptions& memory_;
  const Row frequencies_;
  const Row compressed_frequencies_;
  std::map<std::string, Row> weights_;
  std::string prefix_;
  uint32_t layer_ = 0;
  int32_t token_ = 0;
  size_t position_ = 0;
  std::vector<Past> past_;  // [layers + 1]
};

}  // namespace

std::vector<double> DeepSeek4ReferenceLogits(const gguf::ModelFiles& files, const Shape& shape,
                                             const MemoryOptions& memory,
                                             std::span<const int32_t> tokens) {
  Reference reference(files, shape, memory);
  std::vector<double> logits;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Row row = reference.Logits(tokens[i], i);
    logits.insert(logits.end(), row.begin(), row.end());
  }
  return logits;
}

std::vector<std::vector<double>> DeepSeek4ReferenceBlock(
    const gguf::ModelFiles& files, const Shape& layers, const MemoryOptions& memory,
    const std::vector<std::vector<double>>& context,
    const std::vector<std::vector<double>>& embedded) {
  return Reference(files, layers, memory).Block(context, embedded);
}

std::vector<double> DeepSeek4ReferenceDrafts(const gguf::ModelFiles& files, const Shape& shape,
                                             const MemoryOptions& memory,
                                             std::span<const int32_t> tokens,
                                             std::span<const float> streams) {
  Reference reference(files, shape, memory);
  std::vector<double> logits;
  const size_t width = shape.hidden_width();
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Row row = reference.Draft(tokens[i], streams.subspan(i * width, width), i);
    logits.insert(logits.end(), row.begin(), row.end());
  }
  return logits;
}

}  // namespace aster::model
