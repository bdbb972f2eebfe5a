// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How packed weights (src/kernels/packed.h) are read, one weight type a compilation (WEIGHTS). A
// product takes its columns in units: what one float step of the reference is. A unit has groups
// with an integer scale each, a group has quads, which are four signed bytes. After exact.glsl,
// conversions.glsl, rows.glsl and product_rows.glsl.
//
//   kUnitColumns, kGroups (of a unit), kQuads (of a group)
//   Unit unit_of(panel, unit)              where a unit stands
//   kRawWords; load_raw(unit, group, lane, raw)   a group of one of the panel's sixteen rows, as it is
//                                          in memory: to be read before it is needed
//   unpack(unit, raw, quads)               its quads
//   load_group(unit, group, lane, quads)   both
//   group_scale(unit, group, lane)         and, with MINS, group_minimum: the same by scale_in and
//                                          minimum_in from pair_word, where there is one
//   unit_scale(unit, lane, activation)     the float scale of the unit, times the activations', and,
//                                          with MINS, unit_min_scale: the same by weight_scale and
//                                          weight_minimum from scale_word and minimum_word
//   START_WORD                             the word of a row that a dot product starts from

struct Unit {
  uint at;     // the packed block, in words
  uint half_;  // which of its two groups of 32 columns, for types with a scale for each
};

#define Q8_0 0
#define Q4_0 1
#define MXFP4 2
#define Q2_K 3
#define Q4_K 4
#define Q5_K 5
#define Q6_K 6
#define IQ2_XXS 7
#define IQ4_NL 8
#define Q5_1 9
#define LEVELS 10

#if WEIGHTS <= MXFP4 || WEIGHTS == IQ4_NL || WEIGHTS == Q5_1
#define PER_32
#else
#define PER_256
#endif
#if WEIGHTS == Q2_K || WEIGHTS == Q4_K || WEIGHTS == Q5_K || WEIGHTS == Q5_1
#define MINS
#endif

#if defined(PER_256) && WEIGHTS != IQ2_XXS
#define PAIRED_SCALES
#endif

uint word_at(uint index) { return weights_in_use.at[index]; }
// The half of number `index`, from the word that it is in.
float half_in(uint word, uint index) { return from_half(word >> (index & 1u) * 16u & 0xffffu); }
uint byte_at(uint word, uint index) {
  return word_at(word + index / 4u) >> (index & 3u) * 8u & 255u;
}
// Subtracts `offset` from each of four bytes that are below 128.
uint offset_bytes(uint bytes, uint offset) {
  return ((bytes | 0x80808080u) - offset * 0x01010101u) ^ 0x80808080u;
}

#ifdef PER_32
const uint kUnitColumns = 32u;
const uint kGroups = 1u;
const uint kQuads = 8u;
#if WEIGHTS == Q8_0
const uint kBlockWords = 272u;
const uint kRawWords = 8u;
#elif WEIGHTS == Q4_0
const uint kBlockWords = 144u;
const uint kRawWords = 4u;
#define START_WORD kPer32Start8
#elif WEIGHTS == IQ4_NL
const uint kBlockWords = 144u;
const uint kRawWords = 4u;
#elif WEIGHTS == Q5_1
const uint kBlockWords = 192u;
const uint kRawWords = 5u;
#else
const uint kBlockWords = 136u;
const uint kRawWords = 4u;
#endif
Unit unit_of(uint panel, uint unit) {
  const uint blocks = (push.columns + 63u) / 64u;
  return Unit((panel * blocks + unit / 2u) * kBlockWords, unit & 1u);
}
int group_scale(Unit unit, uint group, uint lane) { return 1; }
#else
const uint kUnitColumns = 256u;
#if WEIGHTS == Q2_K || WEIGHTS == Q6_K || WEIGHTS == LEVELS
const uint kGroups = 16u;
#else
const uint kGroups = 8u;
#endif
const uint kQuads = 64u / kGroups;
#if WEIGHTS == Q2_K
const uint kBlockWords = 336u;
const uint kRawWords = 1u;
#elif WEIGHTS == Q4_K
const uint kBlockWords = 592u;
const uint kRawWords = 4u;
#elif WEIGHTS == Q5_K
const uint kBlockWords = 720u;
const uint kRawWords = 5u;
#elif WEIGHTS == Q6_K
const uint kBlockWords = 848u;
const uint kRawWords = 3u;
#elif WEIGHTS == LEVELS
const uint kBlockWords = 592u;
const uint kRawWords = 2u;
#else
const uint kBlockWords = 264u;
const uint kRawWords = 2u;
#endif
Unit unit_of(uint panel, uint unit) {
  return Unit((panel * (push.columns / 256u) + unit) * kBlockWords, 0u);
}
// What two neighbouring groups have of a lane, of pairs of bytes that start at a word: the word that
// it is in, and the byte of one of them.
uint pair_word(uint word, uint group, uint lane) {
  return word_at(word + group / 2u * 8u + lane / 2u);
}
uint byte_of_pair(uint word, uint group, uint lane) {
  return word >> ((lane & 1u) * 16u + (group & 1u) * 8u) & 255u;
}
#endif

