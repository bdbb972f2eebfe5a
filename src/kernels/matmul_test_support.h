// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Matrices, activations and products for the tests of this folder and for its benchmark.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/float_mode.h"
#include "kernels/activation_layout.h"
#include "kernels/activations.h"
#include "kernels/matmul.h"
#include "kernels/pack.h"
#include "quant/blocks.h"
#include "quant/dequantize.h"
#include "quant/half.h"

namespace aster::kernels {

inline constexpr WeightType kAllWeightTypes[kWeightTypeCount] = {
    WeightType::kF32,  WeightType::kF16,   WeightType::kBF16,   WeightType::kQ8_0,
    WeightType::kQ4_0, WeightType::kMXFP4, WeightType::kQ2_K,   WeightType::kQ4_K,
    WeightType::kQ5_K, WeightType::kQ6_K,  WeightType::kIQ2_XXS};

// "Q4_K"; also a valid part of a test's name.
inline std::string TypeName(WeightType type) { return gguf::TensorTypeName(TensorTypeOf(type)); }

// SplitMix64.
class TestNumbers {
 public:
  explicit TestNumbers(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  size_t Below(size_t limit) { return static_cast<size_t>(Next() % limit); }
  // In [-1, 1).
  float Signed() { return static_cast<float>(static_cast<int64_t>(Next()) >> 40) * 0x1p-23f; }

 private:
  uint64_t state_;
};

enum class TestValues {
  kPlain,  // as models have them
  kAny,    // of all magnitudes, denormal, infinite and NaN (these two rarely, since they spread)
};

// --- Single numbers of either kind.

inline float TestFloat(TestNumbers& numbers, TestValues values) {
  if (values == TestValues::kPlain) return numbers.Signed();
  constexpr float kExtremes[] = {0.0f,      -0.0f,     0x1p-149f, -0x1p-126f,
                                 0x1p-111f, 0x1p-110f, 3.4e38f,   -3.4e38f};
  const size_t choice = numbers.Below(1000);
  if (choice < 8) return kExtremes[choice];
  if (choice == 8) return std::bit_cast<float>(0x7f800000u);
  if (choice == 9) return std::bit_cast<float>(0xffc12345u);
  // Neighbours must meet, so most have similar magnitudes.
  const int spread = choice < 100 ? 60 : 4;
  const uint32_t sign_and_mantissa = std::bit_cast<uint32_t>(numbers.Signed()) & 0x807fffffu;
  const auto exponent = static_cast<uint32_t>(127 - spread + numbers.Below(2 * spread));
  return std::bit_cast<float>(sign_and_mantissa | exponent << 23);
}

inline uint16_t TestHalf(TestNumbers& numbers, TestValues values) {
  if (values == TestValues::kPlain) return quant::FloatToHalf(numbers.Signed() * 0.02f);
  constexpr uint16_t kExtremes[] = {0, 0x8000, 1, 0x83ff, 0x0400, 0x7bff, 0xfbff};
  const size_t choice = numbers.Below(1000);
  if (choice < 210) return kExtremes[choice / 30];
  if (choice == 210) return 0xfc00;  // -infinity
  if (choice == 211) return 0x7e01;  // a NaN
  return static_cast<uint16_t>(numbers.Below(0x7c00) | numbers.Below(2) << 15);
}

// --- Blocks: any bytes are valid, so only the scales are chosen.

template <typename Block>
void ChooseScales(TestNumbers& numbers, TestValues values, Block& block) {
  if constexpr (requires { block.exponent; }) {
    if (values == TestValues::kPlain || numbers.Below(4) != 0) {
      block.exponent = static_cast<uint8_t>(120 + numbers.Below(10));
    }
  } else {
    block.scale = TestHalf(numbers, values);
  }
  if constexpr (requires { block.min_scale; }) block.min_scale = TestHalf(numbers, values);
}

template <typename Block>
void FillBlocks(TestNumbers& numbers, TestValues values, std::span<uint8_t> bytes) {
  for (size_t at = 0; at < bytes.size(); at += sizeof(Block)) {
    Block block;
    for (size_t i = 0; i < sizeof(Block); ++i) {
      reinterpret_cast<uint8_t*>(&block)[i] = static_cast<uint8_t>(numbers.Next() >> 56);
    }
    ChooseScales(numbers, values, block);
    std::memcpy(&bytes[at], &block, sizeof(Block));
  }
}

template <typename Number, typename Choose>
void FillNumbers(std::span<uint8_t> bytes, const Choose& choose) {
  for (size_t at = 0; at < bytes.size(); at += sizeof(Number)) {
    const Number number = choose();
    std::memcpy(&bytes[at], &number, sizeof(Number));
  }
}

inline void FillWeights(WeightType type, TestNumbers& numbers, TestValues values,
                        std::span<uint8_t> bytes) {
  switch (type) {
    case WeightType::kF32:
      return FillNumbers<float>(bytes, [&] { return TestFloat(numbers, values); });
    case WeightType::kF16:
      return FillNumbers<uint16_t>(bytes, [&] { return TestHalf(numbers, values); });
    case WeightType::kBF16:
      return FillNumbers<uint16_t>(
          bytes, [&] { return quant::FloatToBfloat16(TestFloat(numbers, values)); });
    case WeightType::kQ8_0:
      return FillBlocks<quant::BlockQ8_0>(numbers, values, bytes);
    case WeightType::kQ4_0:
      return FillBlocks<quant::BlockQ4_0>(numbers, values, bytes);
    case WeightType::kMXFP4:
      return FillBlocks<quant::BlockMXFP4>(numbers, values, bytes);
    case WeightType::kQ2_K:
      return FillBlocks<quant::BlockQ2_K>(numbers, values, bytes);
    case WeightType::kQ4_K:
      return FillBlocks<quant::BlockQ4_K>(numbers, values, bytes);
    case WeightType::kQ5_K:
      return FillBlocks<quant::BlockQ5_K>(numbers, values, bytes);
    case WeightType::kQ6_K:
      return FillBlocks<quant::BlockQ6_K>(numbers, values, bytes);
    case WeightType::kIQ2_XXS:
      return FillBlocks<quant::BlockIQ2_XXS>(numbers, values, bytes);
  }
}

// --- Whole matrices and rows.

// Zeroed bytes at a multiple of `alignment`, plus `offset`.
class AlignedBytes {
 public:
  explicit AlignedBytes(size_t size, size_t alignment = kPackedAlignment, size_t offset = 0)
      : storage_(size + alignment + offset), size_(size) {
    const auto start = reinterpret_cast<uintptr_t>(storage_.data());
    begin_ = storage_.data() + (alignment - start % alignment) % alignment + offset;
  }
  AlignedBytes(AlignedBytes&&) = default;  // the storage does not move

