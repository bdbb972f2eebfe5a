// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The specification of every product: one output at a time, in plain C++, from the packed weights.
#include <algorithm>
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

// One prepared row of activations.
class Row {
 public:
  Row(const MatmulJob& job, ActivationFormat format, size_t row) {
    const ActivationLayout layout = ActivationLayoutOf(format, job.columns);
    const ActivationRow place = ActivationRowAt(layout, job.activation_rows, row);
    pieces_ = static_cast<const uint8_t*>(job.activations) + place.pieces;
    words_ = static_cast<const uint8_t*>(job.activations) + place.words;
    group_rows_ = place.group_rows;
  }

  template <typename Value>
  Value value(size_t index) const {
    constexpr size_t kCount = kPieceBytes / sizeof(Value);
    const uint8_t* piece = pieces_ + index / kCount * group_rows_ * kPieceBytes;
    return reinterpret_cast<const Value*>(piece)[index % kCount];
  }
  template <typename Word>
  Word word(size_t index) const {
    return *reinterpret_cast<const Word*>(words_ + index * group_rows_ * kWordBytes);
  }
  float scale(size_t index) const { return word<float>(index); }

 private:
  const uint8_t* pieces_;
  const uint8_t* words_;
  size_t group_rows_;
};

float Fma(float a, float b, float c) { return std::fmaf(a, b, c); }

// Weights of a panel's row in packed quads.
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
//     and then, if there are offsets,
//       acc = fma(-float(-8 * activation sum), offset / 8 * activation scale, acc)

int Weight(const PackedQ8_0& block, size_t group, size_t row, size_t column) {
  return block.quants[group][column / 4][row][column % 4] - 128;
}
int Weight(const PackedQ4_0& block, size_t group, size_t row, size_t column) {
  return FourBits(block.quants[group], 8, row, column) - 8;
}
int Weight(const PackedMXFP4& block, size_t group, size_t row, size_t column) {
  return quant::kFp4Doubled[FourBits(block.quants[group], 8, row, column)];
}

int Weight(const PackedIQ4_NL& block, size_t group, size_t row, size_t column) {
  return quant::kIq4Levels[FourBits(block.quants[group], 8, row, column)];
}
int Weight(const PackedQ5_1& block, size_t group, size_t row, size_t column) {
  const auto& quants = block.groups[group];
  return FourBits(quants.low, 8, row, column) | OneBit(quants.high, row, column) << 4;
}

float Scale(const PackedQ8_0& block, size_t group, size_t row) {
  return HalfToFloat(block.scales[group][row]);
}
float Scale(const PackedQ4_0& block, size_t group, size_t row) {
  return HalfToFloat(block.scales[group][row]);
}
float Scale(const PackedIQ4_NL& block, size_t group, size_t row) {
  return HalfToFloat(block.scales[group][row]);
}
float Scale(const PackedQ5_1& block, size_t group, size_t row) {
  return HalfToFloat(block.scales[group][row]);
}
// Half of 2^(exponent - 127), since weights are doubled; zero (denormal) for exponents 0 and 1.
float Scale(const PackedMXFP4& block, size_t group, size_t row) {
  const uint8_t exponent = block.exponents[group][row];
  return exponent < 2 ? 0.0f : quant::E8m0ToHalfFloat(exponent);
}

template <typename Block>
float ScaledProduct(const Block* blocks, size_t output, const Row& row, size_t columns) {
  float acc = 0.0f;
  // Two groups a block; the second of the last block may be zeros.
  for (size_t i = 0; i < (columns + 63) / 64 * 2; ++i) {
    const Block& block = blocks[i / 2];
    int dot = 0;
    for (size_t k = 0; k < 32; ++k) {
      dot += Weight(block, i % 2, output, k) * row.value<int8_t>(32 * i + k);
    }
    const float activation_scale = row.scale(i / 2 * kPer32Words + kPer32Scale + i % 2);
    acc = Fma(static_cast<float>(dot), Scale(block, i % 2, output) * activation_scale, acc);
    if constexpr (requires { block.offsets; }) {
      const auto start = row.word<int32_t>(i / 2 * kPer32Words + kPer32Start8 + i % 2);
      const float offset = HalfToFloat(block.offsets[i % 2][output]) * 0.125f;
      acc = Fma(-static_cast<float>(start), offset * activation_scale, acc);
    }
  }
  return acc;
}

// --- Super-blocks of 256 weights in groups with integer scales: for each block, ascending,
//       acc = fma(float(sum of scale * dot), block scale * activation scale, acc)
//     and then, if there are minima,
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
  const size_t point = column % 32 / 8;
  uint32_t seven = 0;
  for (size_t i = 0; i < 7; ++i) {
    const size_t bit = 8 * (i % 4) + Iq2SignBit(static_cast<int>(2 * point + i / 4));
    seven |= (group.signs_and_scale[row] >> bit & 1) << i;
  }
  const int magnitude = quant::kIq2XxsGrid[group.points[row][point]][column % 8];
  return (quant::EvenSigns(seven) >> (column % 8) & 1) != 0 ? -magnitude : magnitude;
}

