// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Every type is packed in two steps: the quants of each row are brought into the order of packed.h
// (Arrange), then sixteen rows are interleaved, four bytes at a time.
#include "kernels/pack_blocks.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <array>
#include <cstring>

#include "quant/levels.h"
#include "quant/scales.h"

namespace aster::kernels {
namespace {

using Vector = uint32_t __attribute__((vector_size(16)));

Vector Load(const void* from) {
  Vector value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

void Store(Vector value, void* to) { std::memcpy(to, &value, sizeof(value)); }

// quads[t] of each row from rows[row]'s bytes 4 t to 4 t + 3, XORed with `flip`. Four rows by four
// quads at a time.
template <size_t kQuads>
void Interleave(const uint8_t* const* rows, PackedQuads* quads, uint32_t flip = 0) {
  static_assert(kQuads % 4 == 0);
  const Vector flips = {flip, flip, flip, flip};
  for (size_t t = 0; t < kQuads; t += 4) {
    for (size_t row = 0; row < kPanelRows; row += 4) {
      const Vector a = Load(rows[row] + 4 * t) ^ flips;
      const Vector b = Load(rows[row + 1] + 4 * t) ^ flips;
      const Vector c = Load(rows[row + 2] + 4 * t) ^ flips;
      const Vector d = Load(rows[row + 3] + 4 * t) ^ flips;
      const Vector ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
      const Vector ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
      const Vector cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
      const Vector cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
      Store(__builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5), quads[t][row]);
      Store(__builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7), quads[t + 1][row]);
      Store(__builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5), quads[t + 2][row]);
      Store(__builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7), quads[t + 3][row]);
    }
  }
}

// Reordered rows, each of kQuads quads.
template <size_t kQuads>
class Staged {
 public:
  uint8_t* row(size_t index) { return bytes_[index]; }

  void InterleaveTo(PackedQuads* quads) const {
    const uint8_t* rows[kPanelRows];
    for (size_t i = 0; i < kPanelRows; ++i) rows[i] = bytes_[i];
    Interleave<kQuads>(rows, quads);
  }

 private:
  alignas(16) uint8_t bytes_[kPanelRows][4 * kQuads];
};

// The same block of each of a panel's rows.
template <typename FileBlock>
using RowBlocks = const FileBlock* [kPanelRows];

// --- Types with a scale per 32 weights, two blocks of the file at a time.

void PackGroup(const RowBlocks<quant::BlockQ8_0>& blocks, size_t group, PackedQ8_0* out) {
  const uint8_t* rows[kPanelRows];
  for (size_t row = 0; row < kPanelRows; ++row) {
    rows[row] = reinterpret_cast<const uint8_t*>(blocks[row]->quants);
    out->scales[group][row] = blocks[row]->scale;
  }
  Interleave<8>(rows, out->quants[group], 0x80808080u);
}

// Fills the fields that types with quants of four bits have in common.
template <typename FileBlock, typename Block>
void PackFourBits(const FileBlock* const* blocks, size_t group, Block* out) {
  const uint8_t* rows[kPanelRows];
  for (size_t row = 0; row < kPanelRows; ++row) {
    rows[row] = blocks[row]->quants;
    out->scales[group][row] = blocks[row]->scale;
  }
  Interleave<4>(rows, out->quants[group]);
}
void PackGroup(const RowBlocks<quant::BlockQ4_0>& blocks, size_t group, PackedQ4_0* out) {
  PackFourBits(blocks, group, out);
}
void PackGroup(const RowBlocks<quant::BlockIQ4_NL>& blocks, size_t group, PackedIQ4_NL* out) {
  PackFourBits(blocks, group, out);
}

// Q5_0 is packed as Q8_0, which has kernels.
void PackGroup(const RowBlocks<quant::BlockQ5_0>& blocks, size_t group, PackedQ8_0* out) {
  Staged<8> staged;
  for (size_t row = 0; row < kPanelRows; ++row) {
    const quant::BlockQ5_0& block = *blocks[row];
    for (size_t i = 0; i < 32; ++i) {
      const uint32_t low = block.quants[i % 16] >> (i / 16 * 4) & 15u;
      const uint32_t high = (block.high_bits >> i & 1) << 4;
      staged.row(row)[i] = static_cast<uint8_t>((low | high) + (128 - 16));
    }
    out->scales[group][row] = block.scale;
  }
  staged.InterleaveTo(out->quants[group]);
}

