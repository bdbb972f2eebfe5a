#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Writes tokens' inputs of a gated delta net (DeltaInputs of src/kernels/delta_net.h) as rows of a
// page: channels as halves, then every head's decay, then its beta. A workgroup has some words of a
// row.
#include "memory.glsl"
#include "exact.glsl"
#include "conversions.glsl"
#include "functions.glsl"
#include "runs.glsl"
#include "row_groups.glsl"

layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
  Floats mixed;
  Floats times;
  Floats betas;
  Floats time_bias;  // [heads]
  Floats rates;      // [heads]
  Words rows_out;    // addresses of [rows] rows
  uint mixed_stride;
  uint time_stride;
  uint beta_stride;
  uint channels;
  uint heads;
} push;

void main() {
  const uint row = gl_WorkGroupID.y, word = gl_GlobalInvocationID.x;
  const uint halves = push.channels / 2u;
  if (word >= halves + 2u * push.heads) return;
  WordsOut out_ = WordsOut(address_at(push.rows_out, row));
  if (word < halves) {
    const uint at = row * push.mixed_stride + 2u * word;
    out_.at[word] = to_half(push.mixed.at[at]) | to_half(push.mixed.at[at + 1u]) << 16;
    return;
  }
  const uint head = (word - halves) % push.heads;
  if (word < halves + push.heads) {
    const float time = add(push.times.at[row * push.time_stride + head], push.time_bias.at[head]);
    out_.at[word] = BITS(exp_of(mul(softplus_of(time), push.rates.at[head])));
  } else {
    out_.at[word] = BITS(sigmoid_of(push.betas.at[row * push.beta_stride + head]));
  }
}
