// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The weights with which hyper-connections mix the streams of a residual: into the input of half a
// layer, its output into the streams, and the streams with each other, by a matrix whose rows and
// columns are brought near a sum of one. docs/deepseek-v4.md has the formulas. Must not know
// layers. One form for every instruction set, as there is little to compute.
#pragma once

#include <cstddef>

#include "kernels/ops.h"

namespace aster::kernels {

inline constexpr size_t kMaxStreams = 8;

struct StreamMix {
  size_t streams;  // up to kMaxStreams
  size_t iterations;
  float epsilon;
  const float* scale;  // [3]
  const float* base;   // [StreamMixSize]
};

constexpr size_t StreamMixSize(size_t streams) { return 2 * streams + streams * streams; }

// In place: products of a token's streams become [streams] weights into the half layer, [streams]
// of its output, and [from][to] of each stream in each.
void MixStreams(const OpsTable& ops, const StreamMix& mix, float* values);

// In place: products become the weights with which the streams are merged at the end.
void MergeStreams(const OpsTable& ops, const StreamMix& mix, float* values);

}  // namespace aster::kernels
