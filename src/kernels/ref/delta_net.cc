// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/delta_net.h"

#include <cmath>

#include "kernels/ref/math.h"

namespace aster::kernels {
namespace {

void Convolve(const DeltaConvolution& c) {
  for (size_t r = 0; r < c.rows; ++r) {
    for (size_t i = 0; i < c.count; ++i) {
      float sum = 0.0f;
      for (size_t t = 0; t < c.taps; ++t)
        sum = std::fma(c.weights[t * c.weights_stride + i], c.x[(r + t) * c.x_stride + i], sum);
      c.y[r * c.y_stride + i] = ref::Silu(sum);
    }
  }
}

// Computes one column, which is independent of the others.
float Step(const DeltaRun& run, size_t token, size_t v) {
  const float* const query = run.queries + token * run.key_stride;
  const float* const key = run.keys + token * run.key_stride;
  const float decay = run.decays[token * run.number_stride];
  const float beta = run.betas[token * run.number_stride];
  float* const state = run.state + v;
  float seen = 0.0f;
  for (size_t k = 0; k < run.key_dim; ++k) seen = std::fma(key[k], state[k * run.value_dim], seen);
  const float delta = (run.values[token * run.value_stride + v] - decay * seen) * beta;
  float out = 0.0f;
  for (size_t k = 0; k < run.key_dim; ++k) {
    float& s = state[k * run.value_dim];
    s = std::fma(key[k], delta, decay * s);
    out = std::fma(query[k], s, out);
  }
  return out;
}

void Run(const DeltaRun& run) {
  for (size_t token = 0; token < run.tokens; ++token) {
    for (size_t v = 0; v < run.value_dim; ++v) {
      const float out = Step(run, token, v);
      if (run.out != nullptr) run.out[token * run.out_stride + v] = out;
    }
  }
}

}  // namespace

const DeltaTable kDeltaRef = {.convolve = Convolve, .run = Run};

}  // namespace aster::kernels
