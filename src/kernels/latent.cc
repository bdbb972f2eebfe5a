// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/latent.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "quant/half.h"

namespace aster::kernels {
namespace {

constexpr uint8_t kNanExponent = 255;
constexpr float kLargestF8 = 448.0f;
constexpr float kLargestF4 = 6.0f;
// Groups with smaller values get the exponent of these.
constexpr float kSmallestF8 = 1e-4f;
constexpr float kSmallestF4 = 6 * 0x1p-126f;
constexpr float kSmallestF4Scaled = 6 * 0x1p-9f;
constexpr uint8_t kNanE4m3 = 0x7f;

size_t GroupCount(int elements, int group) {
  return static_cast<size_t>((elements + group - 1) / group);
}

float LargestOf(const float* values, int count, float smallest) {
  float largest = smallest;
  for (int i = 0; i < count; ++i) {
    const float magnitude = std::fabs(values[i]);
    if (!(magnitude <= largest)) largest = magnitude;  // also for NaN, which stays NaN
    if (!(largest == largest)) return largest;
  }
  return largest;
}

// The biased exponent of the smallest power of two whose product with `limit` reaches `largest`.
uint8_t ExponentFor(float largest, float limit) {
  if (!(largest < std::numeric_limits<float>::infinity())) return kNanExponent;
  const uint32_t bits = std::bit_cast<uint32_t>(largest / limit);
  return static_cast<uint8_t>((bits >> 23) + ((bits & 0x7fffff) != 0 ? 1 : 0));
}

float PowerOfTwo(int biased_exponent) {
  return std::bit_cast<float>(static_cast<uint32_t>(biased_exponent) << 23);
}

// For a magnitude up to 448.
uint8_t ToE4m3(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint8_t>(bits >> 24 & 0x80);
  const uint32_t magnitude = bits & 0x7fffffff;
  constexpr uint32_t kSmallestNormal = 121u << 23;  // 2^-6
  if (magnitude < kSmallestNormal) {
    // In units of 2^-9: the addition rounds.
    constexpr float kShift = 0x1p23f;
    const float count = (std::bit_cast<float>(magnitude) * 512.0f + kShift) - kShift;
    return static_cast<uint8_t>(sign | static_cast<uint8_t>(count));
  }
  const uint32_t rounded = magnitude + 0x7ffff + (magnitude >> 20 & 1);
  return static_cast<uint8_t>(sign | ((rounded >> 20) - (120u << 3)));
}

// For a magnitude up to 6.
uint8_t ToE2m1(float value) {
  const float magnitude = std::fabs(value);
  uint8_t code = 7;
  if (magnitude <= 0.25f) {
    code = 0;
  } else if (magnitude < 0.75f) {
    code = 1;
  } else if (magnitude <= 1.25f) {
    code = 2;
  } else if (magnitude < 1.75f) {
    code = 3;
  } else if (magnitude <= 2.5f) {
    code = 4;
  } else if (magnitude < 3.5f) {
    code = 5;
  } else if (magnitude <= 5.0f) {
    code = 6;
  }
  return static_cast<uint8_t>(code | (std::signbit(value) ? 8 : 0));
}

void EncodeHalves(const float* values, int count, uint8_t* out) {
  for (int i = 0; i < count; ++i) {
    const uint16_t half = quant::FloatToHalf(values[i]);
    std::memcpy(out + 2 * i, &half, sizeof(half));
  }
}

// The first `size` numbers as bytes, followed by an exponent for each group.
void EncodeBytes(const float* values, int size, int group, uint8_t* row) {
  uint8_t* const exponents = row + size;
  for (int begin = 0; begin < size; begin += group) {
    const int count = std::min(group, size - begin);
    const uint8_t exponent = ExponentFor(LargestOf(values + begin, count, kSmallestF8), kLargestF8);
    exponents[begin / group] = exponent;
    const float inverse = exponent == kNanExponent ? 0.0f : PowerOfTwo(254 - exponent);
    for (int i = begin; i < begin + count; ++i)
      row[i] = exponent == kNanExponent ? 0 : ToE4m3(values[i] * inverse);
  }
}

void EncodeF8(const LatentFormat& format, const float* values, uint8_t* row) {
  EncodeBytes(values, format.unrotated, kF8Group, row);
  const size_t packed =
      static_cast<size_t>(format.unrotated) + GroupCount(format.unrotated, kF8Group);
  EncodeHalves(values + format.unrotated, format.dim - format.unrotated, row + packed);
}

// Elements i and i + 16 of a group share a byte, the first in the low half.
void EncodeF4(const LatentFormat& format, const float* values, uint8_t* row) {
  uint8_t* const exponents = row + format.dim / 2;
  for (int begin = 0; begin < format.dim; begin += kF4Group) {
    const uint8_t exponent =
        ExponentFor(LargestOf(values + begin, kF4Group, kSmallestF4), kLargestF4);
    exponents[begin / kF4Group] = exponent;
    // In two steps: the inverse of the smallest power is too large for a float.
    const int shift = exponent == kNanExponent ? 0 : 127 - exponent;
    const auto code = [&](int i) -> uint8_t {
      return exponent == kNanExponent ? 0 : ToE2m1(std::ldexp(values[i], shift));
    };
    for (int i = 0; i < kF4Group / 2; ++i) {
      row[begin / 2 + i] =
          static_cast<uint8_t>(code(begin + i) | code(begin + kF4Group / 2 + i) << 4);
    }
  }
}

uint8_t ScaleFor(float largest) {
  if (!(largest < std::numeric_limits<float>::infinity())) return kNanE4m3;
  return ToE4m3(std::min(largest / kLargestF4, kLargestF8));
}

// Of a scale that is not NaN.
float FromScale(uint8_t code) {
  const int exponent = code >> 3;
  const auto fraction = static_cast<float>(code & 7);
  return exponent == 0 ? fraction * 0x1p-9f : (8.0f + fraction) * PowerOfTwo(exponent + 127 - 10);
}

// Elements share bytes as in EncodeF4; there are two groups in 32 of them.
void EncodeF4Scaled(const LatentFormat& format, const float* values, uint8_t* row) {
  constexpr int kGroup = kF4ScaledGroup;
  uint8_t* const scales = row + format.dim / 2;
  for (int begin = 0; begin < format.dim; begin += kGroup) {
    const uint8_t scale = ScaleFor(LargestOf(values + begin, kGroup, kSmallestF4Scaled));
    scales[begin / kGroup] = scale;
    uint8_t* const codes = row + begin / (2 * kGroup) * kGroup;
    const bool is_high = begin % (2 * kGroup) != 0;
    for (int i = 0; i < kGroup; ++i) {
      const uint8_t code = scale == kNanE4m3 ? 0 : ToE2m1(values[begin + i] / FromScale(scale));
      codes[i] = static_cast<uint8_t>(is_high ? codes[i] | code << 4 : code);
    }
  }
}

}  // namespace

size_t LatentRowBytes(const LatentFormat& format) {
  const auto dim = static_cast<size_t>(format.dim);
  const auto unrotated = static_cast<size_t>(format.unrotated);
  switch (format.type) {
    case LatentRows::kF16:
      return 2 * dim;
    case LatentRows::kF8:
      return unrotated + GroupCount(format.unrotated, kF8Group) + 2 * (dim - unrotated);
    case LatentRows::kF4:
      return dim / 2 + GroupCount(format.dim, kF4Group);
    case LatentRows::kF8Fine:
      return dim + GroupCount(format.dim, kF8FineGroup);
    case LatentRows::kF4Scaled:
      return dim / 2 + GroupCount(format.dim, kF4ScaledGroup);
  }
  return 0;
}

void EncodeLatentRow(const LatentFormat& format, const float* values, uint8_t* row) {
  switch (format.type) {
    case LatentRows::kF16:
      return EncodeHalves(values, format.dim, row);
    case LatentRows::kF8:
      return EncodeF8(format, values, row);
    case LatentRows::kF4:
      return EncodeF4(format, values, row);
    case LatentRows::kF8Fine:
      return EncodeBytes(values, format.dim, kF8FineGroup, row);
    case LatentRows::kF4Scaled:
      return EncodeF4Scaled(format, values, row);
  }
}

void SelectLargest(const float* scores, size_t count, size_t wanted, uint32_t* order,
                   uint32_t* chosen) {
  CHECK(wanted <= count);
  std::iota(order, order + count, 0u);
  const auto key = [&](uint32_t i) {
    return scores[i] == scores[i] ? scores[i] : -std::numeric_limits<float>::infinity();
  };
  const auto is_better = [&](uint32_t a, uint32_t b) {
    const float first = key(a), second = key(b);
    return first != second ? first > second : a < b;
  };
  if (wanted < count) std::nth_element(order, order + wanted, order + count, is_better);
  std::copy_n(order, wanted, chosen);
  std::sort(chosen, chosen + wanted);
}

const LatentTable& Latent(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::kAvx2:
    case Isa::kAvxVnni:
      return kLatentAvx2;
    case Isa::kAvx512:
    case Isa::kAmx:
      return kLatentAvx512;
#elif defined(__aarch64__)
    case Isa::kNeon:
    case Isa::kI8mm:
      return kLatentNeon;
#endif
    default:
      CHECK_NOTE(isa == Isa::kRef, "this program has no kernels for that instruction set");
      return kLatentRef;
  }
}

}  // namespace aster::kernels
