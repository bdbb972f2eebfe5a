// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The tile registers of AMX, for matmul_amx_body.h. Eight of them, by number; each up to sixteen
// rows of up to 64 bytes. Only for sources of machines that have them: everything is in an unnamed
// namespace. Must not know products.
#pragma once

#include <cstddef>
#include <cstdint>

namespace aster::kernels {
namespace {

// The size of each tile, in the processor's format (LDTILECFG).
struct alignas(64) TileSizes {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};

  void Set(int tile, size_t row_count, size_t byte_count) {
    rows[tile] = static_cast<uint8_t>(row_count);
    row_bytes[tile] = static_cast<uint16_t>(byte_count);
  }
};
static_assert(sizeof(TileSizes) == 64);

// One instruction each. Assembly, because compilers' own functions need tile numbers as literals,
// and GCC 12's do not say that they access memory.
struct AmxTiles {
  static void Configure(const TileSizes& sizes) {
    asm volatile("ldtilecfg %0" : : "m"(sizes) : "memory");
  }
  // Also tells the system that there are no tiles to save when it switches threads.
  static void Release() { asm volatile("tilerelease" : : : "memory"); }

  template <int tile>
  static void Zero() {
    asm volatile("tilezero %%tmm%c0" : : "i"(tile));
  }
  // Rows `stride` bytes apart.
  template <int tile>
  static void Load(const void* from, size_t stride) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(stride), "i"(tile) : "memory");
  }
  template <int tile>
  static void Store(void* to, size_t stride) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(stride), "i"(tile) : "memory");
  }

  // sums[m][n] += left[m][4 k + i] * right[k][4 n + i] over all k and i < 4, in int32. Both signed:
  template <int sums, int left, int right>
  static void AddSignedDots() {
    asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(sums), "i"(left), "i"(right));
  }
  // With the right one unsigned.
  template <int sums, int left, int right>
  static void AddUnsignedDots() {
    asm volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(sums), "i"(left), "i"(right));
  }
  // The same for pairs of bfloat16. Intel's pseudo-code of TDPBF16PS: for each output two sums from
  // zero, of the first and of the second of every pair, each a chain of fused multiply-adds with
  // ascending k; then their sum, rounded; then that is added to the output. Round to nearest even,
  // denormals count as zero, whatever MXCSR says. With sixteen pairs in a row that is the
  // arithmetic of 32 columns in docs/arithmetic.md, so the output stays in its tile from the first
  // column to the last.
  template <int sums, int left, int right>
  static void AddBfloat16Dots() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(sums), "i"(left), "i"(right));
  }
};

}  // namespace
}  // namespace aster::kernels