#if WEIGHTS == Q5_K || WEIGHTS == Q5_1
// Eight quads: their low bits in four words, then their fifth ones.
void unpack(Unit unit, uint raw[kRawWords], out uint quads[kQuads]) {
  const uint high = raw[4];
  UNROLL for (uint t = 0u; t < 4u; ++t) {
    quads[t] = raw[t] & 0x0f0f0f0fu | (high >> t & 0x01010101u) << 4;
    quads[t + 4u] = raw[t] >> 4 & 0x0f0f0f0fu | (high >> (t + 4u) & 0x01010101u) << 4;
  }
}
#endif

#if WEIGHTS == Q8_0
void load_raw(Unit unit, uint group, uint lane, out uint raw[kRawWords]) {
  const uint first = unit.at + 16u + unit.half_ * 128u + lane;
  UNROLL for (uint t = 0u; t < kRawWords; ++t) raw[t] = word_at(first + t * 16u);
}
void unpack(Unit unit, uint raw[kRawWords], out uint quads[kQuads]) {
  UNROLL for (uint t = 0u; t < kQuads; ++t) quads[t] = raw[t] ^ 0x80808080u;
}

#elif WEIGHTS == Q4_0
void load_raw(Unit unit, uint group, uint lane, out uint raw[kRawWords]) {
  const uint first = unit.at + 16u + unit.half_ * 64u + lane;
  UNROLL for (uint t = 0u; t < kRawWords; ++t) raw[t] = word_at(first + t * 16u);
}
void unpack(Unit unit, uint raw[kRawWords], out uint quads[kQuads]) {
  UNROLL for (uint t = 0u; t < 4u; ++t) {
    quads[t] = raw[t] & 0x0f0f0f0fu;
    quads[t + 4u] = raw[t] >> 4 & 0x0f0f0f0fu;
  }
}

#elif WEIGHTS == MXFP4
// Four numbers of four bits, in the low halves of bytes: a sign and one of 0, 1, 2, 3, 4, 6, 8, 12.
uint signed_fours(uint codes) {
  uint bytes = 0u;
  UNROLL for (uint i = 0u; i < 32u; i += 8u) {
    const uint code = codes >> i;
    const uint magnitude = 0xc8643210u >> (code & 7u) * 4u & 15u;
    bytes |= ((code & 8u) != 0u ? -magnitude & 255u : magnitude) << i;
  }
  return bytes;
}
void load_raw(Unit unit, uint group, uint lane, out uint raw[kRawWords]) {
  const uint first = unit.at + 8u + unit.half_ * 64u + lane;
  UNROLL for (uint t = 0u; t < kRawWords; ++t) raw[t] = word_at(first + t * 16u);
}
void unpack(Unit unit, uint raw[kRawWords], out uint quads[kQuads]) {
  UNROLL for (uint t = 0u; t < 4u; ++t) {
    quads[t] = signed_fours(raw[t] & 0x0f0f0f0fu);
    quads[t + 4u] = signed_fours(raw[t] >> 4 & 0x0f0f0f0fu);
  }
}
// Half of 2^(exponent - 127), as weights are doubled; zero where that is denormal.
uint scale_word(Unit unit, uint lane) { return word_at(unit.at + unit.half_ * 4u + lane / 4u); }
float weight_scale(Unit unit, uint word, uint lane) {
  const uint exponent = word >> (lane & 3u) * 8u & 255u;
  return exponent < 2u ? 0.0 : FLOAT((exponent - 1u) << 23);
}

#elif WEIGHTS == IQ4_NL
// The levels of four indices.
uint levels_of(uint codes) {
  const uvec4 levels = uvec4(0xbfad9881u, 0xf6eaddcfu, 0x26190d01u, 0x71594535u);
  uint bytes = 0u;
  UNROLL for (uint i = 0u; i < 32u; i += 8u) {
    const uint code = codes >> i & 15u;
    bytes |= (levels[code / 4u] >> (code & 3u) * 8u & 255u) << i;
  }
  return bytes;
}
void load_raw(Unit unit, uint group, uint lane, out uint raw[kRawWords]) {
  const uint first = unit.at + 16u + unit.half_ * 64u + lane;
  UNROLL for (uint t = 0u; t < kRawWords; ++t) raw[t] = word_at(first + t * 16u);
}
void unpack(Unit unit, uint raw[kRawWords], out uint quads[kQuads]) {
  UNROLL for (uint t = 0u; t < 4u; ++t) {
    quads[t] = levels_of(raw[t] & 0x0f0f0f0fu);
    quads[t + 4u] = levels_of(raw[t] >> 4 & 0x0f0f0f0fu);
  }
}