  uint8_t* data() { return begin_; }
  const uint8_t* data() const { return begin_; }
  size_t size() const { return size_; }

 private:
  std::vector<uint8_t> storage_;
  uint8_t* begin_;
  size_t size_;
};

// A matrix in a file's format.
struct FileMatrix {
  FileMatrix(WeightType weight_type, size_t row_count, size_t column_count, TestValues values,
             uint64_t seed)
      : type(weight_type),
        rows(row_count),
        columns(column_count),
        row_bytes(gguf::RowBytes(TensorTypeOf(type), columns).value()),
        bytes(rows * row_bytes) {
    TestNumbers numbers(seed);
    FillWeights(type, numbers, values, bytes);
  }

  PackSource source() const { return {bytes.data(), row_bytes, rows, columns}; }

  AlignedBytes Packed() const {
    AlignedBytes packed(PanelCount(rows) * PanelBytes(type, columns));
    PackPanels(type, source(), 0, PanelCount(rows), packed.data());
    return packed;
  }

  // [rows, columns]
  std::vector<float> Dequantised() const {
    std::vector<float> values(rows * columns);
    CHECK(quant::Dequantize(TensorTypeOf(type), bytes, values).ok());
    return values;
  }

  WeightType type;
  size_t rows;
  size_t columns;
  size_t row_bytes;
  std::vector<uint8_t> bytes;
};

inline std::vector<float> TestRows(size_t rows, size_t columns, TestValues values, uint64_t seed) {
  TestNumbers numbers(seed);
  std::vector<float> result(rows * columns);
  for (float& value : result) value = TestFloat(numbers, values);
  return result;
}

// Rows that are prepared for a type.
struct PreparedRows {
  PreparedRows(Isa isa, ActivationFormat row_format, std::span<const float> values,
               size_t column_count)
      : format(row_format),
        rows(values.size() / column_count),
        columns(column_count),
        bytes(ActivationBytes(format, rows, columns), kActivationAlignment) {
    const ComputeFloatMode mode;
    PrepareActivations(isa, format, {values.data(), columns, rows, columns}, 0, rows, bytes.data());
  }

  // A value or word of a row.
  template <typename Value>
  Value value(size_t row, size_t index) const {
    constexpr size_t kCount = kPieceBytes / sizeof(Value);
    const ActivationRow place = ActivationRowAt(ActivationLayoutOf(format, columns), rows, row);
    return Read<Value>(place.pieces + index / kCount * place.group_rows * kPieceBytes +
                       index % kCount * sizeof(Value));
  }
  template <typename Word>
  Word word(size_t row, size_t index) const {
    const ActivationRow place = ActivationRowAt(ActivationLayoutOf(format, columns), rows, row);
    return Read<Word>(place.words + index * place.group_rows * kWordBytes);
  }

  ActivationFormat format;
  size_t rows;
  size_t columns;
  AlignedBytes bytes;

 private:
  template <typename Value>
  Value Read(size_t offset) const {
    Value value;
    std::memcpy(&value, bytes.data() + offset, sizeof(value));
    return value;
  }
};

inline MatmulJob JobOf(const FileMatrix& matrix, const AlignedBytes& packed,
                       const PreparedRows& rows, float* out) {
  return {.weights = packed.data(),
          .rows = matrix.rows,
          .columns = matrix.columns,
          .activations = rows.bytes.data(),
          .activation_rows = rows.rows,
          .first_row = 0,
          .batch = rows.rows,
          .out = out,
          .out_stride = matrix.rows,
          .to_rows = nullptr};
}

// All outputs, [rows.rows, matrix.rows].
inline std::vector<float> Product(Isa isa, const FileMatrix& matrix, const AlignedBytes& packed,
                                  const PreparedRows& rows) {
  const ComputeFloatMode mode;
  std::vector<float> out(rows.rows * matrix.rows);
  Matmul(isa, matrix.type, JobOf(matrix, packed, rows, out.data()), 0, PanelCount(matrix.rows));
  return out;
}

// The bit patterns, all NaNs being the same: which NaN comes out of an operation is not specified.
inline std::vector<uint32_t> ComparableBits(std::span<const float> values) {
  std::vector<uint32_t> bits;
  bits.reserve(values.size());
  for (const float value : values) {
    const auto pattern = std::bit_cast<uint32_t>(value);
    bits.push_back((pattern & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : pattern);
  }
  return bits;
}

}  // namespace aster::kernels
