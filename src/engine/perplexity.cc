// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/perplexity.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "kernels/ops.h"

namespace aster::engine {
namespace {

// Chunk sizes: for tokens whose logits are not wanted, and for those whose logits are, which take
// half a megabyte each in a large vocabulary.
constexpr size_t kUnaskedChunk = 512;
constexpr size_t kAskedChunk = 64;

// The value below which a fraction of the sorted values lies.
double Quantile(std::span<const float> sorted, double fraction) {
  if (sorted.empty()) return 0;
  const double place = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  if (sorted[below] == sorted[above]) return sorted[below];  // also if both are infinite
  return sorted[below] + (sorted[above] - sorted[below]) * (place - static_cast<double>(below));
}

}  // namespace

void RunningMean::Add(double value) {
  ++count_;
  const double before = value - mean_;
  mean_ += before / static_cast<double>(count_);
  squares_ += before * (value - mean_);
}

double RunningMean::error() const {
  if (count_ < 2) return 0;
  const auto count = static_cast<double>(count_);
  return std::sqrt(squares_ / (count - 1) / count);
}

Result<double> LogProbabilities::Total(std::span<const float> logits) {
  const float largest = logits[ops_.argmax(logits.data(), logits.size())];
  if (!std::isfinite(largest)) {
    return DataLoss("logits that are not numbers");
  }
  exponentials_.resize(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) exponentials_[i] = logits[i] - largest;
  ops_.exp(exponentials_.data(), exponentials_.size(), exponentials_.data());
  double sum = 0;
  for (const float value : exponentials_) sum += value;
  if (!std::isfinite(sum)) {
    return DataLoss("logits that are not numbers");
  }
  scale_ = 1 / sum;
  return largest + std::log(sum);
}

Status Perplexity::Add(std::span<const float> logits, int32_t token) {
  CHECK(token >= 0 && static_cast<size_t>(token) < logits.size());
  const double total = TRY(probabilities_.Total(logits));
  nll_.Add(total - logits[static_cast<size_t>(token)]);
  return Ok();
}

double Perplexity::value() const { return std::exp(nll_.mean()); }

double Perplexity::error() const { return value() * nll_.error(); }

Status Divergence::Add(std::span<const float> first, std::span<const float> second) {
  CHECK(first.size() == second.size() && !first.empty());
  const double first_total = TRY(first_.Total(first));
  const double second_total = TRY(second_.Total(second));
  const std::span<const float> weights = first_.scaled();
  double sum = 0;
  for (size_t i = 0; i < first.size(); ++i) {
    largest_difference_ =
        std::max(largest_difference_, std::abs(static_cast<double>(first[i]) - second[i]));
    // Tokens that are impossible for the first model do not count, whatever the second says.
    if (weights[i] == 0) continue;
    sum += weights[i] * ((first[i] - first_total) - (second[i] - second_total));
  }
  // Rounding may give a little less than zero.
  const double divergence = std::max(sum * first_.scale(), 0.0);
  mean_.Add(divergence);
  values_.push_back(static_cast<float>(divergence));
  const kernels::OpsTable& ops = kernels::Ops(isa_);
  if (ops.argmax(first.data(), first.size()) == ops.argmax(second.data(), second.size())) {
    ++same_top_;
  }
  if (std::memcmp(first.data(), second.data(), first.size_bytes()) == 0) ++equal_rows_;
  return Ok();
}

DivergenceReport Divergence::Report() const {
  if (values_.empty()) return {};
  std::vector<float> sorted = values_;
  std::sort(sorted.begin(), sorted.end());
  return {.count = values_.size(),
          .mean = mean_.mean(),
          .mean_error = mean_.error(),
          .median = Quantile(sorted, 0.5),
          .percentile_90 = Quantile(sorted, 0.9),
          .percentile_99 = Quantile(sorted, 0.99),
          .largest = sorted.back(),
          .same_top = static_cast<double>(same_top_) / static_cast<double>(values_.size()),
          .largest_difference = largest_difference_,
          .equal_rows = equal_rows_};
}

Status ComputeRows(std::span<LocalModel* const> models, std::span<const int32_t> tokens,
                   size_t first, RowsSink sink, TokensDone done) {
  std::vector<kv::PageTable> tables;
  for (LocalModel* model : models) tables.push_back(model->NewTable());
  std::vector<std::span<const float>> logits(models.size()), rows(models.size());
  for (size_t begin = 0; begin < tokens.size();) {
    const bool asked = begin >= first;
    const size_t end = asked ? std::min(begin + kAskedChunk, tokens.size())
                             : std::min({begin + kUnaskedChunk, first, tokens.size()});
    for (size_t i = 0; i < models.size(); ++i) {
      const model::Segment segment{.table = &tables[i],
                                   .tokens = tokens.subspan(begin, end - begin),
                                   .hidden = nullptr,
                                   .wanted = asked ? model::Wanted::kAll : model::Wanted::kNone};
      logits[i] = TRY(models[i]->Run({&segment, 1})).logits;
    }
    for (size_t position = begin; asked && position < std::min(end, tokens.size() - 1);
         ++position) {
      for (size_t i = 0; i < models.size(); ++i) {
        const size_t vocab_size = models[i]->shape().vocab_size;
        rows[i] = logits[i].subspan((position - begin) * vocab_size, vocab_size);
      }
      TRY(sink(position, rows));
    }
    done(end - begin);
    begin = end;
  }
  return Ok();
}

}  // namespace aster::engine