#elif WEIGHTS == Q5_1
void load_raw(Unit unit, uint group, uint lane, out uint raw[kRawWords]) {
  const uint first = unit.at + 32u + unit.half_ * 80u + lane;
  UNROLL for (uint t = 0u; t < kRawWords; ++t) raw[t] = word_at(first + t * 16u);
}
// The offset, beside sums of activations that are times -8.
int group_minimum(Unit unit, uint group, uint lane) { return 1; }
uint minimum_word(Unit unit, uint lane) {
  return word_at(unit.at + 16u + unit.half_ * 8u + lane / 2u);
}
float weight_minimum(uint word, uint lane) { return mul(half_in(word, lane), 0.125); }

#elif WEIGHTS == Q2_K
void load_raw(Unit unit, uint group, uint lane, out uint raw[kRawWords]) {
  const uint first = unit.at + 80u + group * 16u + lane;
  UNROLL for (uint t = 0u; t < kRawWords; ++t) raw[t] = word_at(first + t * 16u);
}
void unpack(Unit unit, uint raw[kRawWords], out uint quads[kQuads]) {
  UNROLL for (uint t = 0u; t < kQuads; ++t) quads[t] = raw[0] >> 2u * t & 0x03030303u;
}
const uint kScalePairs = 16u;
const uint kMinimumPairs = 16u;
int scale_in(uint word, uint group, uint lane) {
  return int(byte_of_pair(word, group, lane) & 15u);
}
int minimum_in(uint word, uint group, uint lane) {
  return int(byte_of_pair(word, group, lane) >> 4);
}

#elif WEIGHTS == Q4_K
void load_raw(Unit unit, uint group, uint lane, out uint raw[kRawWords]) {
  const uint first = unit.at + 80u + group * 64u + lane;
  UNROLL for (uint t = 0u; t < kRawWords; ++t) raw[t] = word_at(first + t * 16u);
}
void unpack(Unit unit, uint raw[kRawWords], out uint quads[kQuads]) {
  UNROLL for (uint t = 0u; t < 4u; ++t) {
    quads[t] = raw[t] & 0x0f0f0f0fu;
    quads[t + 4u] = raw[t] >> 4 & 0x0f0f0f0fu;
  }
}

#elif WEIGHTS == Q5_K
void load_raw(Unit unit, uint group, uint lane, out uint raw[kRawWords]) {
  const uint first = unit.at + 80u + group * 80u + lane;
  UNROLL for (uint t = 0u; t < kRawWords; ++t) raw[t] = word_at(first + t * 16u);
}

#elif WEIGHTS == Q6_K
void load_raw(Unit unit, uint group, uint lane, out uint raw[kRawWords]) {
  const uint first = unit.at + 80u + group * 48u + lane;
  UNROLL for (uint t = 0u; t < kRawWords; ++t) raw[t] = word_at(first + t * 16u);
}
void unpack(Unit unit, uint raw[kRawWords], out uint quads[kQuads]) {
  const uint high = raw[2];
  UNROLL for (uint t = 0u; t < 2u; ++t) {
    const uint low = raw[t] & 0x0f0f0f0fu | (high >> 2u * t & 0x03030303u) << 4;
    const uint upper = raw[t] >> 4 & 0x0f0f0f0fu | (high >> (2u * t + 4u) & 0x03030303u) << 4;
    quads[t] = offset_bytes(low, 32u);
    quads[t + 2u] = offset_bytes(upper, 32u);
  }
}

#elif WEIGHTS == LEVELS
// The levels of four indices.
uint levels_of(uint block, uint codes) {
  uint bytes = 0u;
  UNROLL for (uint i = 0u; i < 32u; i += 8u) bytes |= byte_at(block + 8u, codes >> i & 15u) << i;
  return bytes;
}
void load_raw(Unit unit, uint group, uint lane, out uint raw[kRawWords]) {
  const uint first = unit.at + 80u + group * 32u + lane;
  UNROLL for (uint t = 0u; t < kRawWords; ++t) raw[t] = word_at(first + t * 16u);
}
void unpack(Unit unit, uint raw[kRawWords], out uint quads[kQuads]) {
  UNROLL for (uint t = 0u; t < 2u; ++t) {
    quads[t] = levels_of(unit.at, raw[t] & 0x0f0f0f0fu);
    quads[t + 2u] = levels_of(unit.at, raw[t] >> 4 & 0x0f0f0f0fu);
  }
}

