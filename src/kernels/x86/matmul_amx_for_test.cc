// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/x86/matmul_amx_for_test.h"

#include <type_traits>

#include "kernels/x86/amx_check_body.h"
#include "kernels/x86/matmul_amx_table.h"

namespace aster::kernels {
namespace {

constexpr int kTileCount = 8;

struct TileState {
  TileSizes sizes;
  bool configured = false;
  alignas(64) uint8_t bytes[kTileCount][16][64];
};
thread_local TileState state;

// Traps if the processor would refuse an instruction.
void Require(bool allowed) {
  if (!allowed) __builtin_trap();
}

float Widened(const uint8_t* bfloat16) {
  uint16_t half;
  __builtin_memcpy(&half, bfloat16, sizeof(half));
  const uint32_t bits = static_cast<uint32_t>(half) << 16;
  float value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
}

// Tiles by Intel's pseudo-code, in the float mode of the thread.
template <TestTiles kind>
struct EmulatedTiles {
  static void Configure(const TileSizes& sizes) {
    Require(sizes.palette == 1 && sizes.start_row == 0);
    for (int i = 0; i < kTileCount; ++i) Require(sizes.rows[i] <= 16 && sizes.row_bytes[i] <= 64);
    state.sizes = sizes;
    state.configured = true;
    __builtin_memset(state.bytes, 0, sizeof(state.bytes));
  }
  static void Release() { state.configured = false; }

  template <int tile>
  static void Zero() {
    Require(state.configured && state.sizes.rows[tile] > 0);
    __builtin_memset(state.bytes[tile], 0, sizeof(state.bytes[tile]));
  }
  template <int tile>
  static void Load(const void* from, size_t stride) {
    Zero<tile>();
    for (int row = 0; row < state.sizes.rows[tile]; ++row) {
      __builtin_memcpy(state.bytes[tile][row], static_cast<const uint8_t*>(from) + row * stride,
                       state.sizes.row_bytes[tile]);
    }
  }
  template <int tile>
  static void Store(void* to, size_t stride) {
    Require(state.configured);
    for (int row = 0; row < state.sizes.rows[tile]; ++row) {
      __builtin_memcpy(static_cast<uint8_t*>(to) + row * stride, state.bytes[tile][row],
                       state.sizes.row_bytes[tile]);
    }
  }

  template <int sums, int left, int right>
  static void AddSignedDots() {
    AddDots<sums, left, right, int8_t>();
  }
  template <int sums, int left, int right>
  static void AddUnsignedDots() {
    using Right = std::conditional_t<kind == TestTiles::kSignedBytes, int8_t, uint8_t>;
    AddDots<sums, left, right, Right>();
  }

  template <int sums, int left, int right>
  static void AddBfloat16Dots() {
    RequireSizes<sums, left, right>();
    const unsigned mode = _mm_getcsr();
    constexpr unsigned kFlushing = 0x8040;
    if (kind == TestTiles::kDenormals) _mm_setcsr(mode & ~kFlushing);
    AddPairs(sums, left, right);
    _mm_setcsr(mode);
  }

 private:
  [[gnu::noinline]] static void AddPairs(int sums, int left, int right) {
    for (int m = 0; m < state.sizes.rows[sums]; ++m) {
      for (int n = 0; n < state.sizes.row_bytes[sums] / 4; ++n) {
        float& sum = *reinterpret_cast<float*>(&state.bytes[sums][m][4 * n]);
        float chains[2] = {0.0f, 0.0f};
        for (int k = 0; k < state.sizes.row_bytes[left] / 4; ++k) {
          for (int i = 0; i < 2; ++i) {
            const float a = Widened(&state.bytes[left][m][4 * k + 2 * i]);
            const float b = Widened(&state.bytes[right][k][4 * n + 2 * i]);
            float& chain = chains[kind == TestTiles::kOneChain ? 0 : i];
            chain = __builtin_fmaf(a, b, chain);
          }
        }
        sum = sum + (chains[0] + chains[1]);
      }
    }
  }

  template <int sums, int left, int right>
  static void RequireSizes() {
    const TileSizes& sizes = state.sizes;
    Require(state.configured && sums != left && sums != right && left != right);
    Require(sizes.rows[sums] > 0 && sizes.rows[sums] == sizes.rows[left]);
    Require(sizes.row_bytes[sums] == sizes.row_bytes[right]);
    Require(sizes.row_bytes[left] == 4 * sizes.rows[right]);
  }

  template <int sums, int left, int right, typename Right>
  static void AddDots() {
    RequireSizes<sums, left, right>();
    for (int m = 0; m < state.sizes.rows[sums]; ++m) {
      auto* row = reinterpret_cast<int32_t*>(state.bytes[sums][m]);
      for (int k = 0; k < state.sizes.row_bytes[left] / 4; ++k) {
        for (int n = 0; n < state.sizes.row_bytes[sums] / 4; ++n) {
          int32_t dot = 0;
          for (int i = 0; i < 4; ++i) {
            dot += static_cast<int8_t>(state.bytes[left][m][4 * k + i]) *
                   static_cast<Right>(state.bytes[right][k][4 * n + i]);
          }
          if (kind == TestTiles::kSaturatingBytes && dot > 32767) dot = 32767;
          row[n] += dot;
        }
      }
    }
  }
};

}  // namespace

const MatmulTable kMatmulEmulatedAmx = kTableOf<EmulatedTiles<TestTiles::kRight>>;

bool TestTilesComputeAsDescribed(TestTiles tiles) {
  switch (tiles) {
    case TestTiles::kRight:
      return TilesComputeAsDescribed<EmulatedTiles<TestTiles::kRight>>();
    case TestTiles::kSaturatingBytes:
      return TilesComputeAsDescribed<EmulatedTiles<TestTiles::kSaturatingBytes>>();
    case TestTiles::kSignedBytes:
      return TilesComputeAsDescribed<EmulatedTiles<TestTiles::kSignedBytes>>();
    case TestTiles::kOneChain:
      return TilesComputeAsDescribed<EmulatedTiles<TestTiles::kOneChain>>();
    case TestTiles::kDenormals:
      return TilesComputeAsDescribed<EmulatedTiles<TestTiles::kDenormals>>();
  }
  return false;
}

}  // namespace aster::kernels
