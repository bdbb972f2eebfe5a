// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What a token must cost: the bytes that have to be read and the multiply-adds that have to be done
// whatever the program does. With the machine's limits they say how fast it could be. Must not know
// time.
#pragma once

#include <cstdint>

#include "kv/layout.h"
#include "model/weights/weights.h"

namespace aster::engine {

// Averages where a router picks experts: each as likely as any other.
struct WeightCost {
  double step_bytes = 0;           // packed weights that a step over `rows` rows reads
  double layer_multiply_adds = 0;  // of integers, for one row
  double head_multiply_adds = 0;   // of integers, for one row whose logits are wanted
};
// What `rows` rows together cost, each one the next token of some sequence.
WeightCost CostOf(const model::Weights& weights, uint32_t rows);

// Bytes of the KV cache that the computation of the token at `position` reads.
double KvReadBytes(const model::Shape& shape, const kv::Layout& layout, kv::LayerRange layers,
                   uint32_t position);

}  // namespace aster::engine
