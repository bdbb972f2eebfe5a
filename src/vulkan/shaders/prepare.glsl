// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What the shaders that prepare activations have in common. After memory.glsl and exact.glsl.
layout(push_constant) uniform Push {
  Floats rows_in;
  WordsOut prepared;
  uint rows;
  uint columns;
  uint stride;  // floats from row to row
} push;
#include "rows.glsl"

// A group whose largest magnitude is below 2^-110 becomes zero.
const uint kSmallestScaledBits = 0x08800000u;

// From the bits of a group's largest magnitude.
float scale_of(uint largest) {
  if (largest >= kInfBits) return NOT_A_NUMBER;
  if (largest < kSmallestScaledBits) return 0.0;
  return divide(FLOAT(largest), 127.0);
}
int quant_of(float value, uint largest) {
  if (largest >= kInfBits || largest < kSmallestScaledBits) return 0;
  return int(roundEven(mul(value, divide(127.0, FLOAT(largest)))));
}
uint pair_of(int first, int second) { return uint(first) & 0xffffu | uint(second) << 16; }
uint bytes_of(int a, int b, int c, int d) {
  return uint(a) & 255u | (uint(b) & 255u) << 8 | (uint(c) & 255u) << 16 | uint(d) << 24;
}
