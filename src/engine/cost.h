// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The least cost of a token: the bytes that must be read and the multiply-adds that must be done by
// any program. With the machine's limits this gives the roofline. Must not know time.
#pragma once

#include <cstdint>

#include "kv/layout.h"
#include "model/weights/weights.h"

namespace aster::engine {

// Averages if a router chooses experts: all equally likely.
struct WeightCost {
  double step_bytes = 0;           // packed weights that a step with `rows` rows reads
  double layer_multiply_adds = 0;  // integer ones, for one row
  double head_multiply_adds = 0;   // integer ones, for one row whose logits are wanted
};
// The cost of `rows` rows together, each the next token of another sequence.
WeightCost CostOf(const model::Weights& weights, uint32_t rows);

// Bytes of the KV cache that are read for the token at `position`.
double KvReadBytes(const model::Shape& shape, const kv::Layout& layout, kv::LayerRange layers,
                   uint32_t position);

}  // namespace aster::engine
