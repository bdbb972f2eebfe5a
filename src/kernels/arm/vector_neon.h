// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Sixteen lanes in four NEON registers, for matmul_tiles.h. Only for sources compiled for NEON with
// dot products: everything is in an unnamed namespace.
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

#include "kernels/iq2_tables.h"
#include "kernels/packed.h"

namespace aster::kernels {
namespace {

struct VectorNeon {
  struct Floats {  // lanes 4 i to 4 i + 3
    float32x4_t at[4];
  };
  struct Ints {
    int32x4_t at[4];
  };
  struct Bytes {  // four in each lane
    int8x16_t at[4];
  };
  struct Pairs {  // two int16 in each lane
    int16x8_t at[4];
  };

  // {f(0), f(1), f(2), f(3)}
  template <typename Result, typename F>
  [[gnu::always_inline]] static Result Quarters(const F& f) {
    return {{f(0), f(1), f(2), f(3)}};
  }

  static Floats Zero() {
    return Quarters<Floats>([](int) { return vdupq_n_f32(0.0f); });
  }
  static Ints ZeroInts() {
    return Quarters<Ints>([](int) { return vdupq_n_s32(0); });
  }
  static Floats Multiply(const Floats& a, const Floats& b) {
    return Quarters<Floats>([&](int i) { return vmulq_f32(a.at[i], b.at[i]); });
  }
  static Floats Add(const Floats& a, const Floats& b) {
    return Quarters<Floats>([&](int i) { return vaddq_f32(a.at[i], b.at[i]); });
  }
  static Floats Fma(const Floats& a, const Floats& b, const Floats& c) {
    return Quarters<Floats>([&](int i) { return vfmaq_f32(c.at[i], a.at[i], b.at[i]); });
  }
  static Floats FmaMinus(const Floats& a, const Floats& b, const Floats& c) {
    return Quarters<Floats>([&](int i) { return vfmsq_f32(c.at[i], a.at[i], b.at[i]); });
  }
  static Floats ToFloats(const Ints& a) {
    return Quarters<Floats>([&](int i) { return vcvtq_f32_s32(a.at[i]); });
  }
  static Ints AddInts(const Ints& a, const Ints& b) {
    return Quarters<Ints>([&](int i) { return vaddq_s32(a.at[i], b.at[i]); });
  }
  // a - kFactor * b; kFactor is a power of two.
  template <int kFactor>
  static Ints SubtractTimes(const Ints& a, const Ints& b) {
    constexpr int kShift = __builtin_ctz(kFactor);
    return Quarters<Ints>([&](int i) { return vsubq_s32(a.at[i], vshlq_n_s32(b.at[i], kShift)); });
  }