int Weight(const PackedLevels& block, size_t column, size_t row) {
  return static_cast<int8_t>(
      block.levels[FourBits(block.quants[column / 16], 4, row, column % 16)]);
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

int GroupScale(const PackedLevels& block, size_t group, size_t row) {
  return static_cast<int8_t>(ByteOf(block.scales, group, row));
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
template <>
constexpr size_t kGroupColumns<PackedLevels> = 16;

template <typename Block>
float BlockScale(const Block& block, size_t row, float activation_scale) {
  return HalfToFloat(block.scale[row]) * activation_scale;
}
// The scales of the format are (2 s + 1) / 8.
float BlockScale(const PackedIQ2_XXS& block, size_t row, float activation_scale) {
  return HalfToFloat(block.scale[row]) * activation_scale * 0.125f;
}
float BlockScale(const PackedLevels& block, size_t row, float activation_scale) {
  return HalfToFloat(block.scale[row]) * block.factor * activation_scale;
}

template <typename Block>
float SuperProduct(const Block* blocks, size_t output, const Row& row, size_t columns) {
  float acc = 0.0f;
  for (size_t i = 0; i < columns / 256; ++i) {
    const Block& block = blocks[i];
    int scaled_dot = 0;
    int scaled_sum = 0;
    for (size_t k = 0; k < 256; ++k) {
      const size_t group = k / kGroupColumns<Block>;
      const int quant = row.value<int8_t>(256 * i + k);
      scaled_dot += GroupScale(block, group, output) * Weight(block, k, output) * quant;
      if constexpr (HasMins<Block>) scaled_sum += GroupMin(block, group, output) * quant;
    }
    const float activation_scale = row.scale(i * kPer256Words + kPer256Scale);
    acc = Fma(static_cast<float>(scaled_dot), BlockScale(block, output, activation_scale), acc);
    if constexpr (HasMins<Block>) {
      const float min_scale = HalfToFloat(block.min_scale[output]) * activation_scale;
      acc = Fma(-static_cast<float>(scaled_sum), min_scale, acc);
    }
  }
  return acc;
}

// --- Floats: one chain, ascending; for bfloat16 two, of the even and of the odd columns of 32.

float FloatProduct(const PackedF32* blocks, size_t output, const Row& row, size_t columns) {
  float acc = 0.0f;
  for (size_t k = 0; k < columns; ++k) {
    acc = Fma(blocks[k].values[output], row.value<float>(k), acc);
  }
  return acc;
}

float FloatProduct(const PackedF16* blocks, size_t output, const Row& row, size_t columns) {
  float acc = 0.0f;
  for (size_t k = 0; k < columns; ++k) {
    acc = Fma(HalfToFloat(blocks[k / 2].values[k % 2][output]), row.value<float>(k), acc);
  }
  return acc;
}

float FloatProduct(const PackedBF16* blocks, size_t output, const Row& row, size_t columns) {
  using quant::Bfloat16ToFloat;
  float acc = 0.0f;
  for (size_t begin = 0; begin < columns; begin += 32) {
    float chains[2] = {0.0f, 0.0f};  // even, odd
    for (size_t k = 0; k < 32; ++k) {
      const float weight = Bfloat16ToFloat(blocks[begin / 32].pairs[k / 2][output][k % 2]);
      const float activation = Bfloat16ToFloat(row.value<uint16_t>(begin + k));
      chains[k % 2] = Fma(weight, activation, chains[k % 2]);
    }
    acc = acc + (chains[0] + chains[1]);
  }
  return acc;
}

// --- The whole product.

// Output `output` of a panel's sixteen.
template <typename Block>
using Product = float (*)(const Block* blocks, size_t output, const Row& row, size_t columns);

template <ActivationFormat kFormat, typename Block, Product<Block> kProduct>
void Products(const MatmulJob& job, size_t panel_begin, size_t panel_end) {
  const size_t panel_blocks = (job.columns + Block::kColumns - 1) / Block::kColumns;
  const size_t end = std::min(panel_end * kPanelRows, job.rows);
  for (size_t i = 0; i < job.batch; ++i) {
    const Row row(job, kFormat, job.first_row + i);
    float* out = job.out + (job.to_rows == nullptr ? i : job.to_rows[i]) * job.out_stride;
    for (size_t output = panel_begin * kPanelRows; output < end; ++output) {
      const auto* panel =
          static_cast<const Block*>(job.weights) + output / kPanelRows * panel_blocks;
      out[output] = kProduct(panel, output % kPanelRows, row, job.columns);
    }
  }
}

constexpr ActivationFormat kF32 = ActivationFormat::kF32;
constexpr ActivationFormat kBF16 = ActivationFormat::kBF16;
constexpr ActivationFormat kPer32 = ActivationFormat::kInt8Per32;
constexpr ActivationFormat kPer256 = ActivationFormat::kInt8Per256;

}  // namespace

const MatmulTable kMatmulRef = {
    .products =
        {Products<kF32, PackedF32, FloatProduct>, Products<kF32, PackedF16, FloatProduct>,
         Products<kBF16, PackedBF16, FloatProduct>, Products<kPer32, PackedQ8_0, ScaledProduct>,
         Products<kPer32, PackedQ4_0, ScaledProduct>, Products<kPer32, PackedMXFP4, ScaledProduct>,
         Products<kPer256, PackedQ2_K, SuperProduct>, Products<kPer256, PackedQ4_K, SuperProduct>,
         Products<kPer256, PackedQ5_K, SuperProduct>, Products<kPer256, PackedQ6_K, SuperProduct>,
         Products<kPer256, PackedIQ2_XXS, SuperProduct>,
         Products<kPer32, PackedIQ4_NL, ScaledProduct>, Products<kPer32, PackedQ5_1, ScaledProduct>,
         Products<kPer256, PackedLevels, SuperProduct>},
    .prepare = {PrepareF32Ref, PrepareBF16Ref, PrepareInt8Per32Ref, PrepareInt8Per256Ref},
};

}  // namespace aster::kernels
