// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Float operations with the bits of the reference (round to nearest even, denormals are zero) on
// any device. Of a device only add, subtract and multiply are asked for, and fma where the
// self-check has found it to be fused; division and square root are completed in integers from any
// approximation. Every kernel computes with these functions only.

layout(constant_id = 0) const bool kNativeFma = false;
layout(constant_id = 1) const bool kFlush = true;

#define BITS(x) floatBitsToUint(x)
#define FLOAT(x) uintBitsToFloat(x)

const uint kSign = 0x80000000u;
const uint kMantissa = 0x007fffffu;
const uint kHidden = 0x00800000u;
const uint kInfBits = 0x7f800000u;
const uint kNanBits = 0x7fc00000u;
#define INFINITY FLOAT(kInfBits)
#define MINUS_INFINITY FLOAT(kInfBits | kSign)
#define NOT_A_NUMBER FLOAT(kNanBits)

bool is_nan(float x) { return (BITS(x) & ~kSign) > kInfBits; }

// A denormal becomes the zero of its sign.
float flushed(float x) {
  if (kFlush) return abs(x) < FLOAT(kHidden) ? FLOAT(BITS(x) & kSign) : x;
  return x;
}

float add(float a, float b) {
  precise float sum = flushed(a) + flushed(b);
  return flushed(sum);
}
float sub(float a, float b) {
  precise float difference = flushed(a) - flushed(b);
  return flushed(difference);
}
float mul(float a, float b) {
  precise float product = flushed(a) * flushed(b);
  return flushed(product);
}

// The same where neither operands nor the result are denormal.
float add_unflushed(float a, float b) {
  precise float sum = a + b;
  return sum;
}
float sub_unflushed(float a, float b) {
  precise float difference = a - b;
  return difference;
}
float mul_unflushed(float a, float b) {
  precise float product = a * b;
  return product;
}

#include "in_integers.glsl"

float fused(float a, float b, float c) {
  if (!kNativeFma) return fused_in_integers(BITS(a), BITS(b), BITS(c));
  precise float sum = fma(flushed(a), flushed(b), flushed(c));
  return flushed(sum);
}

// The same of numbers of which none is a denormal: only the result has to be flushed. For loops that
// do little else.
float fused_normal(float a, float b, float c) {
  if (!kNativeFma) return fused_in_integers(BITS(a), BITS(b), BITS(c));
  precise float sum = fma(a, b, c);
  return flushed(sum);
}

// The same where the result is none either.
float fused_unflushed(float a, float b, float c) {
  if (!kNativeFma) return fused_in_integers(BITS(a), BITS(b), BITS(c));
  precise float sum = fma(a, b, c);
  return sum;
}

// The larger one; b where they are equal or one is NaN.
float larger(float a, float b) { return flushed(a) > flushed(b) ? a : b; }
