// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/ops.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/ref/math.h"
#include "quant/half.h"

namespace aster::kernels {
namespace {

constexpr size_t kLanes = 16;
constexpr size_t kQ8Group = 32;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <float (*kFunction)(float)>
void Map(const float* x, size_t count, float* y) {
  for (size_t i = 0; i < count; ++i) y[i] = kFunction(x[i]);
}

float SumTree(float* lanes) {
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

float MaxTree(float* lanes) {
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) lanes[i] = ref::Max(lanes[i], lanes[i + half]);
  }
  return lanes[0];
}

void Swiglu(const float* gate, const float* up, size_t count, float limit, float* y) {
  for (size_t i = 0; i < count; ++i) y[i] = ref::Swiglu(gate[i], up[i], limit);
}
void SwigluOai(const float* gate, const float* up, size_t count, float limit, float* y) {
  for (size_t i = 0; i < count; ++i) y[i] = ref::SwigluOai(gate[i], up[i], limit);
}
void Geglu(const float* gate, const float* up, size_t count, float limit, float* y) {
  for (size_t i = 0; i < count; ++i) y[i] = ref::Geglu(gate[i], up[i], limit);
}
void Softcap(const float* x, size_t count, float cap, float* y) {
  for (size_t i = 0; i < count; ++i) y[i] = ref::Softcap(x[i], cap);
}

void Add(const float* a, const float* b, size_t count, float* y) {
  for (size_t i = 0; i < count; ++i) y[i] = a[i] + b[i];
}

void Multiply(const float* a, const float* b, size_t count, float* y) {
  for (size_t i = 0; i < count; ++i) y[i] = a[i] * b[i];
}

void Scale(const float* x, size_t count, float factor, float* y) {
  for (size_t i = 0; i < count; ++i) y[i] = x[i] * factor;
}

void AddScaled(const float* x, size_t count, float factor, float* y) {
  for (size_t i = 0; i < count; ++i) y[i] = std::fma(x[i], factor, y[i]);
}

void RmsNorm(const float* x, size_t x_stride, size_t rows, size_t count, const float* weight,
             float epsilon, float* y, size_t y_stride) {
  for (size_t row = 0; row < rows; ++row, x += x_stride, y += y_stride) {
    float lanes[kLanes] = {};
    for (size_t i = 0; i < count; ++i) lanes[i % kLanes] = std::fma(x[i], x[i], lanes[i % kLanes]);
    const float mean = SumTree(lanes) / static_cast<float>(count);
    const float factor = 1.0f / std::sqrt(mean + epsilon);
    for (size_t i = 0; i < count; ++i) {
      y[i] = x[i] * factor;
      if (weight != nullptr) y[i] *= weight[i];
    }
  }
}

void Softmax(const float* x, size_t count, float* y) {
  float lanes[kLanes];
  std::fill_n(lanes, kLanes, -kInfinity);
  for (size_t i = 0; i < count; ++i) lanes[i % kLanes] = ref::Max(x[i], lanes[i % kLanes]);
  const float max = MaxTree(lanes);
  const float base = max == -kInfinity ? 0.0f : max;
  std::fill_n(lanes, kLanes, 0.0f);
  for (size_t i = 0; i < count; ++i) {
    y[i] = ref::Exp(x[i] - base);
    lanes[i % kLanes] += y[i];
  }
  const float sum = SumTree(lanes);
  for (size_t i = 0; i < count; ++i) y[i] = sum == 0.0f ? 0.0f : y[i] / sum;
}

size_t Argmax(const float* x, size_t count) {
  size_t index = 0;
  float best = -kInfinity;
  for (size_t i = 0; i < count; ++i) {
    if (x[i] > best) {
      best = x[i];
      index = i;
    }
  }
  return index;
}

void Rope(float* x, size_t stride, size_t rows, size_t pairs, const float* cosines,
          const float* sines, RopeLayout layout, bool inverse) {
  for (size_t row = 0; row < rows; ++row, x += stride) {
    for (size_t i = 0; i < pairs; ++i) {
      float& u = x[layout == RopeLayout::kAdjacent ? 2 * i : i];
      float& v = x[layout == RopeLayout::kAdjacent ? 2 * i + 1 : i + pairs];
      const float sine = inverse ? -sines[i] : sines[i];
      const float turned_u = std::fma(v, -sine, u * cosines[i]);
      v = std::fma(u, sine, v * cosines[i]);
      u = turned_u;
    }
  }
}

void Hadamard(float* x, size_t stride, size_t rows, size_t count) {
  // 1 / sqrt(count): exact for powers of four, otherwise a power of two times 1 / sqrt 2.
  const int exponent = std::countr_zero(count);
  const float factor = std::ldexp(exponent % 2 == 0 ? 1.0f : 0x1.6a09e6p-1f, -(exponent / 2));
  for (size_t row = 0; row < rows; ++row, x += stride) {
    for (size_t distance = 1; distance < count; distance *= 2) {
      for (size_t i = 0; i < count; ++i) {
        if ((i & distance) != 0) continue;
        const float sum = x[i] + x[i + distance];
        x[i + distance] = x[i] - x[i + distance];
        x[i] = sum;
      }
    }
    for (size_t i = 0; i < count; ++i) x[i] *= factor;
  }
}

void ToF16(const float* x, size_t count, uint16_t* y) {
  for (size_t i = 0; i < count; ++i) y[i] = quant::FloatToHalf(x[i]);
}

void ToBf16(const float* x, size_t count, uint16_t* y) {
  for (size_t i = 0; i < count; ++i) y[i] = quant::FloatToBfloat16(x[i]);
}

void FromF16(const uint16_t* x, size_t count, float* y) {
  for (size_t i = 0; i < count; ++i) {
    y[i] = quant::HalfToFloat(x[i]);
    // Conversion instructions make every NaN quiet.
    if (std::isnan(y[i])) y[i] = std::bit_cast<float>(std::bit_cast<uint32_t>(y[i]) | 0x400000u);
  }
}

void FromBf16(const uint16_t* x, size_t count, float* y) {
  for (size_t i = 0; i < count; ++i) y[i] = quant::Bfloat16ToFloat(x[i]);
}

void ToQ8(const float* x, size_t count, int8_t* quants, uint16_t* scales) {
  for (size_t begin = 0; begin < count; begin += kQ8Group) {
    const size_t end = std::min(count, begin + kQ8Group);
    float largest = 0.0f;
    bool finite = true;
    for (size_t i = begin; i < end; ++i) {
      finite = finite && std::isfinite(x[i]);
      largest = ref::Max(std::fabs(x[i]), largest);
    }
    uint16_t half = quant::FloatToHalf(largest / 127.0f);
    if (!finite || half == 0x7c00) half = 0x7e00;
    const float scale = quant::HalfToFloat(half);
    const bool usable = scale > 0.0f;
    const float inverse = usable ? 1.0f / scale : 0.0f;
    for (size_t i = begin; i < end; ++i) {
      const float scaled = usable ? x[i] * inverse : 0.0f;
      const float clamped = std::clamp(scaled, -127.0f, 127.0f);
      quants[i] = static_cast<int8_t>(clamped + kRoundingShift - kRoundingShift);
    }
    scales[begin / kQ8Group] = half;
  }
}

void FromQ8(const int8_t* quants, const uint16_t* scales, size_t count, float* y) {
  for (size_t i = 0; i < count; ++i) {
    y[i] = static_cast<float>(quants[i]) * quant::HalfToFloat(scales[i / kQ8Group]);
  }
}

// Unsigned, because a sum of hostile terms may wrap.
int64_t WrappingAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

void FixedAccumulate(int64_t* sums, const float* y, size_t count, float weight) {
  // Exact: two floats have 48 significant bits together.
  const double factor = static_cast<double>(weight) * kFixedScale;
  for (size_t i = 0; i < count; ++i) {
    const double term = static_cast<double>(y[i]) * factor;
    int64_t rounded = kFixedNotFinite;
    if (std::isfinite(term)) {
      const double clamped = std::clamp(term, -kFixedTermLimit, kFixedTermLimit);
      constexpr double kShift = 0x1.8p52;
      rounded = static_cast<int64_t>(clamped + kShift - kShift);
    }
    sums[i] = WrappingAdd(sums[i], rounded);
  }
}

void FixedAdd(int64_t* sums, const int64_t* more, size_t count) {
  for (size_t i = 0; i < count; ++i) sums[i] = WrappingAdd(sums[i], more[i]);
}

void FixedFinish(const int64_t* sums, size_t count, float* y) {
  for (size_t i = 0; i < count; ++i) {
    const bool finite = sums[i] >= -kFixedSumLimit && sums[i] <= kFixedSumLimit;
    y[i] = finite ? static_cast<float>(static_cast<double>(sums[i]) * (1.0 / kFixedScale))
                  : std::numeric_limits<float>::quiet_NaN();
  }
}

}  // namespace

const OpsTable kOpsRef = {
    .exp = Map<ref::Exp>,
    .sigmoid = Map<ref::Sigmoid>,
    .silu = Map<ref::Silu>,
    .softplus = Map<ref::Softplus>,
    .sqrt_softplus = Map<ref::SqrtSoftplus>,
    .swiglu = Swiglu,
    .swiglu_oai = SwigluOai,
    .geglu = Geglu,
    .softcap = Softcap,
    .add = Add,
    .multiply = Multiply,
    .scale = Scale,
    .add_scaled = AddScaled,
    .rms_norm = RmsNorm,
    .softmax = Softmax,
    .argmax = Argmax,
    .rope = Rope,
    .hadamard = Hadamard,
    .to_f16 = ToF16,
    .to_bf16 = ToBf16,
    .from_f16 = FromF16,
    .from_bf16 = FromBf16,
    .to_q8 = ToQ8,
    .from_q8 = FromQ8,
    .fixed_accumulate = FixedAccumulate,
    .fixed_add = FixedAdd,
    .fixed_finish = FixedFinish,
};

}  // namespace aster::kernels