#elif WEIGHTS == IQ2_XXS
// Bit `t` of each byte of `signs` moved to its lowest, as a sign of four bytes of 0 to 127.
uint negated(uint bytes, uint negative) {
  const uint ones = negative * 255u;
  return (bytes ^ ones) + negative;  // no byte is zero, so none carries
}
// Quad t is half t % 2 of point t / 2; its sign of byte i is bit 4 * (t % 2) + 3 - t / 2 there. The
// upper four bits of the last byte are the scale, in place of signs that make each point's even.
void load_raw(Unit unit, uint group, uint lane, out uint raw[kRawWords]) {
  const uint first = unit.at + 8u + group * 32u + lane;
  UNROLL for (uint t = 0u; t < kRawWords; ++t) raw[t] = word_at(first + t * 16u);
}
void unpack(Unit unit, uint raw[kRawWords], out uint quads[kQuads]) {
  const uint signs_and_scale = raw[0], points = raw[1];
  UNROLL for (uint t = 0u; t < kQuads; ++t) {
    const uint point = t / 2u;
    const uint bit = 4u * (t & 1u) + 3u - point;
    uint negative = signs_and_scale >> bit & 0x01010101u;
    if ((t & 1u) != 0u) {
      const uint others = signs_and_scale >> (3u - point) & 0x01010101u;
      const uint odd = uint(bitCount(others) + bitCount(negative & 0x00ffffffu)) & 1u;
      negative = negative & 0x00ffffffu | odd << 24;
    }
    quads[t] = negated(push.grid.at[(points >> 8u * point & 255u) * 2u + (t & 1u)], negative);
  }
}
int scale_of_raw(uint raw[kRawWords]) { return int(2u * (raw[0] >> 28) + 1u); }
int group_scale(Unit unit, uint group, uint lane) {
  uint raw[kRawWords];
  load_raw(unit, group, lane, raw);
  return scale_of_raw(raw);
}
#endif

void load_group(Unit unit, uint group, uint lane, out uint quads[kQuads]) {
  uint raw[kRawWords];
  load_raw(unit, group, lane, raw);
  unpack(unit, raw, quads);
}

#if WEIGHTS == Q6_K || WEIGHTS == LEVELS
const uint kScalePairs = 16u;
int scale_in(uint word, uint group, uint lane) {
  return bitfieldExtract(int(byte_of_pair(word, group, lane)), 0, 8);
}
#endif

#if WEIGHTS == Q4_K || WEIGHTS == Q5_K
const uint kScalePairs = 16u;
const uint kMinimumPairs = 48u;
int scale_in(uint word, uint group, uint lane) { return int(byte_of_pair(word, group, lane)); }
int minimum_in(uint word, uint group, uint lane) { return int(byte_of_pair(word, group, lane)); }
#endif

#ifdef PAIRED_SCALES
int group_scale(Unit unit, uint group, uint lane) {
  return scale_in(pair_word(unit.at + kScalePairs, group, lane), group, lane);
}
#endif
#if defined(PAIRED_SCALES) && defined(MINS)
int group_minimum(Unit unit, uint group, uint lane) {
  return minimum_in(pair_word(unit.at + kMinimumPairs, group, lane), group, lane);
}
#endif

#ifdef PER_256
uint scale_word(Unit unit, uint lane) { return word_at(unit.at + lane / 2u); }
#elif WEIGHTS != MXFP4
uint scale_word(Unit unit, uint lane) {
  return word_at(unit.at + unit.half_ * 8u + lane / 2u);
}
#endif
#if WEIGHTS == LEVELS
float weight_scale(Unit unit, uint word, uint lane) {
  return mul(half_in(word, lane), FLOAT(word_at(unit.at + 12u)));
}
#elif WEIGHTS != MXFP4
float weight_scale(Unit unit, uint word, uint lane) { return half_in(word, lane); }
#endif
// Their product with the activations', by a way to multiply.
#if WEIGHTS == IQ2_XXS
#define TIMES_ACTIVATION(multiply, scale, activation) multiply(multiply(scale, activation), 0.125)
#else
#define TIMES_ACTIVATION(multiply, scale, activation) multiply(scale, activation)
#endif
float unit_scale(Unit unit, uint lane, float activation) {
  return TIMES_ACTIVATION(mul, weight_scale(unit, scale_word(unit, lane), lane), activation);
}

#if defined(MINS) && defined(PER_256)
uint minimum_word(Unit unit, uint lane) { return word_at(unit.at + 8u + lane / 2u); }
float weight_minimum(uint word, uint lane) { return half_in(word, lane); }
#endif
#ifdef MINS
float unit_min_scale(Unit unit, uint lane, float activation) {
  return mul(weight_minimum(minimum_word(unit, lane), lane), activation);
}
#endif
