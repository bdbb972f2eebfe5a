// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Eight floats side by side, for searches that try eight scales at once. Every operation is the
// IEEE one on each lane and nothing is fused or reordered, so results have the same bits on every
// machine. Not for inference: kernels/ has its loops.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>

namespace aster::quant {

inline constexpr size_t kLanes = 8;

class Lanes {
 public:
  using Four = float __attribute__((vector_size(16)));

  Lanes() : low_{}, high_{} {}
  explicit Lanes(float value)
      : low_{value, value, value, value}, high_{value, value, value, value} {}
  Lanes(Four low, Four high) : low_(low), high_(high) {}
  static Lanes Load(const float* values) {
    Lanes lanes;
    std::memcpy(&lanes.low_, values, sizeof(Four));
    std::memcpy(&lanes.high_, values + 4, sizeof(Four));
    return lanes;
  }
  void Store(float* values) const {
    std::memcpy(values, &low_, sizeof(Four));
    std::memcpy(values + 4, &high_, sizeof(Four));
  }
  std::array<float, kLanes> ToArray() const {
    std::array<float, kLanes> values;
    Store(values.data());
    return values;
  }

  // Always summed in the same order.
  float Sum() const {
    const Four sums = low_ + high_;
    return (sums[0] + sums[2]) + (sums[1] + sums[3]);
  }

  friend Lanes operator+(Lanes a, Lanes b) { return {a.low_ + b.low_, a.high_ + b.high_}; }
  friend Lanes operator-(Lanes a, Lanes b) { return {a.low_ - b.low_, a.high_ - b.high_}; }
  friend Lanes operator*(Lanes a, Lanes b) { return {a.low_ * b.low_, a.high_ * b.high_}; }
  friend Lanes operator/(Lanes a, Lanes b) { return {a.low_ / b.low_, a.high_ / b.high_}; }
  Lanes& operator+=(Lanes other) { return *this = *this + other; }

  // For numbers; if `a` is NaN, the result is b's lane.
  friend Lanes Min(Lanes a, Lanes b) { return {Min4(a.low_, b.low_), Min4(a.high_, b.high_)}; }
  friend Lanes Max(Lanes a, Lanes b) { return {Max4(a.low_, b.low_), Max4(a.high_, b.high_)}; }

 private:
  static Four Min4(Four a, Four b) { return a < b ? a : b; }
  static Four Max4(Four a, Four b) { return a > b ? a : b; }

  Four low_;
  Four high_;
};

// To the nearest whole number, ties to even, for |value| < 2^22: floats beyond 2^23 have no
// fraction, so adding 1.5 * 2^23 rounds.
inline constexpr float kRounder = 0x1.8p23f;
inline float RoundToEven(float value) { return (value + kRounder) - kRounder; }
inline Lanes RoundToEven(Lanes value) { return (value + Lanes(kRounder)) - Lanes(kRounder); }

inline Lanes Clamp(Lanes value, Lanes low, Lanes high) { return Min(Max(value, low), high); }

}  // namespace aster::quant
