// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The specification of every product: one output at a time, in plain C++, from the packed weights.
#include <cmath>

#include "kernels/activation_layout.h"
#include "kernels/matmul_table.h"
#include "kernels/packed.h"
#include "kernels/ref/activations_ref.h"
#include "quant/blocks.h"
#include "quant/half.h"
#include "quant/lattice.h"

namespace aster::kernels {
namespace {

using quant::HalfToFloat;

float Fma(float a, float b, float c) { return std::fmaf(a, b, c); }

// A row of the panel, as it is read out of packed quads.
int FourBits(const PackedQuads* quads, size_t quads_in_group, size_t row, size_t column) {
  const size_t quad = column / 4;
  const size_t half = quads_in_group / 2;
  return quads[quad % half][row][column % 4] >> (quad / half * 4) & 15;
}

int TwoBits(const PackedQuads& quads, size_t row, size_t column) {
  return quads[row][column % 4] >> (column / 4 * 2) & 3;
}

int OneBit(const PackedQuads& quads, size_t row, size_t column) {
  return quads[row][column % 4] >> (column / 4) & 1;
}

// --- Types with a scale per 32 weights: for each group, ascending,
//       acc = fma(float(dot), weight scale * activation scale, acc)

int Weight(const PackedQ8_0& block, size_t group, size_t row, size_t column) {
  return block.quants[group][column / 4][row][column % 4] - 128;
}
int Weight(const PackedQ4_0& block, size_t group, size_t row, size_t column) {
  return FourBits(block.quants[group], 8, row, column) - 8;
}
int Weight(const PackedMXFP4& block, size_t group, size_t row, size_t column) {
  return quant::kFp4Doubled[FourBits(block.quants[group], 8, row, column)];
}

float Scale(const PackedQ8_0& block, size_t group, size_t row) {
  return HalfToFloat(block.scales[group][row]);
}
float Scale(const PackedQ4_0& block, size_t group, size_t row) {
  return HalfToFloat(block.scales[group][row]);
}
// Half of 2^(exponent - 127), since weights are doubled; exponents 0 and 1 are zero, which is what
// flushing denormals would make of them.
float Scale(const PackedMXFP4& block, size_t group, size_t row) {
  const uint8_t exponent = block.exponents[group][row];
  return exponent < 2 ? 0.0f : quant::E8m0ToHalfFloat(exponent);
}

template <typename Block>
float ScaledProduct(const Block* blocks, size_t row, const uint8_t* activations, size_t columns) {
  const Int8Per32Layout layout = Int8Per32LayoutOf(columns);
  const auto* quants = reinterpret_cast<const int8_t*>(activations);
  const auto* scales = reinterpret_cast<const float*>(activations + layout.scales);
  float acc = 0.0f;
  for (size_t i = 0; i < layout.padded / 32; ++i) {
    const Block& block = blocks[i / 2];
    int dot = 0;
    for (size_t k = 0; k < 32; ++k) dot += Weight(block, i % 2, row, k) * quants[32 * i + k];
    acc = Fma(static_cast<float>(dot), Scale(block, i % 2, row) * scales[i], acc);
  }
  return acc;
}

// --- Super-blocks of 256 weights in groups with integer scales: for each block, ascending,
//       acc = fma(float(sum of scale * dot), block scale * activation scale, acc)
//     and then, where there are minima,
//       acc = fma(-float(sum of minimum * activation sum), min scale * activation scale, acc)

int Weight(const PackedQ2_K& block, size_t column, size_t row) {
  return TwoBits(block.quants[column / 16], row, column % 16);
}
int Weight(const PackedQ4_K& block, size_t column, size_t row) {
  return FourBits(block.quants[column / 32], 8, row, column % 32);
}
int Weight(const PackedQ5_K& block, size_t column, size_t row) {
  const auto& group = block.groups[column / 32];
  return FourBits(group.low, 8, row, column % 32) | OneBit(group.high, row, column % 32) << 4;
}
int Weight(const PackedQ6_K& block, size_t column, size_t row) {
  const auto& group = block.groups[column / 16];
  const int high = TwoBits(group.high, row, column % 16);
  return (FourBits(group.low, 4, row, column % 16) | high << 4) - 32;
}
int Weight(const PackedIQ2_XXS& block, size_t column, size_t row) {
  const auto& group = block.groups[column / 32];
  const size_t eight = column % 32 / 8;
  const uint32_t signs = quant::EvenSigns(group.signs_and_scale[row] >> (7 * eight) & 127);
  const int magnitude = quant::kIq2XxsGrid[group.points[eight][row]][column % 8];
  return (signs >> (column % 8) & 1) != 0 ? -magnitude : magnitude;
}

int ByteOf(const PackedPair* pairs, size_t group, size_t row) {
  return pairs[group / 2][row][group % 2];
}

int GroupScale(const PackedQ2_K& block, size_t group, size_t row) {
  return ByteOf(block.scales, group, row) & 15;
}
int GroupScale(const PackedQ4_K& block, size_t group, size_t row) {
  return ByteOf(block.scales, group, row);
}
int GroupScale(const PackedQ5_K& block, size_t group, size_t row) {
  return ByteOf(block.scales, group, row);
}
int GroupScale(const PackedQ6_K& block, size_t group, size_t row) {
  return static_cast<int8_t>(ByteOf(block.scales, group, row));
}
int GroupScale(const PackedIQ2_XXS& block, size_t group, size_t row) {
  return static_cast<int>(2 * (block.groups[group].signs_and_scale[row] >> 28) + 1);
}

int GroupMin(const PackedQ2_K& block, size_t group, size_t row) {
  return ByteOf(block.scales, group, row) >> 4;
}
int GroupMin(const PackedQ4_K& block, size_t group, size_t row) {
  return ByteOf(block.mins, group, row);
}
int GroupMin(const PackedQ5_K& block, size_t group, size_t row) {
  return ByteOf(block.mins, group, row);
}

template <typename Block>
concept HasMins = requires(const Block& block) { block.min_scale[0]; };

template <typename Block>
constexpr size_t kGroupColumns = 32;
template <>
constexpr size_t kGroupColumns<PackedQ2_K> = 16;
template <>
constexpr size_t kGroupColumns<PackedQ6_K> = 16;

template <typename Block>
float BlockScale(const Block& block, size_t row, float activation_scale) {
  return HalfToFloat(block.scale[row]) * activation_scale;
}
// The scales of the format are (2 s + 1) / 8.
float BlockScale(const PackedIQ2_XXS& block, size_t row, float activation_scale) {
  return HalfToFloat(block.scale[row]) * activation_scale * 0.125f;
}

template <typename Block>
float SuperProduct(const Block* blocks, size_t row, const uint8_t* activations, size_t columns) {
  const auto* quants = reinterpret_cast<const int8_t*>(activations);
  const size_t scales_offset = Int8Per256LayoutOf(columns).scales;
  const auto* scales = reinterpret_cast<const float*>(activations + scales_offset);
  float acc = 0.0f;
  for (size_t i = 0; i < columns / 256; ++i, quants += 256) {
    const Block& block = blocks[i];
    int scaled_dot = 0;
    int scaled_sum = 0;
    for (size_t k = 0; k < 256; ++k) {
      const size_t group = k / kGroupColumns<Block>;
      scaled_dot += GroupScale(block, group, row) * Weight(block, k, row) * quants[k];
      if constexpr (HasMins<Block>) scaled_sum += GroupMin(block, group, row) * quants[k];
    }
    acc = Fma(static_cast<float>(scaled_dot), BlockScale(block, row, scales[i]), acc);
    if constexpr (HasMins<Block>) {
      const float min_scale = HalfToFloat(block.min_scale[row]) * scales[i];
      acc = Fma(-static_cast<float>(scaled_sum), min_scale, acc);
    }
  }
  return acc;
}

// --- Floats: one chain, ascending; of bfloat16 two, of the even and of the odd columns of 32.

float FloatProduct(const PackedF32* blocks, size_t row, const uint8_t* activations,
                   size_t columns) {
  const auto* values = reinterpret_cast<const float*>(activations);
  float acc = 0.0f;
  for (size_t k = 0; k < columns; ++k) acc = Fma(blocks[k].values[row], values[k], acc);
  return acc;
}

float FloatProduct(const PackedF16* blocks, size_t row, const uint8_t* activations,
                   size_t columns) {
  const auto* values = reinterpret_cast<const float*>(activations);
  float acc = 0.0f;
  for (size_t k = 0; k < columns; ++k) {
    acc = Fma(HalfToFloat(blocks[k / 2].values[k % 2][row]), values[k], acc);
  }
  return acc;
}

float FloatProduct(const PackedBF16* blocks, size_t row, const uint8_t* activations,
                   size_t columns) {
  using quant::Bfloat16ToFloat;
  const auto* values = reinterpret_cast<const uint16_t*>(activations);
  float acc = 0.0f;
  for (size_t i = 0; i < (columns + 31) / 32; ++i, values += 32) {
    float even = 0.0f;
    float odd = 0.0f;
    for (size_t pair = 0; pair < 16; ++pair) {
      const uint16_t(&weights)[2] = blocks[i].pairs[pair][row];
      even = Fma(Bfloat16ToFloat(weights[0]), Bfloat16ToFloat(values[2 * pair]), even);
      odd = Fma(Bfloat16ToFloat(weights[1]), Bfloat16ToFloat(values[2 * pair + 1]), odd);
    }
    acc = acc + (even + odd);
  }
  return acc;
}

// --- The whole product.

template <typename Block>
using Product = float (*)(const Block* blocks, size_t row, const uint8_t* activations,
                          size_t columns);

template <typename Block, Product<Block> kProduct>
void Products(const MatmulJob& job, size_t panel_begin, size_t panel_end) {
  const size_t panel_blocks = (job.columns + Block::kColumns - 1) / Block::kColumns;
  for (size_t i = 0; i < job.batch; ++i) {
    const size_t from = job.from_rows == nullptr ? i : job.from_rows[i];
    const size_t to = job.to_rows == nullptr ? i : job.to_rows[i];
    const auto* activations =
        static_cast<const uint8_t*>(job.activations) + from * job.activation_stride;
    float* out = job.out + to * job.out_stride;
    for (size_t row = panel_begin * kPanelRows; row < panel_end * kPanelRows; ++row) {
      if (row >= job.rows) break;
      const auto* panel = static_cast<const Block*>(job.weights) + row / kPanelRows * panel_blocks;
      out[row] = kProduct(panel, row % kPanelRows, activations, job.columns);
    }
  }
}

}  // namespace

const MatmulTable kMatmulRef = {
    .products = {Products<PackedF32, FloatProduct>, Products<PackedF16, FloatProduct>,
                 Products<PackedBF16, FloatProduct>, Products<PackedQ8_0, ScaledProduct>,
                 Products<PackedQ4_0, ScaledProduct>, Products<PackedMXFP4, ScaledProduct>,
                 Products<PackedQ2_K, SuperProduct>, Products<PackedQ4_K, SuperProduct>,
                 Products<PackedQ5_K, SuperProduct>, Products<PackedQ6_K, SuperProduct>,
                 Products<PackedIQ2_XXS, SuperProduct>},
    .prepare = {PrepareF32Ref, PrepareBF16Ref, PrepareInt8Per32Ref, PrepareInt8Per256Ref},
};

}  // namespace aster::kernels
