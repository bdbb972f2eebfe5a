// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/reference/reference_deepseek41_for_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "model/memory/memory.h"
#include "model/reference/reference_math_for_test.h"

namespace aster::model {
namespace {

using reference::Multiply;
using reference::Normalise;
using reference::Row;
using Rows = std::vector<Row>;

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

double Dot(std::span<const double> a, const Row& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// Part number `index` of `values`, if each has `width` of them.
template <typename T>
std::vector<T> PartOf(const std::vector<T>& values, size_t index, size_t width) {
  const auto first = values.begin() + static_cast<ptrdiff_t>(index * width);
  return {first, first + static_cast<ptrdiff_t>(width)};
}

Row FrequenciesOf(const Rope& rope) {
  Row frequencies;
  for (uint32_t i = 0; i < rope.dimensions / 2; ++i) {
    const double fast = std::pow(double{rope.base}, -2.0 * i / rope.dimensions);
    const bool is_yarn = rope.scaling == RopeScaling::kYarn;
    frequencies.push_back(is_yarn ? reference::Stretched(rope, i, fast) : fast);
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

Row Held(const kernels::LatentFormat& format, const Row& row) {
  const std::vector<float> values(row.begin(), row.end());
  std::vector<uint8_t> bytes(kernels::LatentRowBytes(format));
  std::vector<float> held(row.size());
  kernels::EncodeLatentRow(format, values.data(), bytes.data());
  const uint8_t* const packed = bytes.data();
  kernels::kLatentRef.decode(format, &packed, 1, held.data(), held.size());
  return {held.begin(), held.end()};
}

// Keeps the indices of the highest scores; of equal ones the lower.
void KeepBest(const Row& scores, size_t wanted, std::vector<size_t>& ascending) {
  if (ascending.size() <= wanted) return;
  std::stable_sort(ascending.begin(), ascending.end(),
                   [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  ascending.resize(wanted);
}

std::vector<size_t> FirstNumbers(size_t count) {
  std::vector<size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

// A layer's KV cache.
struct Past {
  Rows window;
  Rows values, scores;  // of every token, for layers that make far rows
  Rows far, index;
};

class Reference {
 public:
  Reference(const gguf::ModelFiles& files, const Shape& shape, const MemoryOptions& memory)
      : weights_(files),
        shape_(shape),
        memory_(memory),
        frequencies_(FrequenciesOf(shape.rope)),
        compressed_frequencies_(FrequenciesOf(shape.latent.rope)),
        past_(shape.layer_count) {}

  Row Logits(int32_t token) {
    position_ = tokens_.size();
    tokens_.push_back(token);
    prefix_.clear();
    blocks_.clear();
    const std::vector<float> embedding =
        PartOf(Weights("token_embd.weight"), static_cast<size_t>(token), shape_.embedding);
    Rows streams(shape_.streams.count, Row(embedding.begin(), embedding.end()));
    before_.assign(streams.size(), 0);
    before_[0] = 1;
    for (layer_ = 0; layer_ < shape_.layer_count; ++layer_) {
      prefix_ = fmt::format("blk.{}.", layer_);
      const std::vector<uint32_t>& with_table = shape_.ngrams->layers;
      for (size_t i = 0; i < with_table.size(); ++i) {
        if (with_table[i] == layer_) AddNgrams(*shape_.ngrams, i, streams);
      }
      Half("attn", streams, [&](const Row& x) { return Attention(x); });
      Half("ffn", streams, [&](const Row& x) { return FeedForward(x); });
    }
    prefix_.clear();
    Row x = Merged(streams);
    Normalise(x, Weights("output_norm.weight"), shape_.norm_epsilon);
    return Multiply(Weights("output.weight"), x, shape_.vocab_size);
  }

 private:
  const std::vector<float>& Weights(const std::string& name) { return weights_[prefix_ + name]; }

  // The table's rows for the token and those before it; `which` counts layers with a table.
  Row TableRows(const Ngrams& ngrams, size_t which) {
    const auto class_of = [&](size_t back) -> uint64_t {
      if (back > position_) return ngrams.padding;
      return ngrams.classes[static_cast<size_t>(tokens_[position_ - back])];
    };
    const std::vector<float>& table = Weights("engram_embd.weight");
    const size_t heads = ngrams.heads;
    const uint64_t* const multipliers = ngrams.multipliers.data() + which * ngrams.length;
    uint64_t hash = class_of(0) * multipliers[0];
    Row x;
    for (size_t back = 1; back < ngrams.length; ++back) {
      hash ^= class_of(back) * multipliers[back];
      for (size_t head = 0; head < heads; ++head) {
        const size_t at = (which * (ngrams.length - 1) + back - 1) * heads + head;
        const uint64_t row = hash % ngrams.row_counts[at] + ngrams.first_rows[at];
        const std::vector<float> numbers = PartOf(table, row, ngrams.dim);
        x.insert(x.end(), numbers.begin(), numbers.end());
      }
    }
    return x;
  }

  void AddNgrams(const Ngrams& ngrams, size_t which, Rows& streams) {
    const size_t width = shape_.embedding, n = streams.size();
    const Row keys =
        Multiply(Weights("engram_wkv.weight"), TableRows(ngrams, which), (n + 1) * width);
    const Row value = PartOf(keys, n, width);
    for (size_t i = 0; i < n; ++i) {
      Row key = PartOf(keys, i, width), query = streams[i];
      Normalise(key, PartOf(Weights("engram_k.weight"), i, width), shape_.norm_epsilon);
      Normalise(query, PartOf(Weights("engram_q.weight"), i, width), shape_.norm_epsilon);
      const double score = Dot(key, query) / std::sqrt(width);
      const double root = std::sqrt(std::max(std::abs(score), 1e-6));
      const double gate = Sigmoid(std::copysign(root, score));
      for (size_t e = 0; e < width; ++e) streams[i][e] += gate * value[e];
    }
  }

  // One row of all streams, with the weights from the half before.
  Row Merged(const Rows& streams) const {
    Row x(shape_.embedding);
    for (size_t i = 0; i < streams.size(); ++i) {
      for (size_t e = 0; e < x.size(); ++e) x[e] += before_[i] * streams[i][e];
    }
    return x;
  }

  // The inputs of a half's weights: those before it, those after it, and the square.
  Row Mixed(const std::string& name, const Rows& streams) {
    const size_t n = streams.size();
    Row flat;
    for (const Row& stream : streams) flat.insert(flat.end(), stream.begin(), stream.end());
    Normalise(flat, std::vector<float>(flat.size(), 1.0f), shape_.norm_epsilon);
    Row mixed = Multiply(Weights(name + "_fn.weight"), flat, 2 * n + n * n);
    const std::vector<float>& scale = Weights(name + "_scale.weight");
    const std::vector<float>& base = Weights(name + "_base.weight");
    for (size_t i = 0; i < mixed.size(); ++i)
      mixed[i] = mixed[i] * scale[std::min<size_t>(i / n, 2)] + base[i];
    return mixed;
  }

  template <typename Function>
  void Half(const std::string& half, Rows& streams, const Function& function) {
    const size_t n = streams.size();
    const Row mixed = Mixed("hc_" + half, streams);
    const Rows square = Square(mixed, n);
    Row x = Merged(streams);
    Normalise(x, Weights(half + "_norm.weight"), shape_.norm_epsilon);
    const Row y = function(x);
    const Rows old = streams;
    for (size_t b = 0; b < n; ++b) {
      before_[b] = Sigmoid(mixed[b]) + shape_.streams.epsilon;
      const double back = 2 * Sigmoid(mixed[n + b]);
      for (size_t e = 0; e < y.size(); ++e) {
        streams[b][e] = back * y[e];
        for (size_t a = 0; a < n; ++a) streams[b][e] += square[a][b] * old[a][e];
      }
    }
  }

  Rows Square(const Row& mixed, size_t n) const {
    Rows square(n, Row(n));
    for (size_t a = 0; a < n; ++a) {
      for (size_t b = 0; b < n; ++b) square[a][b] = std::exp(mixed[2 * n + a * n + b]);
      const double sum = std::accumulate(square[a].begin(), square[a].end(), 0.0);
      for (double& value : square[a]) value = value / sum + shape_.streams.epsilon;
    }
    for (uint32_t i = 0; i < shape_.streams.sinkhorn; ++i) Balance(square, i > 0);
    return square;
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

  Row Attention(const Row& x) {
    const Latent& latent = shape_.latent;
    const size_t dim = shape_.head_dim;
    const uint32_t ratio = latent.ratios[layer_];
    const Row& frequencies = ratio == 0 ? frequencies_ : compressed_frequencies_;
    const auto position = static_cast<double>(position_);
    Row low = Multiply(Weights("attn_q_a.weight"), x, latent.query_rank);
    Normalise(low, Weights("attn_q_a_norm.weight"), shape_.norm_epsilon);
    Row queries = Multiply(Weights("attn_q_b.weight"), low, shape_.head_count * dim);
    Row row = Multiply(Weights("attn_kv.weight"), x, dim);
    Normalise(row, Weights("attn_kv_a_norm.weight"), shape_.norm_epsilon);
    Rotate(row, frequencies, position);
    const Rows& window = past_[layer_].window;
    past_[layer_].window.push_back(Held(RowFormat(shape_, memory_), row));
    if (latent.makes_rows[layer_] != 0) Compress(x);
    if (latent.chooses_rows[layer_] != 0) Choose(x, low);
    std::vector<const Row*> seen;
    const size_t count = std::min<size_t>(shape_.sliding_window, window.size());
    for (size_t i = window.size() - count; i < window.size(); ++i) seen.push_back(&window[i]);
    if (ratio != 0) {
      for (const size_t i : chosen_) seen.push_back(&past_[compressed_layer_].far[i]);
    }
    Row out;
    for (size_t head = 0; head < shape_.head_count; ++head) {
      const std::span<double> query(queries.data() + head * dim, dim);
      Rotate(query, frequencies, position);
      Row value = AttendHead(query, double{Weights("attn_sinks.weight")[head]}, seen);
      Rotate(value, frequencies, -position);
      out.insert(out.end(), value.begin(), value.end());
    }
    return Output(out);
  }

  Row AttendHead(std::span<const double> query, double sink,
                 const std::vector<const Row*>& seen) const {
    double sum = std::exp(sink);
    Row value(query.size());
    for (const Row* row : seen) {
      const double weight = std::exp(Dot(query, *row) / std::sqrt(query.size()));
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
      const Row part = Multiply(Weights("attn_output_a.weight"), PartOf(out, group, width),
                                latent.output_rank, group * latent.output_rank * width);
      low.insert(low.end(), part.begin(), part.end());
    }
    return Multiply(Weights("attn_output_b.weight"), low, shape_.embedding);
  }

  // Later layers see the far rows of this one.
  void Compress(const Row& x) {
    const uint32_t ratio = shape_.latent.ratios[layer_];
    compressed_layer_ = layer_;
    Past& past = past_[layer_];
    past.values.push_back(Multiply(Weights("attn_compressor_kv.weight"), x, shape_.head_dim));
    // A single token has all the weight, whatever its scores.
    past.scores.push_back(
        ratio == 1 ? Row(shape_.head_dim)
                   : Multiply(Weights("attn_compressor_gate.weight"), x, shape_.head_dim));
    if ((position_ + 1) % ratio != 0) return;
    const size_t first = position_ + 1 - ratio;
    Row row = Pooled(past, first);
    Normalise(row, Weights("attn_compressor_norm.weight"), shape_.norm_epsilon);
    Row index = Multiply(Weights("indexer.attn_k.weight"), row, shape_.latent.index_dim);
    Normalise(index, Weights("indexer.k_norm.weight"), shape_.norm_epsilon);
    Rotate(row, compressed_frequencies_, static_cast<double>(first));
    Rotate(index, compressed_frequencies_, static_cast<double>(first));
    past.far.push_back(Held(CompressedFormat(shape_, memory_), row));
    past.index.push_back(Held(IndexFormat(shape_, memory_), index));
  }

  // The pooled row of the tokens from `first` on.
  Row Pooled(const Past& past, size_t first) const {
    Row row(shape_.head_dim);
    for (size_t i = 0; i < row.size(); ++i) {
      double sum = 0;
      for (size_t token = first; token <= position_; ++token) {
        const double weight = std::exp(past.scores[token][i]);
        sum += weight;
        row[i] += weight * past.values[token][i];
      }
      row[i] /= sum;
    }
    return row;
  }

  // Chooses the far rows that the token sees in this and later layers, up to the next that chooses.
  void Choose(const Row& x, const Row& low) {
    const Latent& latent = shape_.latent;
    const Row scores = Scores(x, low);
    chosen_ = FirstNumbers(scores.size());
    // Only from the token's candidate blocks, if there are any.
    if (!blocks_.empty())
      std::erase_if(chosen_, [&](size_t row) { return !blocks_[row / latent.block_rows]; });
    KeepBest(scores, latent.index_top, chosen_);
    if (latent.block_layer == layer_) ChooseBlocks(scores);
  }

  // The scores of all far rows.
  Row Scores(const Row& x, const Row& low) {
    const Latent& latent = shape_.latent;
    const size_t dim = latent.index_dim;
    const Rows& index = past_[compressed_layer_].index;
    Row queries = Multiply(Weights("indexer.attn_q_b.weight"), low, latent.index_heads * dim);
    const Row weights = Multiply(Weights("indexer.proj.weight"), x, latent.index_heads);
    Row scores(index.size());
    for (size_t head = 0; head < latent.index_heads; ++head) {
      const std::span<double> query(queries.data() + head * dim, dim);
      Rotate(query, compressed_frequencies_, static_cast<double>(position_));
      // Rounded to the format of the rows.
      Row held(query.begin(), query.end());
      const kernels::LatentFormat format = IndexFormat(shape_, memory_);
      if (format.type == kernels::LatentRows::kF4) held = Held(format, held);
      for (size_t i = 0; i < scores.size(); ++i)
        scores[i] += std::max(Dot(held, index[i]), 0.0) * weights[head];
    }
    return scores;
  }

  // The score of a block is that of its best row; the block of the newest row comes first.
  void ChooseBlocks(const Row& scores) {
    constexpr double kInfinite = std::numeric_limits<double>::infinity();
    const Latent& latent = shape_.latent;
    Row best((scores.size() + latent.block_rows - 1) / latent.block_rows, -kInfinite);
    if (best.empty()) return;
    for (size_t i = 0; i < scores.size(); ++i)
      best[i / latent.block_rows] = std::max(best[i / latent.block_rows], scores[i]);
    best.back() = kInfinite;
    std::vector<size_t> candidates = FirstNumbers(best.size());
    KeepBest(best, latent.top_blocks, candidates);
    blocks_.assign(best.size(), false);
    for (const size_t block : candidates) blocks_[block] = true;
  }

  Row Network(const Row& x, const std::string& suffix, size_t expert) {
    const size_t width = shape_.experts.feed_forward, embedding = shape_.embedding;
    const size_t first = expert * width * embedding;
    const double limit = shape_.experts.limit;
    Row gate = Multiply(Weights("ffn_gate" + suffix), x, width, first);
    const Row up = Multiply(Weights("ffn_up" + suffix), x, width, first);
    for (size_t i = 0; i < width; ++i) {
      const double limited = std::min(gate[i], limit);
      gate[i] = limited * Sigmoid(limited) * std::clamp(up[i], -limit, limit);
    }
    return Multiply(Weights("ffn_down" + suffix), gate, embedding, first);
  }

  Row FeedForward(const Row& x) {
    const Experts& experts = shape_.experts;
    Row scores = Multiply(Weights("ffn_gate_inp.weight"), x, experts.count);
    const std::vector<float>& bias = Weights("exp_probs_b.bias");
    Row ranks;
    for (size_t i = 0; i < scores.size(); ++i) {
      scores[i] = std::sqrt(std::log1p(std::exp(scores[i])));
      ranks.push_back(scores[i] + double{bias[i]});
    }
    std::vector<size_t> chosen = FirstNumbers(experts.count);
    KeepBest(ranks, experts.used, chosen);
    double sum = 0;
    for (const size_t expert : chosen) sum += scores[expert];
    Row out = Network(x, "_shexp.weight", 0);
    for (const size_t expert : chosen) {
      Row y = Network(x, "_exps.weight", expert);
      reference::Scale(y, double{experts.scale} * scores[expert] / sum);
      reference::Add(out, y);
    }
    return out;
  }

  reference::Weights weights_;
  const Shape& shape_;
  const MemoryOptions memory_;
  const Row frequencies_;
  const Row compressed_frequencies_;
  std::string prefix_;
  uint32_t layer_ = 0;
  std::vector<int32_t> tokens_;  // up to this one
  size_t position_ = 0;
  std::vector<Past> past_;  // [layers]
  // For this token: the weights from the half before, the layer whose far rows are seen, the chosen
  // rows, and the candidate blocks.
  Row before_;
  uint32_t compressed_layer_ = 0;
  std::vector<size_t> chosen_;
  std::vector<bool> blocks_;
};

}  // namespace

std::vector<double> DeepSeek41ReferenceLogits(const gguf::ModelFiles& files, const Shape& shape,
                                              const MemoryOptions& memory,
                                              std::span<const int32_t> tokens) {
  Reference reference(files, shape, memory);
  std::vector<double> logits;
  for (const int32_t token : tokens) {
    const Row row = reference.Logits(token);
    logits.insert(logits.end(), row.begin(), row.end());
  }
  return logits;
}

}  // namespace aster::model
