// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How well a model predicts a text (perplexity), and how far the predictions of two models differ
// (KL divergence). Must not know files or text.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "engine/local_model.h"

namespace aster::engine {

// A mean with its standard error, of values that come one by one.
class RunningMean {
 public:
  void Add(double value);
  uint64_t count() const { return count_; }
  double mean() const { return mean_; }
  double error() const;  // 0 for fewer than two

 private:
  uint64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;  // sum of squared differences from the mean
};

// Natural logarithms of probabilities from logits. Not for concurrent use.
class LogProbabilities {
 public:
  explicit LogProbabilities(kernels::Isa isa) : ops_(kernels::Ops(isa)) {}

  // The log of the total: a token's log probability is its logit minus this. An error if a logit is
  // NaN or plus infinity, or all are minus infinity.
  Result<double> Total(std::span<const float> logits);
  // e^(logit - total) of each token, for the logits of the last call of Total.
  std::span<const float> scaled() const { return exponentials_; }
  double scale() const { return scale_; }

 private:
  const kernels::OpsTable& ops_;
  std::vector<float> exponentials_;  // e^(logit - largest)
  double scale_ = 1;                 // factor that makes them probabilities
};

// Perplexity: e to the mean negative log-likelihood (NLL) per token.
class Perplexity {
 public:
  explicit Perplexity(kernels::Isa isa) : probabilities_(isa) {}

  // `logits` predicted the next token, which was `token`.
  Status Add(std::span<const float> logits, int32_t token);

  uint64_t count() const { return nll_.count(); }
  const RunningMean& nll() const { return nll_; }  // in nats
  double value() const;
  double error() const;  // of value(), to first order

 private:
  LogProbabilities probabilities_;
  RunningMean nll_;
};

struct DivergenceReport {
  uint64_t count = 0;  // rows
  // The Kullback-Leibler divergence of the second from the first, in nats, over the rows.
  double mean = 0;
  double mean_error = 0;
  double median = 0;
  double percentile_90 = 0;
  double percentile_99 = 0;
  double largest = 0;
  double same_top = 0;            // fraction of rows with the same most likely token
  double largest_difference = 0;  // of two logits of one token
  uint64_t equal_rows = 0;        // to the last bit
};

// Compares two models' logits row by row; keeps a number for each row.
class Divergence {
 public:
  explicit Divergence(kernels::Isa isa) : isa_(isa), first_(isa), second_(isa) {}

  // Rows of the same length. A token that is possible for the first model and impossible for the
  // second makes the divergence infinite.
  Status Add(std::span<const float> first, std::span<const float> second);
  DivergenceReport Report() const;
  double mean() const { return mean_.mean(); }

 private:
  const kernels::Isa isa_;
  LogProbabilities first_;
  LogProbabilities second_;
  RunningMean mean_;
  std::vector<float> values_;  // [rows]
  uint64_t same_top_ = 0;
  uint64_t equal_rows_ = 0;
  double largest_difference_ = 0;
};

// Gets, for a position, the logits of each model after it.
using RowsSink = FunctionRef<Status(size_t position, std::span<const std::span<const float>> rows)>;
using TokensDone = FunctionRef<void(uint64_t count)>;

// Computes `tokens` as a separate text on every model (of one vocabulary), and passes on the logits
// after position `first` and later ones, except the last, which no token follows. `done` gets the
// number of tokens that all models have computed.
Status ComputeRows(std::span<LocalModel* const> models, std::span<const int32_t> tokens,
                   size_t first, RowsSink sink, TokensDone done);

}  // namespace aster::engine