// Quads of the fifth bits of a row's 32 weights.
uint32_t ArrangeFifthBits(uint32_t bits) {
  uint32_t bytes = 0;
  for (int i = 0; i < 32; ++i) bytes |= (bits >> i & 1) << (8 * (i % 4) + i / 4);
  return bytes;
}

// Q4_1 is packed as Q5_1 without fifth bits.
template <typename FileBlock>
void PackGroup(const FileBlock* const (&blocks)[kPanelRows], size_t group, PackedQ5_1* out) {
  const uint8_t* rows[kPanelRows];
  for (size_t row = 0; row < kPanelRows; ++row) {
    const FileBlock& block = *blocks[row];
    rows[row] = block.quants;
    out->scales[group][row] = block.scale;
    out->offsets[group][row] = block.offset;
    uint32_t high = 0;
    if constexpr (requires { block.high_bits; }) high = ArrangeFifthBits(block.high_bits);
    std::memcpy(out->groups[group].high[row], &high, sizeof(high));
  }
  Interleave<4>(rows, out->groups[group].low);
}

void PackGroup(const RowBlocks<quant::BlockMXFP4>& blocks, size_t group, PackedMXFP4* out) {
  const uint8_t* rows[kPanelRows];
  for (size_t row = 0; row < kPanelRows; ++row) {
    rows[row] = blocks[row]->quants;
    out->exponents[group][row] = blocks[row]->exponent;
  }
  Interleave<4>(rows, out->quants[group]);
}

// --- Super-blocks: one block of the file at a time.

// In: 32 bytes with weight i of one group in the low halves, of the next in the high halves.
// Out: for each of the two groups `stride` bytes apart, weight i in the low half of byte i, weight
// i + 16 in its high half.
void ArrangeNibbles(const uint8_t* in, uint8_t* out, size_t stride) {
  for (size_t i = 0; i < 16; ++i) {
    out[i] = static_cast<uint8_t>((in[i] & 15) | in[i + 16] << 4);
    out[stride + i] = static_cast<uint8_t>(in[i] >> 4 | (in[i + 16] & 0xf0));
  }
}

// In: 32 bytes with the two bits of weight 32 p + i at bit 2 p. Out: for each of the eight groups
// of 16 weights, `stride` bytes apart, four bytes with those of weight 4 t + i at bit 2 t. In every
// byte lane that transposes a 4 x 4 matrix of bit pairs.
void ArrangeTwoBits(const uint8_t* in, uint8_t* out, size_t stride) {
  uint64_t rows[4];  // [t]: quad t of the even and of the odd groups
  for (size_t t = 0; t < 4; ++t) {
    uint32_t quads[2];
    std::memcpy(&quads[0], in + 4 * t, sizeof(quads[0]));
    std::memcpy(&quads[1], in + 16 + 4 * t, sizeof(quads[1]));
    std::memcpy(&rows[t], quads, sizeof(quads));
  }
  // Swaps the bits of `a` that are `shift` above those of `mask` with those of `b` at the mask.
  const auto swap = [](uint64_t& a, uint64_t& b, int shift, uint64_t mask) {
    const uint64_t differences = (a >> shift ^ b) & mask;
    b ^= differences;
    a ^= differences << shift;
  };
  swap(rows[0], rows[1], 2, 0x3333333333333333u);
  swap(rows[2], rows[3], 2, 0x3333333333333333u);
  swap(rows[0], rows[2], 4, 0x0f0f0f0f0f0f0f0fu);
  swap(rows[1], rows[3], 4, 0x0f0f0f0f0f0f0f0fu);
  for (size_t pair = 0; pair < 4; ++pair) {
    uint32_t quads[2];
    std::memcpy(quads, &rows[pair], sizeof(quads));
    std::memcpy(out + 2 * pair * stride, &quads[0], sizeof(quads[0]));
    std::memcpy(out + (2 * pair + 1) * stride, &quads[1], sizeof(quads[1]));
  }
}

