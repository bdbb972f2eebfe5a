// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Float operations that are made of integers, or completed in them (exact.glsl includes this). There
// are few branches: a compiler copies these functions to every place that calls one, and with
// branches that takes a driver that computes on a CPU twice as long.

// (high, low) >> n, where the highest bit is zero; what is lost is or-ed into bit 0.
uvec2 shift_right_sticky(uvec2 number, uint n) {
  const bool by_words = n >= 32u;
  const uint bits = min(n, 63u) & 31u, rest = 31u - bits;
  const uint high = by_words ? 0u : number.x, low = by_words ? number.x : number.y;
  const uint lost = low << rest << 1 | (by_words ? number.y : 0u);
  return uvec2(high >> bits, low >> bits | high << rest << 1 | min(lost, 1u));
}

// From a sum of 64 bits that is not zero, whose bit 61 weighs 2^(exponent - 127): the nearest
// float, ties to even, denormals flushed.
float rounded(uint sign, int exponent, uint sum_high, uint sum_low) {
  const bool is_short = sum_high == 0u;
  const uint first = is_short ? sum_low : sum_high, second = is_short ? 0u : sum_low;
  const uint up = uint(31 - findMSB(first));
  const uint high = first << up | second >> 1 >> (31u - up);
  const uint rest = high << 24 | min(second << up, 1u);
  // A carry out of the mantissa leaves a mantissa of zeros.
  const uint mantissa = (high >> 8) + uint(rest > kSign || (rest == kSign && (high & 0x100u) != 0u));
  const int scale = exponent + 2 - int(up) - (is_short ? 32 : 0) + int(mantissa >> 24);
  const uint number = uint(scale) << 23 | mantissa & kMantissa;
  return FLOAT(sign | (scale >= 255 ? kInfBits : scale <= 0 ? 0u : number));
}

// a * b + c, rounded once, in integers. Product and addend become numbers of 64 bits with the
// leading one at bit 61 or 62; the one with the smaller exponent is shifted to the other's.
float fused_in_integers(uint a, uint b, uint c) {
  const uint ea = a >> 23 & 255u, eb = b >> 23 & 255u, ec = c >> 23 & 255u;
  const uint product_sign = (a ^ b) & kSign, addend_sign = c & kSign;
  uint high, low;
  umulExtended(a & kMantissa | kHidden, b & kMantissa | kHidden, high, low);
  const uvec2 product = uvec2(high << 15 | low >> 17, low << 15);
  const uvec2 addend = uvec2(ec == 0u ? 0u : (c & kMantissa | kHidden) << 6, 0u);
  const int lead = int(ea + eb) - 127 - int(ec);  // of the product's exponent
  const bool product_leads = lead >= 0 || ec == 0u;
  const uvec2 one = product_leads ? product : addend;
  const uvec2 other =
      shift_right_sticky(product_leads ? addend : product, ec == 0u ? 0u : uint(abs(lead)));
  const bool adds = product_sign == addend_sign;
  const uvec2 term = adds ? other : uvec2(~other.x, ~other.y);
  const uint low_half = one.y + term.y;
  const uint sum_low = low_half + (adds ? 0u : 1u);
  const uint carry = uint(low_half < one.y) + uint(sum_low < low_half);
  const uint sum_high = one.x + term.x + carry;
  const bool negative = !adds && (sum_high & kSign) != 0u;
  const uvec2 sum = negative ? uvec2(~sum_high + uint(sum_low == 0u), 0u - sum_low)
                             : uvec2(sum_high, sum_low);
  const uint sign = product_leads != negative ? product_sign : addend_sign;
  const float finite = rounded(sign, product_leads ? lead + int(ec) : int(ec), sum.x, sum.y);
  uint result = (sum.x | sum.y) == 0u ? 0u : BITS(finite);

  // Where the product is zero, or a number is not finite.
  const bool is_zero = ea == 0u || eb == 0u, is_infinite = ea == 255u || eb == 255u;
  result = is_zero ? (ec == 0u ? product_sign & c : c) : result;
  result = ec == 255u ? c : result;
  const bool differ = ec == 255u && product_sign != addend_sign;
  result = is_infinite ? (is_zero || differ ? kNanBits : product_sign | kInfBits) : result;
  const uint largest = max(max(a & ~kSign, b & ~kSign), c & ~kSign);
  return FLOAT(largest > kInfBits ? kNanBits : result);
}