  static Ints LoadInts(const void* from) {
    const auto* bytes = static_cast<const uint8_t*>(from);
    return Quarters<Ints>([&](int i) { return vreinterpretq_s32_u8(vld1q_u8(bytes + 16 * i)); });
  }
  static Floats LoadFloats(const float* from) {
    return Quarters<Floats>([&](int i) { return vld1q_f32(from + 4 * i); });
  }
  static int32x4_t BroadcastWord(const uint8_t* word) {
    int32_t value;
    __builtin_memcpy(&value, word, sizeof(value));
    return vdupq_n_s32(value);
  }
  static Ints BroadcastInt(const uint8_t* word) {
    const int32x4_t value = BroadcastWord(word);
    return {{value, value, value, value}};
  }
  static Floats Broadcast(const uint8_t* word) {
    const float32x4_t value = vreinterpretq_f32_s32(BroadcastWord(word));
    return {{value, value, value, value}};
  }
  static Floats LoadHalves(const uint16_t* halves) {
    return Quarters<Floats>(
        [&](int i) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(halves + 4 * i))); });
  }
  // 2^(exponent - 128), zero for exponents 0 and 1.
  static Floats LoadHalfExponents(const uint8_t* exponents) {
    const uint8x16_t one = vdupq_n_u8(1);
    const uint8x16_t less = vsubq_u8(vmaxq_u8(vld1q_u8(exponents), one), one);
    const uint16x8_t low = vmovl_u8(vget_low_u8(less));
    const uint16x8_t high = vmovl_u8(vget_high_u8(less));
    const auto power = [](uint16x4_t four) {
      return vreinterpretq_f32_u32(vshlq_n_u32(vmovl_u16(four), 23));
    };
    return {{power(vget_low_u16(low)), power(vget_high_u16(low)), power(vget_low_u16(high)),
             power(vget_high_u16(high))}};
  }
  static Floats LowBfloat16(const Ints& pairs) {
    return Quarters<Floats>(
        [&](int i) { return vreinterpretq_f32_s32(vshlq_n_s32(pairs.at[i], 16)); });
  }
  static Floats HighBfloat16(const Ints& pairs) {
    const int32x4_t mask = vdupq_n_s32(static_cast<int32_t>(0xffff0000));
    return Quarters<Floats>(
        [&](int i) { return vreinterpretq_f32_s32(vandq_s32(pairs.at[i], mask)); });
  }

  static uint8x16_t Unsigned(int8x16_t bytes) { return vreinterpretq_u8_s8(bytes); }
  static int8x16_t Signed(uint8x16_t bytes) { return vreinterpretq_s8_u8(bytes); }
  static Bytes LoadBytes(const PackedQuads& quads) {
    const auto* bytes = reinterpret_cast<const int8_t*>(&quads[0][0]);
    return Quarters<Bytes>([&](int i) { return vld1q_s8(bytes + 16 * i); });
  }
  static Bytes LowHalves(const Bytes& bytes) {
    return Quarters<Bytes>([&](int i) { return vandq_s8(bytes.at[i], vdupq_n_s8(15)); });
  }
  static Bytes HighHalves(const Bytes& bytes) {
    return Quarters<Bytes>([&](int i) { return Signed(vshrq_n_u8(Unsigned(bytes.at[i]), 4)); });
  }
  static Bytes FlipSigns(const Bytes& bytes) {
    return Quarters<Bytes>([&](int i) { return veorq_s8(bytes.at[i], vdupq_n_s8(-128)); });
  }
  // The bits kMask of each byte, shifted up by kShift (down if it is negative).
  template <int kShift, int kMask>
  static Bytes Bits(const PackedQuads& quads) {
    const Bytes bytes = LoadBytes(quads);
    return Quarters<Bytes>([&](int i) {
      const uint8x16_t whole = Unsigned(bytes.at[i]);
      uint8x16_t moved = whole;
      if constexpr (kShift > 0) moved = vshlq_n_u8(whole, kShift);
      if constexpr (kShift < 0) moved = vshrq_n_u8(whole, -kShift);
      return Signed(vandq_u8(moved, vdupq_n_u8(kMask)));
    });
  }
  template <int kShift, int kMask>
  static Bytes OrBits(const Bytes& bytes, const PackedQuads& quads) {
    const Bytes bits = Bits<kShift, kMask>(quads);
    return Quarters<Bytes>([&](int i) { return vorrq_s8(bytes.at[i], bits.at[i]); });
  }
  static Bytes LookUp(const uint8_t (&table)[16], const Bytes& codes) {
    const int8x16_t values = Signed(vld1q_u8(table));
    return Quarters<Bytes>([&](int i) { return vqtbl1q_s8(values, Unsigned(codes.at[i])); });
  }

  static uint8x8_t LoadPairs(const PackedPair& pairs, int quarter) {
    return vld1_u8(&pairs[0][0] + 8 * quarter);
  }
  static int16x8_t Widened(uint8x8_t bytes) { return vreinterpretq_s16_u16(vmovl_u8(bytes)); }
  static Pairs UnsignedPairs(const PackedPair& pairs) {
    return Quarters<Pairs>([&](int i) { return Widened(LoadPairs(pairs, i)); });
  }
  static Pairs SignedPairs(const PackedPair& pairs) {
    return Quarters<Pairs>(
        [&](int i) { return vmovl_s8(vreinterpret_s8_u8(LoadPairs(pairs, i))); });
  }
  static Pairs LowHalfPairs(const PackedPair& pairs) {
    return Quarters<Pairs>(
        [&](int i) { return Widened(vand_u8(LoadPairs(pairs, i), vdup_n_u8(15))); });
  }
  static Pairs HighHalfPairs(const PackedPair& pairs) {
    return Quarters<Pairs>([&](int i) { return Widened(vshr_n_u8(LoadPairs(pairs, i), 4)); });
  }
  // sum + factors * pair, for the two int16 of a word.
  static Ints AddPairProducts(const Ints& sum, const Pairs& factors, const uint8_t* word) {
    const int16x8_t pair = vreinterpretq_s16_s32(BroadcastWord(word));
    return Quarters<Ints>([&](int i) {
      const int32x4_t low = vmull_s16(vget_low_s16(factors.at[i]), vget_low_s16(pair));
      const int32x4_t high = vmull_high_s16(factors.at[i], pair);
      return vaddq_s32(sum.at[i], vpaddq_s32(low, high));
    });
  }

  // Quad t of the IQ2_XXS points [row][point] of sixteen rows.
  template <int t>
  static Bytes PointQuads(const uint8_t (*points)[4]) {
    return Quarters<Bytes>([&](int i) {
      const int32x4_t a = TwoPoints<t / 2>(points + 4 * i);
      const int32x4_t b = TwoPoints<t / 2>(points + 4 * i + 2);
      return vreinterpretq_s8_s32(t % 2 == 0 ? vuzp1q_s32(a, b) : vuzp2q_s32(a, b));
    });
  }
  // Point i of two rows.
  template <int i>
  static int32x4_t TwoPoints(const uint8_t (*points)[4]) {
    return vreinterpretq_s32_u8(vcombine_u8(vld1_u8(kIq2Tables.points[points[0][i]]),
                                            vld1_u8(kIq2Tables.points[points[1][i]])));
  }
  // Words of signs (packed.h), with the implied signs in place of the scale.
  static Ints EvenSigns(const Ints& signs_and_scale) {
    return Quarters<Ints>([&](int i) {
      const uint32x4_t scale = vdupq_n_u32(0xf0000000);
      const uint32x4_t signs = vbicq_u32(vreinterpretq_u32_s32(signs_and_scale.at[i]), scale);
      uint32x4_t odd = veorq_u32(signs, vshlq_n_u32(signs, 16));
      odd = veorq_u32(odd, vshlq_n_u32(odd, 8));
      odd = veorq_u32(odd, vshlq_n_u32(odd, 4));
      return vreinterpretq_s32_u32(vbslq_u32(scale, odd, signs));
    });
  }
  // All bits of those bytes of quad t that are negative.
  template <int t>
  static Bytes NegativeBytes(const Ints& signs) {
    return Quarters<Bytes>([&](int i) {
      const uint8x16_t bytes = vreinterpretq_u8_s32(signs.at[i]);
      return Signed(vtstq_u8(bytes, vdupq_n_u8(1 << Iq2SignBit(t))));
    });
  }
  static Bytes Negate(const Bytes& bytes, const Bytes& mask) {
    return Quarters<Bytes>(
        [&](int i) { return vsubq_s8(veorq_s8(bytes.at[i], mask.at[i]), mask.at[i]); });
  }
  // 2 s + 1 for the upper four bits s of two words, side by side.
  static Pairs OddScalePairs(const uint32_t* first, const uint32_t* second) {
    return Quarters<Pairs>([&](int i) {
      const uint32x4_t low = vshrq_n_u32(vld1q_u32(first + 4 * i), 28);
      const uint32x4_t high = vshrq_n_u32(vld1q_u32(second + 4 * i), 28);
      const uint32x4_t stored = vorrq_u32(low, vshlq_n_u32(high, 16));
      const int16x8_t pairs = vreinterpretq_s16_u32(vshlq_n_u32(stored, 1));
      return vaddq_s16(pairs, vdupq_n_s16(1));
    });
  }

  static void Store(const Floats& values, float* out, size_t count) {
    float all[16];
    float* to = count == 16 ? out : all;
    for (int i = 0; i < 4; ++i) vst1q_f32(to + 4 * i, values.at[i]);
    if (count < 16) __builtin_memcpy(out, all, count * sizeof(float));
  }

  // Sixteen activations in a row; quad t stays in its lane, as an instruction can multiply with one
  // lane of a register.
  struct Activations {
    template <int t>
    struct Lane {
      int8x16_t all;
    };
    template <int t>
    Lane<t> Quad() const {
      return {all};
    }
    int8x16_t all;
  };
  static Activations LoadActivations(const uint8_t* at) { return {Signed(vld1q_u8(at))}; }

  // Operations for preparing activations.
  static Ints MaxMagnitudes(const Ints& largest, const Ints& float_bits) {
    return Quarters<Ints>([&](int i) {
      const uint32x4_t magnitudes =
          vandq_u32(vreinterpretq_u32_s32(float_bits.at[i]), vdupq_n_u32(0x7fffffff));
      return vreinterpretq_s32_u32(vmaxq_u32(vreinterpretq_u32_s32(largest.at[i]), magnitudes));
    });
  }
  static uint32_t Largest(const Ints& values) {
    const int32x4_t four =
        vmaxq_s32(vmaxq_s32(values.at[0], values.at[1]), vmaxq_s32(values.at[2], values.at[3]));
    return static_cast<uint32_t>(vmaxvq_s32(four));
  }
  static void Quantise(const float* values, float inverse, int8_t* quants) {
    const Ints rounded = Quarters<Ints>(
        [&](int i) { return vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(values + 4 * i), inverse)); });
    const int16x8_t low = vcombine_s16(vmovn_s32(rounded.at[0]), vmovn_s32(rounded.at[1]));
    const int16x8_t high = vcombine_s16(vmovn_s32(rounded.at[2]), vmovn_s32(rounded.at[3]));
    vst1q_s8(quants, vcombine_s8(vmovn_s16(low), vmovn_s16(high)));
  }
  // The sums of each sixteen of 64 bytes.
  static void SumsOf16(const int8_t* quants, int32_t* sums) {
    for (int i = 0; i < 4; ++i) sums[i] = vaddlvq_s8(vld1q_s8(quants + 16 * i));
  }
  // Rounded to the nearest, ties to even; NaN becomes quiet.
  static void StoreBfloat16(const Ints& float_bits, uint8_t* out) {
    for (int i = 0; i < 4; ++i) {
      const uint32x4_t bits = vreinterpretq_u32_s32(float_bits.at[i]);
      const uint32x4_t last_bit = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
      const uint32x4_t up = vaddq_u32(last_bit, vdupq_n_u32(0x7fff));
      const uint32x4_t magnitudes = vandq_u32(bits, vdupq_n_u32(0x7fffffff));
      const uint32x4_t nan = vcgtq_u32(magnitudes, vdupq_n_u32(0x7f800000));
      const uint32x4_t quiet = vorrq_u32(bits, vdupq_n_u32(0x400000));
      const uint16x4_t upper = vshrn_n_u32(vbslq_u32(nan, quiet, vaddq_u32(bits, up)), 16);
      vst1_u8(out + 8 * i, vreinterpret_u8_u16(upper));
    }
  }
};

}  // namespace
}  // namespace aster::kernels