// In: 32 bytes with the bit of weight 32 k + i at bit k. Out: for each group of 32 weights,
// `stride` bytes apart, four bytes with that of weight 4 t + i at bit t.
void ArrangeOneBit(const uint8_t* in, uint8_t* out, size_t stride) {
  for (size_t group = 0; group < 8; ++group) {
    uint32_t bytes = 0;
    for (size_t t = 0; t < 8; ++t) {
      uint32_t quad;
      std::memcpy(&quad, in + 4 * t, sizeof(quad));
      bytes |= (quad >> group & 0x01010101u) << t;
    }
    std::memcpy(out + group * stride, &bytes, sizeof(bytes));
  }
}

// Values of `count` groups of a row, two neighbours side by side.
void SetPairs(PackedPair* pairs, size_t count, size_t row, const void* values) {
  for (size_t pair = 0; pair < count / 2; ++pair) {
    std::memcpy(pairs[pair][row], static_cast<const uint8_t*>(values) + 2 * pair, 2);
  }
}

template <typename Block, typename FileBlock>
void PackScalesAndMins(const FileBlock& block, size_t row, Block* out) {
  out->scale[row] = block.scale;
  out->min_scale[row] = block.min_scale;
  const quant::ScalesAndMins groups = quant::UnpackScalesAndMins(block.scales);
  SetPairs(out->scales, 8, row, groups.scales.data());
  SetPairs(out->mins, 8, row, groups.mins.data());
}

void PackBlock(const RowBlocks<quant::BlockQ2_K>& blocks, PackedQ2_K* out) {
  Staged<16> staged;
  for (size_t row = 0; row < kPanelRows; ++row) {
    const quant::BlockQ2_K& block = *blocks[row];
    out->scale[row] = block.scale;
    out->min_scale[row] = block.min_scale;
    SetPairs(out->scales, 16, row, block.scales);
    for (size_t half = 0; half < 2; ++half) {
      ArrangeTwoBits(block.quants + 32 * half, staged.row(row) + 32 * half, 4);
    }
  }
  staged.InterleaveTo(out->quants);
}

void PackBlock(const RowBlocks<quant::BlockQ4_K>& blocks, PackedQ4_K* out) {
  Staged<32> staged;
  for (size_t row = 0; row < kPanelRows; ++row) {
    const quant::BlockQ4_K& block = *blocks[row];
    PackScalesAndMins(block, row, out);
    for (size_t pair = 0; pair < 4; ++pair) {
      ArrangeNibbles(block.quants + 32 * pair, staged.row(row) + 32 * pair, 16);
    }
  }
  staged.InterleaveTo(out->quants[0]);
}

void PackBlock(const RowBlocks<quant::BlockQ5_K>& blocks, PackedQ5_K* out) {
  static_assert(sizeof(out->groups[0]) == 5 * sizeof(PackedQuads));
  Staged<40> staged;
  for (size_t row = 0; row < kPanelRows; ++row) {
    const quant::BlockQ5_K& block = *blocks[row];
    PackScalesAndMins(block, row, out);
    for (size_t pair = 0; pair < 4; ++pair) {
      ArrangeNibbles(block.quants + 32 * pair, staged.row(row) + 40 * pair, 20);
    }
    ArrangeOneBit(block.high_bits, staged.row(row) + 16, 20);
  }
  staged.InterleaveTo(&out->groups[0].low[0]);
}

