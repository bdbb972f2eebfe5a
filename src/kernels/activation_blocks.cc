// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/activation_blocks.h"

#include <cstring>

#include "base/check.h"
#include "kernels/activation_layout.h"

namespace aster::kernels {
namespace {

// Columns that share a scale.
constexpr size_t kPer32Block = 32;
constexpr size_t kPer256Block = 256;

size_t ScaledColumns(ActivationFormat format) {
  return format == ActivationFormat::kInt8Per32 ? kPer32Block : kPer256Block;
}

// The scale of a row's block among the row's words.
size_t ScaleWord(ActivationFormat format, size_t block) {
  if (format == ActivationFormat::kInt8Per256) return block * kPer256Words + kPer256Scale;
  return block / 2 * kPer32Words + kPer32Scale + block % 2;
}

int32_t SumOf(const int8_t* quants, size_t count) {
  int32_t sum = 0;
  for (size_t i = 0; i < count; ++i) sum += quants[i];
  return sum;
}

// The words of one row.
struct Words {
  uint8_t* first;
  size_t stride;  // bytes from word to word

  template <typename Word>
  void Set(size_t index, Word word) const {
    static_assert(sizeof(word) == kWordBytes);
    std::memcpy(first + index * stride, &word, kWordBytes);
  }
};

// For products with weights that have an offset: -8 and -128 times the sums of a piece's blocks.
void SetSums32(const int8_t* quants, size_t piece, const Words& words) {
  for (size_t i = 0; i < 2; ++i) {
    const int32_t sum = SumOf(quants + i * kPer32Block, kPer32Block);
    words.Set(piece * kPer32Words + kPer32Start8 + i, -8 * sum);
    words.Set(piece * kPer32Words + kPer32Start128 + i, -128 * sum);
  }
}

// Two int16 in a word, the first in its lower half.
uint32_t PairOf(int32_t first, int32_t second) {
  return (static_cast<uint32_t>(first) & 0xffffu) | static_cast<uint32_t>(second) << 16;
}

// The sums of a quarter of a block.
void SetSums256(const int8_t* quants, size_t piece, const Words& words) {
  int32_t sums[4];
  for (size_t i = 0; i < 4; ++i) sums[i] = SumOf(quants + 16 * i, 16);
  const size_t first = piece / 4 * kPer256Words;
  const size_t quarter = piece % 4;
  words.Set(first + kPer256Sums32 + quarter, PairOf(sums[0] + sums[1], sums[2] + sums[3]));
  words.Set(first + kPer256Sums16 + 2 * quarter, PairOf(sums[0], sums[1]));
  words.Set(first + kPer256Sums16 + 2 * quarter + 1, PairOf(sums[2], sums[3]));
}

}  // namespace

size_t BlockStep(ActivationFormat format) {
  switch (format) {
    case ActivationFormat::kF32:
    case ActivationFormat::kBF16:
      return 0;
    case ActivationFormat::kInt8Per32:
      return kInt8Piece;
    case ActivationFormat::kInt8Per256:
      return kPer256Block;
  }
  return 0;
}

size_t BlockBytes(ActivationFormat format, size_t rows, size_t columns) {
  return rows * (columns + columns / ScaledColumns(format) * kWordBytes);
}

void WriteBlocks(ActivationFormat format, const void* prepared, size_t rows, size_t columns,
                 size_t row_begin, size_t row_end, void* blocks) {
  CHECK(BlockStep(format) > 0 && columns % BlockStep(format) == 0);
  const ActivationLayout layout = ActivationLayoutOf(format, columns);
  const auto* const in = static_cast<const uint8_t*>(prepared);
  const size_t row_bytes = BlockBytes(format, 1, columns);
  for (size_t row = row_begin; row < row_end; ++row) {
    const ActivationRow from = ActivationRowAt(layout, rows, row);
    uint8_t* out = static_cast<uint8_t*>(blocks) + row * row_bytes;
    for (size_t piece = 0; piece < layout.pieces; ++piece, out += kPieceBytes) {
      std::memcpy(out, in + from.pieces + piece * from.group_rows * kPieceBytes, kPieceBytes);
    }
    for (size_t block = 0; block < columns / ScaledColumns(format); ++block, out += kWordBytes) {
      const size_t word = ScaleWord(format, block) * from.group_rows;
      std::memcpy(out, in + from.words + word * kWordBytes, kWordBytes);
    }
  }
}

// Copies quants and scales, and computes the sums again.
void ReadBlocks(ActivationFormat format, const void* blocks, const BlockPlace& place,
                size_t row_begin, size_t row_end, void* prepared) {
  const size_t step = BlockStep(format);
  CHECK(step > 0 && place.begin % step == 0 && place.columns % step == 0);
  CHECK(place.begin + place.columns <= place.all_columns && row_end <= place.rows);
  const ActivationLayout layout = ActivationLayoutOf(format, place.all_columns);
  const size_t first_piece = place.begin / kInt8Piece;
  const size_t first_block = place.begin / ScaledColumns(format);
  const size_t row_bytes = BlockBytes(format, 1, place.columns);
  for (size_t row = row_begin; row < row_end; ++row) {
    const auto* in = static_cast<const uint8_t*>(blocks) + row * row_bytes;
    const ActivationRow to = ActivationRowAt(layout, place.rows, row);
    uint8_t* const out = static_cast<uint8_t*>(prepared);
    const Words words{.first = out + to.words, .stride = to.group_rows * kWordBytes};
    for (size_t i = 0; i < place.columns / kInt8Piece; ++i, in += kPieceBytes) {
      const size_t piece = first_piece + i;
      std::memcpy(out + to.pieces + piece * to.group_rows * kPieceBytes, in, kPieceBytes);
      const auto* const quants = reinterpret_cast<const int8_t*>(in);
      format == ActivationFormat::kInt8Per32 ? SetSums32(quants, piece, words)
                                             : SetSums256(quants, piece, words);
    }
    for (size_t i = 0; i < place.columns / ScaledColumns(format); ++i, in += kWordBytes) {
      std::memcpy(words.first + ScaleWord(format, first_block + i) * words.stride, in, kWordBytes);
    }
  }
}

}  // namespace aster::kernels
