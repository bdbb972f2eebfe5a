// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/limits.h"

namespace aster::kernels {
namespace {

constexpr size_t kLanes = 32;

uint64_t Dot(uint64_t rounds) {
  int32_t sums[kLanes] = {};
  int16_t factors[kLanes];
  for (int16_t& factor : factors) factor = 1;
  for (uint64_t round = 0; round < rounds; ++round) {
    // The compiler must not know that the factors do not change.
    __asm__ volatile("" : "+m"(factors));
    for (size_t i = 0; i < kLanes; ++i) sums[i] += factors[i] * factors[i];
  }
  uint64_t sum = 0;
  for (const int32_t lane : sums) sum += static_cast<uint32_t>(lane);
  return sum;
}

uint64_t Read(const uint8_t* bytes, size_t count) {
  constexpr size_t kWords = 8;
  uint64_t sums[kWords] = {};
  const auto* words = reinterpret_cast<const uint64_t*>(bytes);
  for (size_t i = 0; i < count / sizeof(uint64_t); i += kWords) {
    for (size_t k = 0; k < kWords; ++k) sums[k] += words[i + k];
  }
  uint64_t sum = 0;
  for (const uint64_t part : sums) sum += part;
  return sum;
}

}  // namespace

const LimitLoops kLimitsRef = {"plain C++", kLanes, Dot, Read};

}  // namespace aster::kernels
