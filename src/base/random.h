// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Random numbers that are addressed, not streamed: the number at (seed, stream, index) is always
// the same, on every machine, in any order and pieces. Not for secrets.
//
// The generator is Philox4x32 with ten rounds (Salmon, Moraes, Dror, Shaw: "Parallel random
// numbers: as easy as 1, 2, 3", 2011). Floating-point numbers are made with basic IEEE operations
// only, each rounded once, so that they do not depend on a platform's mathematics library.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace aster {

// Four words from a 128-bit counter and a 64-bit key.
using PhiloxBlock = std::array<uint32_t, 4>;
PhiloxBlock Philox(const PhiloxBlock& counter, const std::array<uint32_t, 2>& key);

// out[i] is the normal number (mean 0, deviation 1) at (seed, stream, first_index + i): the whole
// array may be filled in pieces, by any number of threads. Full Gaussian shape, tails to ±6.6.
void FillNormal(uint64_t seed, uint64_t stream, uint64_t first_index, std::span<float> out);

// out[i] is the number in [0, 1) at (seed, stream, first_index + i), a multiple of 2^-24.
void FillUniform(uint64_t seed, uint64_t stream, uint64_t first_index, std::span<float> out);

// An unpredictable seed from the system; different every time. For hash tables with untrusted keys,
// and for users who set no seed.
uint64_t SystemSeed();

// Successive numbers of one stream. Not for concurrent use; copies continue independently.
class Random {
 public:
  explicit Random(uint64_t seed, uint64_t stream = 0) : seed_(seed), stream_(stream) {}

  uint32_t NextU32();
  uint64_t NextU64();
  // Uniform below `bound` (at least one).
  uint64_t NextBelow(uint64_t bound);
  // In [0, 1): multiples of 2^-24 and 2^-53.
  float NextFloat();
  double NextDouble();
  float NextNormal();

 private:
  uint64_t seed_;
  uint64_t stream_;
  uint64_t next_block_ = 0;
  PhiloxBlock block_{};
  size_t used_ = 4;  // words of block_
};

}  // namespace aster
