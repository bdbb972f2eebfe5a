// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A residual of several streams on a device: the weights for mixing them (kernels/stream_mix.h),
// and the mixing. Must not know layers.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "vulkan/kernels/kernels.h"

namespace aster::vulkan {

// kernels::MixStreams, or MergeStreams, of every row, in place.
struct StreamWeightsJob {
  Address numbers;  // [rows], stride floats apart
  uint32_t stride;
  uint32_t rows;
  Address scale;
  Address base;
  uint32_t streams;
  uint32_t iterations;
  float epsilon;
  bool is_merge;
};
Status RecordStreamWeights(Kernels& kernels, Commands& commands, const StreamWeightsJob& job);

// `half`: the input or output of half a layer.
struct StreamsJob {
  Address streams;  // [rows], stream_stride floats apart, of [count][width]
  uint32_t stream_stride;
  Address numbers;  // [rows], number_stride apart: what StreamWeightsJob made
  uint32_t number_stride;
  Address half;  // [rows], half_stride apart, of [width]
  uint32_t half_stride;
  uint32_t rows;
  uint32_t width;
  uint32_t count;
};
// half = the streams weighted by the first numbers.
Status RecordSumStreams(Kernels& kernels, Commands& commands, const StreamsJob& job);
// streams = the streams mixed with each other, plus `half` in each.
Status RecordSpreadStreams(Kernels& kernels, Commands& commands, const StreamsJob& job);

// Adds a value to every stream, weighted by how well its key fits it: kernels::KeyGate.
struct GateValuesJob {
  Address streams;  // [rows], stream_stride floats apart, of [count][width]
  uint32_t stream_stride;
  Address keys;  // [rows], key_stride apart, of [count][width], and the value [width]
  uint32_t key_stride;
  Address weights;  // [count][width]
  uint32_t rows;    // up to kRowGroups
  uint32_t width;
  uint32_t count;
  float epsilon;
};
Status RecordGateValues(Kernels& kernels, Commands& commands, const GateValuesJob& job);

}  // namespace aster::vulkan
