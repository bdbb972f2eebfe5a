// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/cost.h"

#include <algorithm>
#include <cmath>

#include "model/memory/stream_reads.h"

namespace aster::engine {
namespace {

using compute::Matrix;
using kernels::WeightType;

double MultiplyAdds(const Matrix& matrix) {
  switch (matrix.type()) {
    case WeightType::kF32:
    case WeightType::kF16:
    case WeightType::kBF16:
      return 0;  // not of integers
    default:
      return static_cast<double>(matrix.rows()) * static_cast<double>(matrix.columns());
  }
}

struct Sum {
  double bytes = 0;
  double multiply_adds = 0;

  void Add(const Matrix& matrix, double read = 1, double used = 1) {
    bytes += read * static_cast<double>(matrix.bytes());
    multiply_adds += used * MultiplyAdds(matrix);
  }
};

}  // namespace

WeightCost CostOf(const model::Weights& weights, uint32_t rows) {
  const model::Experts& experts = weights.shape.experts;
  const double used = experts.count == 0 ? 0 : static_cast<double>(experts.used) / experts.count;
  // The probability that at least one of the rows uses an expert.
  const double read = 1 - std::pow(1 - used, rows);
  Sum layers;
  for (const model::LayerWeights& layer : weights.layers) {
    for (const Matrix* matrix : layer.Matrices()) layers.Add(*matrix);
    for (const compute::ExpertWeights& expert : layer.experts) {
      for (const Matrix* matrix : {&expert.gate, &expert.up, &expert.down}) {
        layers.Add(*matrix, read, used);
      }
    }
  }
  Sum head;
  head.Add(weights.head);
  return {.step_bytes = layers.bytes + head.bytes,
          .layer_multiply_adds = layers.multiply_adds,
          .head_multiply_adds = head.multiply_adds};
}

double KvReadBytes(const model::Shape& shape, const kv::Layout& layout, kv::LayerRange layers,
                   uint32_t position) {
  double bytes = 0;
  const uint64_t past = uint64_t{position} + 1;
  for (uint32_t layer = layers.begin; layer < layers.end; ++layer) {
    for (const model::StreamReads& reads : model::ReadsOfLayer(shape, layout, layer))
      bytes += reads.At(past);
  }
  return bytes;
}

}  // namespace aster::engine
