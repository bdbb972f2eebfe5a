// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The functions of src/kernels/ref/math.h, step by step. After exact.glsl.

const float kRoundingShift = 12582912.0;  // 1.5 * 2^23
#define LOG2_E FLOAT(0x3fb8aa3bu)

// In both functions only arguments, and squares too small to matter, may be denormal.

// e^x; zero where that is below 2^-126.
float exp_of(float power) {
  if (is_nan(power)) return power;
  const float x = flushed(power);
  if (x < FLOAT(0xc2aeac4fu)) return 0.0;
  if (x > FLOAT(0x42b17217u)) return INFINITY;
  const float shifted = fused_unflushed(x, LOG2_E, kRoundingShift);
  const float n = sub_unflushed(shifted, kRoundingShift);
  float r = fused_unflushed(-n, FLOAT(0x3f317200u), x);
  r = fused_unflushed(-n, FLOAT(0x35bfbe8eu), r);
  float p = FLOAT(0x3ab563a6u);
  p = fused_unflushed(p, r, FLOAT(0x3c091ef0u));
  p = fused_unflushed(p, r, FLOAT(0x3d2aac2cu));
  p = fused_unflushed(p, r, FLOAT(0x3e2aaa46u));
  p = fused_unflushed(p, r, FLOAT(0x3efffffeu));
  p = fused_unflushed(p, r, 1.0);
  p = fused_unflushed(p, r, 1.0);
  return FLOAT(BITS(p) + (BITS(shifted) << 23));
}

// 2^x, for x <= 0; zero where that is below 2^-126. A denormal x changes nothing.
float exp2_of(float x) {
  if (is_nan(x)) return x;
  if (x < -126.0) return 0.0;
  const float shifted = add_unflushed(x, kRoundingShift);
  const float r = sub_unflushed(x, sub_unflushed(shifted, kRoundingShift));
  const float r2 = mul_unflushed(r, r);
  float p = fused_unflushed(FLOAT(0x39205945u), r2,
                            fused_unflushed(FLOAT(0x3ab00f59u), r, FLOAT(0x3c1d9550u)));
  p = fused_unflushed(p, r2, fused_unflushed(FLOAT(0x3d635671u), r, FLOAT(0x3e75fdf3u)));
  p = fused_unflushed(p, r2, fused_unflushed(FLOAT(0x3f317219u), r, 1.0));
  return flushed(mul_unflushed(p, FLOAT(0x3f800000u + (BITS(shifted) << 23))));
}

float sigmoid_of(float x) { return divide(1.0, add(1.0, exp_of(-x))); }
float silu_of(float x) { return divide(x, add(1.0, exp_of(-x))); }

float softplus_of(float x) {
  const float u = exp_of(-abs(x));
  const float s = divide(u, add(2.0, u));
  const float s2 = mul(s, s);
  float q = FLOAT(0x3e784856u);
  q = fused(q, s2, FLOAT(0x3e5b956cu));
  q = fused(q, s2, FLOAT(0x3e92828au));
  q = fused(q, s2, FLOAT(0x3ecccb6cu));
  q = fused(q, s2, FLOAT(0x3f2aaaacu));
  const float log1p_u = fused(mul(s2, s), q, add(s, s));
  return add(flushed(x) > 0.0 ? x : 0.0, log1p_u);
}
float sqrt_softplus_of(float x) { return root(softplus_of(x)); }

float below(float x, float limit) { return limit < x ? limit : x; }
float within(float up, float limit) {
  const float u = limit < up ? limit : up;
  return u < -limit ? -limit : u;
}

// Join gate and up of a feed-forward network: swiglu, swiglu_oai and geglu, by their numbers in
// ElementOperation of kernels/elements.h. All are x / (1 + e^-a) for some a, times up.
const uint kSwiglu = 9u;
const uint kSwigluOai = 10u;
const uint kGeglu = 11u;
float gate_of(uint kind, float gate, float up, float limit) {
  const float x = below(gate, limit);
  float a = x;
  if (kind == kSwigluOai) a = mul(FLOAT(0x3fd9db23u), x);
  if (kind == kGeglu) a = mul(x, fused(mul(x, x), FLOAT(0x3d922279u), FLOAT(0x3fcc422au)));
  const float gated = divide(x, add(1.0, exp_of(-a)));
  const float other = within(up, limit);
  return mul(gated, kind == kSwigluOai ? add(other, 1.0) : other);
}

float softcap_of(float x, float cap) {
  const float ratio = divide(x, cap);
  const float u = exp_of(mul(-2.0, abs(ratio)));
  const float capped = mul(cap, divide(sub(1.0, u), add(1.0, u)));
  return flushed(ratio) < 0.0 ? -capped : capped;
}
