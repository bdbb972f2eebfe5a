// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Sums in fixed point of 64 bits (FixedAccumulate and FixedFinish of src/kernels/ref/ops.cc), as
// two words, the lower one first: no device needs integers or floats of 64 bits. After exact.glsl.

uvec2 fixed_add(uvec2 a, uvec2 b) {
  uint carry;
  const uint low = uaddCarry(a.x, b.x, carry);
  return uvec2(low, a.y + b.y + carry);
}
uvec2 fixed_negated(uvec2 a) { return fixed_add(~a, uvec2(1u, 0u)); }

// Two floats' product of 48 bits, times 2^exponent, rounded to an integer: ties to even.
uvec2 fixed_rounded(uint high, uint low, int exponent) {
  if (exponent >= 0)  // below four
    return exponent == 0 ? uvec2(low, high)
                         : uvec2(low << exponent, high << exponent | low >> (32 - exponent));
  const uint n = uint(-exponent);
  if (n > 48u) return uvec2(0u);
  // What is shifted out, from the upper end.
  uvec2 whole;
  uint rest_high, rest_low;
  if (n >= 32u) {
    const uint k = n - 32u;
    whole = uvec2(high >> k, 0u);
    rest_high = k == 0u ? low : high << (32u - k) | low >> k;
    rest_low = k == 0u ? 0u : low << (32u - k);
  } else {
    whole = uvec2(low >> n | high << (32u - n), high >> n);
    rest_high = low << (32u - n);
    rest_low = 0u;
  }
  const bool tie = rest_high == kSign && rest_low == 0u;
  const bool up = tie ? (whole.x & 1u) != 0u : rest_high >= kSign;
  return up ? fixed_add(whole, uvec2(1u, 0u)) : whole;
}

// y * weight * 2^32, held within 2^50 on either side; 2^57 where it is not finite.
uvec2 fixed_term(float y, float weight) {
  const uint a = BITS(y), b = BITS(weight);
  const uint ea = a >> 23 & 255u, eb = b >> 23 & 255u;
  if (ea == 255u || eb == 255u) return uvec2(0u, 1u << 25);
  if (ea == 0u || eb == 0u) return uvec2(0u);
  uint high, low;
  umulExtended(a & kMantissa | kHidden, b & kMantissa | kHidden, high, low);
  const int exponent = int(ea + eb) - 268;  // of the product's lowest bit, counted in 2^-32
  const int top = (high >> 15 & 1u) != 0u ? 47 : 46;
  const uvec2 magnitude =
      top + exponent >= 50 ? uvec2(0u, 1u << 18) : fixed_rounded(high, low, exponent);
  return ((a ^ b) & kSign) != 0u ? fixed_negated(magnitude) : magnitude;
}

// A sum * 2^-32 as a float, by way of a double's 53 bits; NaN beyond 2^56 on either side.
float fixed_finished(uvec2 sum) {
  const bool negative = (sum.y & kSign) != 0u;
  if (negative) sum = fixed_negated(sum);
  if (sum.y > 1u << 24 || (sum.y == 1u << 24 && sum.x != 0u)) return NOT_A_NUMBER;
  if ((sum.x | sum.y) == 0u) return 0.0;
  const int lead = sum.y != 0u ? findMSB(sum.y) + 32 : findMSB(sum.x);
  if (lead > 52) {
    const uint n = uint(lead - 52), rest = sum.x & (1u << n) - 1u, middle = 1u << (n - 1u);
    const bool up = rest > middle || (rest == middle && (sum.x >> n & 1u) != 0u);
    sum.x &= ~((1u << n) - 1u);
    if (up) sum = fixed_add(sum, uvec2(1u << n, 0u));
  }
  // Bit 61 is what `rounded` counts from; the sum's bit 32 is one.
  return rounded(negative ? kSign : 0u, 127 + 29, sum.y, sum.x);
}
