// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/latent.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/ref/math.h"
#include "quant/half.h"

namespace aster::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// 2^(exponent - 127); all ones are NaN.
float ScaleOf(uint8_t exponent) {
  if (exponent == 255) return std::numeric_limits<float>::quiet_NaN();
  return std::bit_cast<float>(static_cast<uint32_t>(exponent) << 23);
}

float FromE4m3(uint8_t code) {
  const int exponent = code >> 3 & 15;
  const auto fraction = static_cast<float>(code & 7);
  const float magnitude =
      exponent == 0 ? fraction * 0x1p-9f
                    : (8.0f + fraction) *
                          std::bit_cast<float>(static_cast<uint32_t>(exponent + 127 - 10) << 23);
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}

float FromE2m1(int code) {
  constexpr std::array<float, 8> kMagnitudes = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};
  const float magnitude = kMagnitudes[static_cast<size_t>(code & 7)];
  return (code & 8) != 0 ? -magnitude : magnitude;
}

// The value of an 8-bit float; without a sign all ones are NaN.
float ScaleOfE4m3(uint8_t code) {
  if ((code & 0x7f) == 0x7f) return std::numeric_limits<float>::quiet_NaN();
  return FromE4m3(code);
}

void DecodeHalves(const uint8_t* halves, int count, float* out) {
  for (int i = 0; i < count; ++i) {
    uint16_t half;
    std::memcpy(&half, halves + 2 * i, sizeof(half));
    out[i] = quant::HalfToFloat(half);
  }
}

void DecodeRow(const LatentFormat& format, const uint8_t* row, float* out) {
  if (format.type == LatentRows::kF16) return DecodeHalves(row, format.dim, out);
  if (format.type == LatentRows::kF8) {
    const uint8_t* const exponents = row + format.unrotated;
    for (int i = 0; i < format.unrotated; ++i)
      out[i] = FromE4m3(row[i]) * ScaleOf(exponents[i / kF8Group]);
    const int groups = (format.unrotated + kF8Group - 1) / kF8Group;
    return DecodeHalves(exponents + groups, format.dim - format.unrotated, out + format.unrotated);
  }
  if (format.type == LatentRows::kF8Fine) {
    for (int i = 0; i < format.dim; ++i)
      out[i] = FromE4m3(row[i]) * ScaleOf(row[format.dim + i / kF8FineGroup]);
    return;
  }
  const uint8_t* const scales = row + format.dim / 2;
  constexpr int kHalf = kF4Group / 2;
  for (int i = 0; i < format.dim; ++i) {
    const int place = i % kF4Group;
    const uint8_t both = row[i / kF4Group * kHalf + place % kHalf];
    const float scale = format.type == LatentRows::kF4Scaled
                            ? ScaleOfE4m3(scales[i / kF4ScaledGroup])
                            : ScaleOf(scales[i / kF4Group]);
    out[i] = FromE2m1(place < kHalf ? both & 15 : both >> 4) * scale;
  }
}

void Decode(const LatentFormat& format, const uint8_t* const* rows, size_t count, float* out,
            size_t out_row) {
  for (size_t i = 0; i < count; ++i) DecodeRow(format, rows[i], out + i * out_row);
}

void Multiply(const LatentProduct& p) {
  for (size_t m = 0; m < p.rows; ++m) {
    for (size_t n = 0; n < p.columns; ++n) {
      float sum = 0.0f;
      for (size_t k = 0; k < p.depth; ++k)
        sum = std::fma(p.a[m * p.a_row + k * p.a_step], p.b[k * p.b_row + n], sum);
      p.c[m * p.c_row + n] = sum;
    }
  }
}

void Weigh(float* scores, size_t rows, size_t heads, float* max, float* sum) {
  for (size_t h = 0; h < heads; ++h) {
    max[h] = -kInfinity;
    for (size_t r = 0; r < rows; ++r) max[h] = ref::Max(scores[r * heads + h], max[h]);
    const float base = max[h] == -kInfinity ? 0.0f : max[h];
    sum[h] = 0.0f;
    for (size_t r = 0; r < rows; ++r) {
      float& weight = scores[r * heads + h];
      weight = ref::Exp2(weight - base);
      sum[h] += weight;
    }
  }
}

void Merge(const LatentBlock& block, const LatentState& state) {
  for (size_t h = 0; h < block.heads; ++h) {
    const float joint = ref::Max(block.max[h], state.max[h]);
    const float base = joint == -kInfinity ? 0.0f : joint;
    const float old_factor = ref::Exp2(state.max[h] - base);
    const float new_factor = ref::Exp2(block.max[h] - base);
    state.max[h] = joint;
    state.sum[h] = std::fma(block.sum[h], new_factor, state.sum[h] * old_factor);
    for (size_t d = 0; d < block.dim; ++d) {
      float& value = state.values[h * block.dim + d];
      value = std::fma(block.values[h * block.dim + d], new_factor, value * old_factor);
    }
  }
}

void Finish(const LatentState& state, const float* sinks, size_t heads, size_t dim, float* out) {
  for (size_t h = 0; h < heads; ++h) {
    const float sink = sinks[h] * kLog2E;
    const float joint = ref::Max(sink, state.max[h]);
    const float base = joint == -kInfinity ? 0.0f : joint;
    const float factor = ref::Exp2(state.max[h] - base);
    const float sum = std::fma(state.sum[h], factor, ref::Exp2(sink - base));
    for (size_t d = 0; d < dim; ++d) out[h * dim + d] = state.values[h * dim + d] * factor / sum;
  }
}

void Pool(const float* const* values, const float* const* scores, size_t count, size_t width,
          float* out) {
  for (size_t i = 0; i < width; ++i) {
    float largest = -kInfinity;
    for (size_t t = 0; t < count; ++t) largest = ref::Max(scores[t][i], largest);
    float sum = 0.0f;
    float total = 0.0f;
    for (size_t t = 0; t < count; ++t) {
      const float weight = ref::Exp(scores[t][i] - largest);
      sum += weight;
      total = std::fma(weight, values[t][i], total);
    }
    out[i] = total / sum;
  }
}

void Rank(const float* products, size_t rows, size_t heads, const float* weights, float* out) {
  for (size_t r = 0; r < rows; ++r) {
    std::array<float, kLatentLanes> lanes{};
    for (size_t h = 0; h < heads; ++h) {
      float& lane = lanes[h % kLatentLanes];
      lane = std::fma(ref::Max(products[r * heads + h], 0.0f), weights[h], lane);
    }
    for (size_t half = kLatentLanes / 2; half > 0; half /= 2) {
      for (size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    }
    out[r] = lanes[0];
  }
}

}  // namespace

const LatentTable kLatentRef = {
    .decode = Decode,
    .multiply = Multiply,
    .weigh = Weigh,
    .merge = Merge,
    .finish = Finish,
    .pool = Pool,
    .rank = Rank,
};

}  // namespace aster::kernels