void PackBlock(const RowBlocks<quant::BlockQ6_K>& blocks, PackedQ6_K* out) {
  static_assert(sizeof(out->groups[0]) == 3 * sizeof(PackedQuads));
  Staged<48> staged;
  std::memset(out->unused, 0, sizeof(out->unused));
  for (size_t row = 0; row < kPanelRows; ++row) {
    const quant::BlockQ6_K& block = *blocks[row];
    out->scale[row] = block.scale;
    SetPairs(out->scales, 16, row, block.scales);
    for (size_t half = 0; half < 2; ++half) {
      uint8_t* to = staged.row(row) + 96 * half;
      // Weights 0-63 of the half are the low, 64-127 the high halves of the same 64 bytes.
      for (size_t group = 0; group < 4; ++group) {
        const uint8_t* low = block.low_bits + 64 * half + 16 * group;
        for (size_t i = 0; i < 8; ++i) {
          to[12 * group + i] = static_cast<uint8_t>((low[i] & 15) | low[i + 8] << 4);
          to[12 * (group + 4) + i] = static_cast<uint8_t>(low[i] >> 4 | (low[i + 8] & 0xf0));
        }
      }
      ArrangeTwoBits(block.high_bits + 32 * half, to + 8, 12);
    }
  }
  staged.InterleaveTo(&out->groups[0].low[0]);
}

// The places of the seven signs of point 0.
constexpr std::array<uint32_t, 128> kSpreadSigns = [] {
  std::array<uint32_t, 128> spread{};
  for (uint32_t signs = 0; signs < 128; ++signs) {
    for (int i = 0; i < 7; ++i)
      spread[signs] |= (signs >> i & 1) << (8 * (i % 4) + Iq2SignBit(i / 4));
  }
  return spread;
}();

// From four times seven signs, those of a point together, and a scale.
uint32_t ArrangeSigns(uint32_t signs_and_scale) {
  uint32_t arranged = signs_and_scale & 0xf0000000;
  for (int p = 0; p < 4; ++p) arranged |= kSpreadSigns[signs_and_scale >> (7 * p) & 127] >> p;
  return arranged;
}

void PackBlock(const RowBlocks<quant::BlockIQ2_XXS>& blocks, PackedIQ2_XXS* out) {
  for (size_t row = 0; row < kPanelRows; ++row) {
    const quant::BlockIQ2_XXS& block = *blocks[row];
    out->scale[row] = block.scale;
    for (size_t group = 0; group < 8; ++group) {
      out->groups[group].signs_and_scale[row] = ArrangeSigns(block.groups[group].signs_and_scale);
      for (size_t i = 0; i < 4; ++i) {
        out->groups[group].points[row][i] = block.groups[group].points[i];
      }
    }
  }
}

// Types with sixteen levels (quant/levels.h).
template <typename FileBlock>
void PackBlock(const FileBlock* const (&blocks)[kPanelRows], PackedLevels* out) {
  const quant::LevelTable& table = quant::LevelsOf(*blocks[0]);
  std::memcpy(out->levels, table.levels.data(), sizeof(out->levels));
  out->factor = table.factor;
  std::memset(out->unused, 0, sizeof(out->unused));
  Staged<32> staged;
  for (size_t row = 0; row < kPanelRows; ++row) {
    quant::LevelBlock block;
    quant::ReadLevels(*blocks[row], block);
    out->scale[row] = block.scale;
    SetPairs(out->scales, 16, row, block.scales);
    for (size_t group = 0; group < 16; ++group) {
      const uint8_t* codes = block.codes + 16 * group;
      uint8_t* to = staged.row(row) + 8 * group;
      for (size_t i = 0; i < 8; ++i) to[i] = static_cast<uint8_t>(codes[i] | codes[i + 8] << 4);
    }
  }
  staged.InterleaveTo(out->quants[0]);
}

// --- Panels.

// Where each row of the panel starts; rows beyond the matrix are null.
struct PanelRowStarts {
  PanelRowStarts(const PackSource& source, size_t panel) {
    for (size_t i = 0; i < kPanelRows; ++i) {
      const size_t row = panel * kPanelRows + i;
      at[i] = row < source.rows ? static_cast<const uint8_t*>(source.data) + row * source.row_stride
                                : nullptr;
    }
    count = std::min(kPanelRows, source.rows - panel * kPanelRows);
    next_panel = at[0] + kPanelRows * source.row_stride;
  }
  // Prefetches the next panel, which mostly follows this one in the file, near the second-level
  // cache, in order, while this panel is read at several places: `bytes` of each row.
  void PrefetchNext(size_t bytes) {
    for (size_t i = 0; i < kPanelRows * bytes; i += 64) __builtin_prefetch(next_panel + i, 0, 2);
    next_panel += kPanelRows * bytes;
  }

