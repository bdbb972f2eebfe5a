// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/key_gate.h"

#include <cmath>

namespace aster::kernels {
namespace {

constexpr size_t kLanes = 16;
// The least value of the root: nearer to zero it would be too steep for training.
constexpr float kLeast = 1e-6f;

float Joined(float* lanes) {
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) lanes[i] = lanes[i] + lanes[i + half];
  }
  return lanes[0];
}

}  // namespace

float KeyGate(const OpsTable& ops, const float* row, const float* key, const float* weights,
              size_t width, float epsilon) {
  float rows[kLanes] = {}, keys[kLanes] = {}, products[kLanes] = {};
  for (size_t i = 0; i < width; ++i) {
    const size_t lane = i % kLanes;
    rows[lane] = rows[lane] + row[i] * row[i];
    keys[lane] = keys[lane] + key[i] * key[i];
    products[lane] = products[lane] + row[i] * weights[i] * key[i];
  }
  const auto count = static_cast<float>(width);
  const float row_root = std::sqrt(Joined(rows) / count + epsilon);
  const float key_root = std::sqrt(Joined(keys) / count + epsilon);
  const float fit = Joined(products) / row_root / key_root / std::sqrt(count);
  // NaN stays NaN: its sign differs between machines.
  const float least = std::fabs(fit) < kLeast ? kLeast : std::fabs(fit);
  float gate = std::copysign(std::sqrt(least), fit);
  ops.sigmoid(&gate, 1, &gate);
  return gate;
}

}  // namespace aster::kernels