// a / b where one of them is zero or not finite.
float divide_special(uint a, uint b) {
  const uint sign = (a ^ b) & kSign;
  const bool a_ends = (a & kInfBits) == kInfBits, b_ends = (b & kInfBits) == kInfBits;
  const bool a_zero = (a & kInfBits) == 0u, b_zero = (b & kInfBits) == 0u;
  if ((a & ~kSign) > kInfBits || (b & ~kSign) > kInfBits) return NOT_A_NUMBER;
  if (a_ends) return b_ends ? NOT_A_NUMBER : FLOAT(sign | kInfBits);
  if (b_ends) return FLOAT(sign);
  if (a_zero) return b_zero ? NOT_A_NUMBER : FLOAT(sign);
  return FLOAT(sign | kInfBits);
}

// The integer quotient of two mantissas, rounded down; `remainder` is what is left of the dividend.
// The device's quotient may be some units off: the remainder, which fits 32 bits then, tells by how
// many.
uint quotient_of(float x, float y, uint dividend, uint divisor, float unit, out int remainder) {
  uint quotient = uint(x / y * unit) - 8u;
  remainder = int(dividend - quotient * divisor);
  for (uint units = 8u; units != 0u; units >>= 1) {
    const bool fits = remainder >= int(units * divisor);
    quotient += fits ? units : 0u;
    remainder -= fits ? int(units * divisor) : 0;
  }
  return quotient;
}
// The same, rounded to nearest or one unit beside it, in a step of Newton's.
uint near_quotient_of(float x, float y, float unit) {
  precise float inverse = 1.0 / y;
  precise float first = x * inverse;
  precise float rest = fma(-first, y, x);
  precise float second = fma(rest, inverse, first);
  precise float units = second * unit;
  return uint(units);
}

// a / b, rounded once. A quotient is never in the middle of two numbers.
float divide(float dividend, float divisor) {
  const uint a = BITS(dividend), b = BITS(divisor);
  const uint sign = (a ^ b) & kSign;
  const uint ea = a >> 23 & 255u, eb = b >> 23 & 255u;
  if (ea == 255u || eb == 255u || ea == 0u || eb == 0u) return divide_special(a, b);
  const uint ma = a & kMantissa | kHidden, mb = b & kMantissa | kHidden;
  // The quotient's integer is in [2^23, 2^24).
  const bool below = ma < mb;
  const float x = FLOAT(0x3f800000u | a & kMantissa), y = FLOAT(0x3f800000u | b & kMantissa);
  const float unit = below ? 16777216.0 : 8388608.0;
  const uint shifted = ma << (below ? 24u : 23u);
  uint quotient;
  if (kNativeFma) {
    quotient = near_quotient_of(x, y, unit);
    const int twice = int(shifted - quotient * mb) * 2;
    quotient += twice > int(mb) ? 1u : twice < -int(mb) ? ~0u : 0u;
  } else {
    int remainder;
    quotient = quotient_of(x, y, shifted, mb, unit, remainder);
    if (uint(remainder) << 1 > mb) ++quotient;
  }
  int exponent = int(ea) - int(eb) + 127 - (below ? 1 : 0);
  if (quotient == 0x1000000u) {
    quotient = kHidden;
    ++exponent;
  }
  if (exponent >= 255) return FLOAT(sign | kInfBits);
  if (exponent <= 0) return FLOAT(sign);
  return FLOAT(sign | uint(exponent) << 23 | quotient & kMantissa);
}

// The square root, rounded once; NaN of what is below zero.
float root(float square) {
  const uint x = BITS(square);
  const uint ex = x >> 23 & 255u;
  if (ex == 0u) return FLOAT(x & kSign);
  if ((x & ~kSign) > kInfBits || (x & kSign) != 0u) return NOT_A_NUMBER;
  if (ex == 255u) return square;
  // With an even exponent, the mantissa is in [1, 4) and the root's integer in [2^23, 2^24).
  const bool odd = (ex & 1u) == 0u;
  const uint mantissa = x & kMantissa | kHidden;
  uint s = uint(sqrt(FLOAT((odd ? 0x40000000u : 0x3f800000u) | x & kMantissa)) * 8388608.0) - 8u;
  int remainder = int((mantissa << (odd ? 24u : 23u)) - s * s);
  for (uint units = 8u; units != 0u; units >>= 1) {
    const int more = int((2u * s + units) * units);  // (s + units)^2 - s^2
    const bool fits = remainder >= more;
    s += fits ? units : 0u;
    remainder -= fits ? more : 0;
  }
  if (uint(remainder) > s) ++s;  // beyond s + 1/2: its square is s^2 + s + 1/4
  int exponent = (int(ex) - 127 - (odd ? 1 : 0)) / 2 + 127;
  if (s == 0x1000000u) {
    s = kHidden;
    ++exponent;
  }
  return FLOAT(uint(exponent) << 23 | s & kMantissa);
}