  const uint8_t* at[kPanelRows];
  size_t count;
  const uint8_t* next_panel;
};

// Writes a packed block past the caches: it is not needed soon, and a cache would read the memory
// before writing it. StoresDone() orders these stores before later ones.
template <typename Block>
void StoreAround(const Block& block, Block* out) {
  static_assert(sizeof(Block) % 16 == 0 && alignof(Block) <= 16);
#if defined(__SSE2__)
  const auto* from = reinterpret_cast<const __m128i*>(&block);
  auto* to = reinterpret_cast<__m128i*>(out);
  for (size_t i = 0; i < sizeof(Block) / 16; ++i)
    _mm_stream_si128(to + i, _mm_load_si128(from + i));
#else
  *out = block;
#endif
}

void StoresDone() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

// Quads of one column (float) or of two neighbouring columns (the 16-bit floats) of each row, for
// `bytes` bytes of a row from `begin` on; zeros beyond `end`.
template <size_t kQuads>
void StageFloats(const PanelRowStarts& rows, size_t begin, size_t end, PackedQuads* quads) {
  if (rows.count == kPanelRows && begin + 4 * kQuads <= end) {
    const uint8_t* starts[kPanelRows];
    for (size_t row = 0; row < kPanelRows; ++row) starts[row] = rows.at[row] + begin;
    return Interleave<kQuads>(starts, quads);
  }
  Staged<kQuads> staged;
  const size_t bytes = std::min(4 * kQuads, end - begin);
  for (size_t row = 0; row < kPanelRows; ++row) {
    std::memset(staged.row(row), 0, 4 * kQuads);
    if (rows.at[row] != nullptr) std::memcpy(staged.row(row), rows.at[row] + begin, bytes);
  }
  staged.InterleaveTo(quads);
}

}  // namespace

template <typename Block, typename FileBlock>
void PackPanel(const PackSource& source, size_t panel, void* out) {
  constexpr size_t kFileBlocks = Block::kColumns / FileBlock::kElements;
  static constexpr FileBlock kZero = {};
  PanelRowStarts rows(source, panel);
  RowBlocks<FileBlock> blocks;
  for (size_t row = 0; row < kPanelRows; ++row) {
    blocks[row] = row < rows.count ? reinterpret_cast<const FileBlock*>(rows.at[row]) : &kZero;
  }
  const size_t count = source.columns / FileBlock::kElements;
  auto* packed = static_cast<Block*>(out);
  alignas(64) Block block;
  for (size_t i = 0; i < count; ++i) {
    rows.PrefetchNext(sizeof(FileBlock));
    if constexpr (kFileBlocks == 1) {
      PackBlock(blocks, &block);
    } else {
      PackGroup(blocks, i % 2, &block);
    }
    for (size_t row = 0; row < rows.count; ++row) ++blocks[row];
    if (i % kFileBlocks == kFileBlocks - 1) StoreAround(block, packed++);
  }
  if constexpr (kFileBlocks == 2) {
    if (count % 2 != 0) {
      std::fill_n(blocks, kPanelRows, &kZero);
      PackGroup(blocks, 1, &block);
      StoreAround(block, packed);
    }
  }
  StoresDone();
}

template <>
void PackPanel<PackedF32, float>(const PackSource& source, size_t panel, void* out) {
  PanelRowStarts rows(source, panel);
  const size_t end = source.columns * sizeof(float);
  auto* packed = static_cast<PackedF32*>(out);
  PackedQuads quads[16];
  for (size_t begin = 0; begin < end; begin += sizeof(float) * 16) {
    rows.PrefetchNext(sizeof(float) * 16);
    StageFloats<16>(rows, begin, end, quads);
    std::memcpy(packed, quads,
                std::min((end - begin) / sizeof(float), size_t{16}) * sizeof(*packed));
    packed += 16;
  }
}

