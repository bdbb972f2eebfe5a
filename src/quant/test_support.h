// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Random numbers for quant/'s tests: the same on every machine and with every library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace aster::quant {

class TestRandom {
 public:
  explicit TestRandom(uint64_t seed) : state_(seed) {}

  // SplitMix64.
  uint64_t Next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  // In [0, 1), with 24 bits.
  float Uniform() { return static_cast<float>(Next() >> 40) * 0x1p-24f; }

  // Close to normal, of mean 0 and deviation 1: the sum of twelve uniforms, so that no library's
  // logarithm is involved.
  float Gaussian() {
    float sum = -6.0f;
    for (int i = 0; i < 12; ++i) sum += Uniform();
    return sum;
  }

  std::vector<float> GaussianRow(size_t count, float deviation = 1.0f) {
    std::vector<float> row(count);
    for (float& value : row) value = deviation * Gaussian();
    return row;
  }

  std::vector<uint8_t> Bytes(size_t count) {
    std::vector<uint8_t> bytes(count);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(Next() >> 56);
    return bytes;
  }

 private:
  uint64_t state_;
};

}  // namespace aster::quant
