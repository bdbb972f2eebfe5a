// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Computes a text's embedding from the rows of its tokens, as they come. The same rows give the
// same bits on every machine. Must not know who computes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/generator.h"
#include "engine/request.h"
#include "model/files/pooling.h"

namespace aster::engine {

class Pooler {
 public:
  explicit Pooler(model::Pooling pooling) : pooling_(pooling) {}

  // Which rows of a prompt it needs.
  PromptRows::Kind rows() const;
  // Adds the next row [embedding].
  void Add(std::span<const float> row);
  // The embedding, once all rows were added.
  std::vector<float> Finish() const;

 private:
  model::Pooling pooling_;
  uint64_t count_ = 0;
  std::vector<double> sum_;  // [embedding]
};

// The first `dimensions` numbers (0: all) of a vector, at length 1. An error if there is no length.
Result<std::vector<float>> Normalised(std::span<const float> vector, size_t dimensions);

// The pooled vectors of the texts, computed together; not normalised.
Result<std::vector<std::vector<float>>> Embed(Generator& generator,
                                              std::span<const std::vector<int32_t>> texts,
                                              model::Pooling pooling);

}  // namespace aster::engine
