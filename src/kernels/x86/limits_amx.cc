// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <immintrin.h>

#include "kernels/limits.h"

namespace aster::kernels {
namespace {

constexpr int kTiles = 8;
constexpr int kRows = 16;
constexpr int kRowBytes = 64;
// Four tiles of sums, two of the left factor and two of the right: each pair once.
constexpr int kSums = 4;

// In the processor's format (LDTILECFG).
struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfig) == 64);

uint64_t Dot(uint64_t rounds) {
  TileConfig config;
  for (int i = 0; i < kTiles; ++i) {
    config.row_bytes[i] = kRowBytes;
    config.rows[i] = kRows;
  }
  _tile_loadconfig(&config);
  alignas(64) uint8_t ones[kRows * kRowBytes];
  for (uint8_t& one : ones) one = 1;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_loadd(4, ones, kRowBytes);
  _tile_loadd(5, ones, kRowBytes);
  _tile_loadd(6, ones, kRowBytes);
  _tile_loadd(7, ones, kRowBytes);
  for (uint64_t round = 0; round < rounds; ++round) {
    _tile_dpbusd(0, 4, 6);
    _tile_dpbusd(1, 4, 7);
    _tile_dpbusd(2, 5, 6);
    _tile_dpbusd(3, 5, 7);
  }
  alignas(64) uint32_t sums[kSums][kRows * kRowBytes / sizeof(uint32_t)];
  _tile_stored(0, sums[0], kRowBytes);
  _tile_stored(1, sums[1], kRowBytes);
  _tile_stored(2, sums[2], kRowBytes);
  _tile_stored(3, sums[3], kRowBytes);
  _tile_release();
  uint64_t total = 0;
  for (const auto& tile : sums) {
    for (const uint32_t sum : tile) total += sum;
  }
  return total;
}

// Tiles do not read memory faster than registers do: four streams side by side, for machines on
// which one stream does not use the whole bandwidth.
uint64_t Read(const uint8_t* bytes, size_t count) {
  constexpr size_t kStreams = 4;
  const size_t part = count / kStreams;
  __m512i sums[kStreams];
  for (__m512i& sum : sums) sum = _mm512_setzero_si512();
  for (size_t i = 0; i < part; i += sizeof(__m512i)) {
    for (size_t k = 0; k < kStreams; ++k) {
      sums[k] = _mm512_add_epi64(sums[k], _mm512_load_si512(bytes + k * part + i));
    }
  }
  uint64_t total = 0;
  for (const __m512i& sum : sums) {
    alignas(64) uint64_t lanes[8];
    _mm512_store_si512(lanes, sum);
    for (const uint64_t lane : lanes) total += lane;
  }
  return total;
}

}  // namespace

const LimitLoops kLimitsAmx = {"tdpbusd", uint64_t{kSums} * kRows* kRows* kRowBytes, Dot, Read};

}  // namespace aster::kernels
