// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/stream_mix.h"

namespace aster::kernels {
namespace {

void ScaleAndShift(const float* base, float scale, size_t count, float* values) {
  for (size_t i = 0; i < count; ++i) values[i] = values[i] * scale + base[i];
}

void SigmoidPlus(const OpsTable& ops, float more, size_t count, float* values) {
  ops.sigmoid(values, count, values);
  for (size_t i = 0; i < count; ++i) values[i] = values[i] + more;
}

void NormaliseRows(float* square, size_t n, float epsilon) {
  for (size_t a = 0; a < n; ++a) {
    float sum = 0.0f;
    for (size_t b = 0; b < n; ++b) sum = sum + square[a * n + b];
    sum = sum + epsilon;
    for (size_t b = 0; b < n; ++b) square[a * n + b] = square[a * n + b] / sum;
  }
}

void NormaliseColumns(float* square, size_t n, float epsilon) {
  float sums[kMaxStreams] = {};
  for (size_t a = 0; a < n; ++a) {
    for (size_t b = 0; b < n; ++b) sums[b] = sums[b] + square[a * n + b];
  }
  for (size_t b = 0; b < n; ++b) sums[b] = sums[b] + epsilon;
  for (size_t a = 0; a < n; ++a) {
    for (size_t b = 0; b < n; ++b) square[a * n + b] = square[a * n + b] / sums[b];
  }
}

}  // namespace

void MixStreams(const OpsTable& ops, const StreamMix& mix, float* values) {
  const size_t n = mix.streams;
  float* const out = values + n;
  float* const square = values + 2 * n;
  ScaleAndShift(mix.base, mix.scale[0], n, values);
  SigmoidPlus(ops, mix.epsilon, n, values);
  ScaleAndShift(mix.base + n, mix.scale[1], n, out);
  SigmoidPlus(ops, 0.0f, n, out);
  for (size_t i = 0; i < n; ++i) out[i] = 2.0f * out[i];
  ScaleAndShift(mix.base + 2 * n, mix.scale[2], n * n, square);
  for (size_t a = 0; a < n; ++a) ops.softmax(square + a * n, n, square + a * n);
  for (size_t i = 0; i < n * n; ++i) square[i] = square[i] + mix.epsilon;
  NormaliseColumns(square, n, mix.epsilon);
  for (size_t i = 1; i < mix.iterations; ++i) {
    NormaliseRows(square, n, mix.epsilon);
    NormaliseColumns(square, n, mix.epsilon);
  }
}

void MergeStreams(const OpsTable& ops, const StreamMix& mix, float* values) {
  ScaleAndShift(mix.base, mix.scale[0], mix.streams, values);
  SigmoidPlus(ops, mix.epsilon, mix.streams, values);
}

}  // namespace aster::kernels
