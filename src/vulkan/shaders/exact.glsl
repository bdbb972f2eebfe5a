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

// (high, low) >> n; what is lost is or-ed into bit 0.
uvec2 shift_right_sticky(uint high, uint low, uint n) {
  if (n == 0u) return uvec2(high, low);
  if (n >= 64u) return uvec2(0u, (high | low) != 0u ? 1u : 0u);
  if (n >= 32u) {
    const uint m = n - 32u;
    const uint lost = low | (m == 0u ? 0u : high << (32u - m));
    return uvec2(0u, high >> m | (lost != 0u ? 1u : 0u));
  }
  const uint lost = low << (32u - n);
  return uvec2(high >> n, (low >> n | high << (32u - n)) | (lost != 0u ? 1u : 0u));
}

// What a * b + c is where a number is not finite or the product is zero.
float fused_special(uint a, uint b, uint c) {
  const uint product_sign = (a ^ b) & kSign;
  const bool a_ends = (a & kInfBits) == kInfBits, b_ends = (b & kInfBits) == kInfBits;
  const bool a_zero = (a & kInfBits) == 0u, b_zero = (b & kInfBits) == 0u;
  if ((a & ~kSign) > kInfBits || (b & ~kSign) > kInfBits || (c & ~kSign) > kInfBits)
    return NOT_A_NUMBER;
  if (a_ends || b_ends) {
    if (a_zero || b_zero) return NOT_A_NUMBER;
    if ((c & kInfBits) == kInfBits && (c & kSign) != product_sign) return NOT_A_NUMBER;
    return FLOAT(product_sign | kInfBits);
  }
  if ((c & kInfBits) == kInfBits) return FLOAT(c);
  if ((c & kInfBits) == 0u) return FLOAT(product_sign & c & kSign);
  return FLOAT(c);
}

// From a sum of 64 bits that is not zero, whose bit 61 weighs 2^(exponent - 127): the nearest
// float, ties to even, denormals flushed.
float rounded(uint sign, int exponent, uint high, uint low) {
  const int lead = high != 0u ? findMSB(high) + 32 : findMSB(low);
  const uint up = uint(63 - lead);
  if (up >= 32u) {
    high = low << (up - 32u);
    low = 0u;
  } else if (up > 0u) {
    high = high << up | low >> (32u - up);
    low <<= up;
  }
  exponent += lead - 61;
  uint mantissa = high >> 8;
  const uint rest = high << 24 | (low != 0u ? 1u : 0u);
  if (rest > kSign || (rest == kSign && (mantissa & 1u) != 0u)) ++mantissa;
  if (mantissa == 0x1000000u) {
    mantissa = kHidden;
    ++exponent;
  }
  if (exponent >= 255) return FLOAT(sign | kInfBits);
  if (exponent <= 0) return FLOAT(sign);
  return FLOAT(sign | uint(exponent) << 23 | mantissa & kMantissa);
}

// a * b + c, rounded once, in integers. Product and addend become numbers of 64 bits with the
// leading one at bit 61 or 62; the smaller is shifted to the larger's exponent.
float fused_in_integers(uint a, uint b, uint c) {
  const uint ea = a >> 23 & 255u, eb = b >> 23 & 255u, ec = c >> 23 & 255u;
  if (ea == 255u || eb == 255u || ec == 255u || ea == 0u || eb == 0u)
    return fused_special(a, b, c);
  uint product_high, product_low;
  umulExtended(a & kMantissa | kHidden, b & kMantissa | kHidden, product_high, product_low);
  uvec2 product = uvec2(product_high << 15 | product_low >> 17, product_low << 15);
  uvec2 addend = uvec2(ec == 0u ? 0u : (c & kMantissa | kHidden) << 6, 0u);
  const int product_exponent = int(ea + eb) - 127;
  const int addend_exponent = ec == 0u ? product_exponent : int(ec);
  const int exponent = max(product_exponent, addend_exponent);
  product = shift_right_sticky(product.x, product.y, uint(exponent - product_exponent));
  addend = shift_right_sticky(addend.x, addend.y, uint(exponent - addend_exponent));
  const uint product_sign = (a ^ b) & kSign, addend_sign = c & kSign;
  if (product_sign == addend_sign || ec == 0u) {
    uint carry;
    const uint low = uaddCarry(product.y, addend.y, carry);
    return rounded(product_sign, exponent, product.x + addend.x + carry, low);
  }
  const bool less = product.x < addend.x || (product.x == addend.x && product.y < addend.y);
  const uvec2 larger = less ? addend : product, smaller = less ? product : addend;
  uint borrow;
  const uint low = usubBorrow(larger.y, smaller.y, borrow);
  const uint high = larger.x - smaller.x - borrow;
  if ((high | low) == 0u) return 0.0;
  return rounded(less ? addend_sign : product_sign, exponent, high, low);
}

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
  uint quotient = uint(x / y * unit);
  remainder = int(dividend - quotient * divisor);
  for (int i = 0; i < 8 && remainder < 0; ++i) {
    --quotient;
    remainder += int(divisor);
  }
  for (int i = 0; i < 8 && remainder >= int(divisor); ++i) {
    ++quotient;
    remainder -= int(divisor);
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
  uint s = uint(sqrt(FLOAT((odd ? 0x40000000u : 0x3f800000u) | x & kMantissa)) * 8388608.0);
  int remainder = int((mantissa << (odd ? 24u : 23u)) - s * s);
  for (int i = 0; i < 8 && remainder < 0; ++i) {
    remainder += int(2u * s - 1u);
    --s;
  }
  for (int i = 0; i < 8 && remainder > int(2u * s); ++i) {
    remainder -= int(2u * s + 1u);
    ++s;
  }
  if (uint(remainder) > s) ++s;  // beyond s + 1/2: its square is s^2 + s + 1/4
  int exponent = (int(ex) - 127 - (odd ? 1 : 0)) / 2 + 127;
  if (s == 0x1000000u) {
    s = kHidden;
    ++exponent;
  }
  return FLOAT(uint(exponent) << 23 | s & kMantissa);
}

// The larger one; b where they are equal or one is NaN.
float larger(float a, float b) { return flushed(a) > flushed(b) ? a : b; }