template <>
void PackPanel<PackedF16, uint16_t>(const PackSource& source, size_t panel, void* out) {
  PanelRowStarts rows(source, panel);
  const size_t end = source.columns * sizeof(uint16_t);
  auto* packed = static_cast<PackedF16*>(out);
  PackedQuads quads[16];
  for (size_t begin = 0; begin < end; begin += sizeof(uint16_t) * 32) {
    rows.PrefetchNext(sizeof(uint16_t) * 32);
    StageFloats<16>(rows, begin, end, quads);
    const size_t blocks = std::min((end - begin + 3) / 4, size_t{16});
    for (size_t i = 0; i < blocks; ++i, ++packed) {
      uint32_t pairs[kPanelRows];
      std::memcpy(pairs, quads[i], sizeof(pairs));
      for (size_t row = 0; row < kPanelRows; ++row) {
        packed->values[0][row] = static_cast<uint16_t>(pairs[row]);
        packed->values[1][row] = static_cast<uint16_t>(pairs[row] >> 16);
      }
    }
  }
}

template <>
void PackPanel<PackedBF16, uint16_t>(const PackSource& source, size_t panel, void* out) {
  PanelRowStarts rows(source, panel);
  const size_t end = source.columns * sizeof(uint16_t);
  auto* packed = static_cast<PackedBF16*>(out);
  for (size_t begin = 0; begin < end; begin += sizeof(uint16_t) * PackedBF16::kColumns, ++packed) {
    rows.PrefetchNext(sizeof(uint16_t) * PackedBF16::kColumns);
    StageFloats<16>(rows, begin, end, reinterpret_cast<PackedQuads*>(packed->pairs));
  }
}

template void PackPanel<PackedQ8_0, quant::BlockQ8_0>(const PackSource&, size_t, void*);
template void PackPanel<PackedQ4_0, quant::BlockQ4_0>(const PackSource&, size_t, void*);
template void PackPanel<PackedMXFP4, quant::BlockMXFP4>(const PackSource&, size_t, void*);
template void PackPanel<PackedQ8_0, quant::BlockQ5_0>(const PackSource&, size_t, void*);
template void PackPanel<PackedIQ4_NL, quant::BlockIQ4_NL>(const PackSource&, size_t, void*);
template void PackPanel<PackedQ5_1, quant::BlockQ4_1>(const PackSource&, size_t, void*);
template void PackPanel<PackedQ5_1, quant::BlockQ5_1>(const PackSource&, size_t, void*);
template void PackPanel<PackedQ2_K, quant::BlockQ2_K>(const PackSource&, size_t, void*);
template void PackPanel<PackedQ4_K, quant::BlockQ4_K>(const PackSource&, size_t, void*);
template void PackPanel<PackedQ5_K, quant::BlockQ5_K>(const PackSource&, size_t, void*);
template void PackPanel<PackedQ6_K, quant::BlockQ6_K>(const PackSource&, size_t, void*);
template void PackPanel<PackedIQ2_XXS, quant::BlockIQ2_XXS>(const PackSource&, size_t, void*);
template void PackPanel<PackedLevels, quant::BlockQ3_K>(const PackSource&, size_t, void*);
template void PackPanel<PackedLevels, quant::BlockIQ4_XS>(const PackSource&, size_t, void*);
template void PackPanel<PackedLevels, quant::BlockIQ3_XXS>(const PackSource&, size_t, void*);
template void PackPanel<PackedLevels, quant::BlockIQ3_S>(const PackSource&, size_t, void*);
template void PackPanel<PackedLevels, quant::BlockIQ2_XS>(const PackSource&, size_t, void*);
template void PackPanel<PackedLevels, quant::BlockIQ2_S>(const PackSource&, size_t, void*);
template void PackPanel<PackedLevels, quant::BlockIQ1_S>(const PackSource&, size_t, void*);
template void PackPanel<PackedLevels, quant::BlockIQ1_M>(const PackSource&, size_t, void*);

}  // namespace aster::kernels
