// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Common parts of the shaders that prepare activations, and the source of these (SOURCE): plain rows;
// few rows that every workgroup norms itself; or gate and up of a feed-forward network, which are
// joined first. Normed or joined rows are also written. After memory.glsl and exact.glsl.
#define ROWS 0
#define NORM 1
#define GATE 2
#ifndef SOURCE
#define SOURCE ROWS
#endif

layout(push_constant) uniform Push {
#if SOURCE == GATE
  FloatsOut rows_in;  // gates
#else
  Floats rows_in;
#endif
  WordsOut prepared;
#if SOURCE == NORM
  Floats weight;     // [columns]
  FloatsOut normed;  // other memory than rows_in
#elif SOURCE == GATE
  Floats ups;
#endif
  uint rows;
  uint columns;
  uint stride;  // floats from row to row
#if SOURCE == NORM
  uint normed_stride;
  float epsilon;
  uint weighted;
#elif SOURCE == GATE
  uint operation;  // ElementOperation of kernels/elements.h
  float limit;
#endif
} push;
#include "rows.glsl"

#if SOURCE == NORM
#include "norm.glsl"
#elif SOURCE == GATE
#include "functions.glsl"
#endif

// An invocation has four columns of a row, one behind the other.
const uint kThreadColumns = 4u;
const uint kGroupColumns = 1024u;  // of a workgroup

// Called by all invocations of a workgroup before they use values of a row.
float row_factor(uint row) {
#if SOURCE == NORM
  return factor_of_row(push.rows_in, row * push.stride, push.columns, push.epsilon);
#else
  return 1.0;
#endif
}

// The inputs of a value, which are read before the row's factor is known.
struct Source {
  float first;
  float second;
};
// Beyond the row's end, of its last column.
Source source_at(uint row, uint column_) {
  const uint column = min(column_, push.columns - 1u), at = row * push.stride + column;
#if SOURCE == NORM
  return Source(push.rows_in.at[at], push.weight.at[push.weighted != 0u ? column : 0u]);
#elif SOURCE == GATE
  return Source(push.rows_in.at[at], push.ups.at[at]);
#else
  return Source(push.rows_in.at[at], 0.0);
#endif
}
// Zero beyond the row's end.
float source_value(uint row, uint column, Source source, float factor) {
  if (column >= push.columns) return 0.0;
#if SOURCE == NORM
  const float value = normed(source.first, factor, push.weighted != 0u, source.second);
  push.normed.at[row * push.normed_stride + column] = value;
  return value;
#elif SOURCE == GATE
  const float value = gate_of(push.operation, source.first, source.second, push.limit);
  push.rows_in.at[row * push.stride + column] = value;
  return value;
#else
  return source.first;
#endif
}

// A group whose largest magnitude is below 2^-110 becomes zero.
const uint kSmallestScaledBits = 0x08800000u;

// From the bits of a group's largest magnitude.
float scale_of(uint largest) {
  if (largest >= kInfBits) return NOT_A_NUMBER;
  if (largest < kSmallestScaledBits) return 0.0;
  return divide(FLOAT(largest), 127.0);
}
// The factor of a group's numbers, or zero if all become zero.
float factor_of(uint largest) {
  if (largest >= kInfBits || largest < kSmallestScaledBits) return 0.0;
  return divide(127.0, FLOAT(largest));
}
int quant_of(float value, float factor) {
  return factor == 0.0 ? 0 : int(roundEven(mul(value, factor)));
}
uint pair_of(int first, int second) { return uint(first) & 0xffffu | uint(second) << 16; }
uint bytes_of(int a, int b, int c, int d) {
  return uint(a) & 255u | (uint(b) & 255u) << 8 | (uint(c) & 255u) << 16 | uint(d) << 24;
}
