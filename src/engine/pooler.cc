// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/pooler.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/check.h"

namespace aster::engine {

PromptRows::Kind Pooler::rows() const {
  const bool is_last = pooling_ == model::Pooling::kLast || pooling_ == model::Pooling::kRank;
  return is_last ? PromptRows::Kind::kLastState : PromptRows::Kind::kStates;
}

void Pooler::Add(std::span<const float> row) {
  ++count_;
  if (pooling_ == model::Pooling::kFirst && count_ > 1) return;
  sum_.resize(row.size());
  // In sequence, in double: another order would give other bits.
  for (size_t i = 0; i < row.size(); ++i) sum_[i] += static_cast<double>(row[i]);
}

std::vector<float> Pooler::Finish() const {
  const bool is_mean = pooling_ == model::Pooling::kMean && count_ > 0;
  const double count = is_mean ? static_cast<double>(count_) : 1;
  std::vector<float> vector;
  vector.reserve(sum_.size());
  for (const double value : sum_) vector.push_back(static_cast<float>(value / count));
  return vector;
}

Result<std::vector<float>> Normalised(std::span<const float> vector, size_t dimensions) {
  CHECK(dimensions <= vector.size());
  const std::span<const float> kept = dimensions == 0 ? vector : vector.first(dimensions);
  double squares = 0;
  for (const float value : kept) squares += static_cast<double>(value) * static_cast<double>(value);
  const double length = std::sqrt(squares);
  if (!std::isfinite(length) || length == 0) {
    return DataLoss(
        fmt::format("the embedding has the length {}: the model's weights are damaged", length));
  }
  std::vector<float> normalised;
  normalised.reserve(kept.size());
  for (const float value : kept)
    normalised.push_back(static_cast<float>(static_cast<double>(value) / length));
  return normalised;
}

Result<std::vector<std::vector<float>>> Embed(Generator& generator,
                                              std::span<const std::vector<int32_t>> texts,
                                              model::Pooling pooling) {
  std::vector<Pooler> poolers(texts.size(), Pooler(pooling));
  std::vector<Sequence> sequences;
  sequences.reserve(texts.size());
  Status status;
  for (size_t i = 0; i < texts.size() && status.ok(); ++i) {
    Sequence& sequence = sequences.emplace_back(generator.NewSequence());
    sequence.SetHistory(texts[i]);
    Pooler& pooler = poolers[i];
    // Frees its rows to make room for the others.
    const auto on_finish = [&status, &sequence](const Finish& finish) {
      sequence.Release();
      if (status.ok() && !finish.status.ok()) status = finish.status.error();
    };
    const auto id = generator.Submit(
        {.sequence = &sequence,
         .max_tokens = 0,
         .rows = {.kind = pooler.rows(), .on_row = [&pooler](auto row) { pooler.Add(row); }},
         .on_finish = on_finish});
    if (!id.ok()) status = Error(id.error()).In(fmt::format("text {}", i + 1));
  }
  while (!generator.idle()) TRY(generator.Step());
  TRY(std::move(status));
  std::vector<std::vector<float>> vectors;
  for (const Pooler& pooler : poolers) vectors.push_back(pooler.Finish());
  return vectors;
}

}  // namespace aster::engine
