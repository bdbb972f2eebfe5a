// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Matrices, activations and products for the tests of this folder and for its benchmark.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/float_mode.h"
#include "base/sanitized.h"
#include "kernels/activation_layout.h"
#include "kernels/activations.h"
#include "kernels/matmul.h"
#include "kernels/pack.h"
#include "quant/blocks.h"
#include "quant/dequantize.h"
#include "quant/half.h"

namespace aster::kernels {

using gguf::TensorType;

// All types of files with kernels.
inline constexpr TensorType kAllTypes[] = {
    TensorType::kF32,     TensorType::kF16,   TensorType::kBF16,   TensorType::kQ8_0,
    TensorType::kQ5_0,    TensorType::kQ4_0,  TensorType::kMXFP4,  TensorType::kQ2_K,
    TensorType::kQ4_K,    TensorType::kQ5_K,  TensorType::kQ6_K,   TensorType::kIQ2_XXS,
    TensorType::kIQ4_NL,  TensorType::kQ4_1,  TensorType::kQ5_1,   TensorType::kQ3_K,
    TensorType::kIQ4_XS,  TensorType::kIQ3_S, TensorType::kIQ2_XS, TensorType::kIQ2_S,
    TensorType::kIQ3_XXS, TensorType::kIQ1_S, TensorType::kIQ1_M};

// One for each kernel.
inline constexpr TensorType kTypeOfEachKernel[kWeightTypeCount] = {
    TensorType::kF32,  TensorType::kF16,   TensorType::kBF16,    TensorType::kQ8_0,
    TensorType::kQ4_0, TensorType::kMXFP4, TensorType::kQ2_K,    TensorType::kQ4_K,
    TensorType::kQ5_K, TensorType::kQ6_K,  TensorType::kIQ2_XXS, TensorType::kIQ4_NL,
    TensorType::kQ5_1, TensorType::kIQ4_XS};

// All of 1 … most. With sanitizers, where a product takes up to half a second, only those at the
// edges of tiles and of registers: the release build tests all.
inline std::vector<size_t> NumbersUpTo(size_t most) {
  std::vector<size_t> numbers;
  for (size_t n = 1; n <= most; ++n) {
    if (!kSanitized || n <= 5 || (n + 1) % 16 <= 2 || n == most) numbers.push_back(n);
  }
  return numbers;
}

// "Q4_K"; also a valid part of a test's name.
inline std::string TypeName(TensorType type) { return gguf::TensorTypeName(type); }

// The kernels' functions of WeightType, by type of files.
inline size_t ColumnMultiple(TensorType type) { return ColumnMultiple(*WeightTypeOf(type)); }
inline size_t PanelBytes(TensorType type, size_t columns) {
  return PanelBytes(*WeightTypeOf(type), columns);
}
inline ActivationFormat ActivationFormatFor(TensorType type) {
  return ActivationFormatFor(*WeightTypeOf(type));
}
inline void Matmul(Isa isa, TensorType type, const MatmulJob& job, size_t begin, size_t end) {
  Matmul(isa, *WeightTypeOf(type), job, begin, end);
}

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
  kPlain,  // as in models
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
  // Neighbours must have an effect on each other, so most have similar magnitudes.
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

// The scale's four bits in each part of IQ1_M.
inline void SetScale(quant::BlockIQ1_M& block, uint16_t scale) {
  for (size_t i = 0; i < 4; ++i) {
    uint8_t& byte = block.scales[2 * i + 1];
    byte = static_cast<uint8_t>((byte & 15) | (scale >> (4 * i) & 15) << 4);
  }
}
template <typename Block>
  requires requires(Block& block) { block.scale = uint16_t{}; }
void SetScale(Block& block, uint16_t scale) {
  block.scale = scale;
}

template <typename Block>
void ChooseScales(TestNumbers& numbers, TestValues values, Block& block) {
  if constexpr (requires { block.exponent; }) {
    if (values == TestValues::kPlain || numbers.Below(4) != 0) {
      block.exponent = static_cast<uint8_t>(120 + numbers.Below(10));
    }
  } else {
    SetScale(block, TestHalf(numbers, values));
  }
  if constexpr (requires { block.min_scale; }) block.min_scale = TestHalf(numbers, values);
  if constexpr (requires { block.offset; }) block.offset = TestHalf(numbers, values);
}

// Blocks with the bytes of `byte()`.
template <typename Block, typename Byte>
void FillBlocks(TestNumbers& numbers, TestValues values, std::span<uint8_t> bytes,
                const Byte& byte) {
  for (size_t at = 0; at < bytes.size(); at += sizeof(Block)) {
    Block block;
    for (size_t i = 0; i < sizeof(Block); ++i) reinterpret_cast<uint8_t*>(&block)[i] = byte();
    ChooseScales(numbers, values, block);
    std::memcpy(&bytes[at], &block, sizeof(Block));
  }
}

template <typename Byte>
void FillBlocks(TensorType type, TestNumbers& numbers, TestValues values, std::span<uint8_t> bytes,
                const Byte& byte) {
  switch (type) {
#define BLOCKS(name)        \
  case TensorType::k##name: \
    return FillBlocks<quant::Block##name>(numbers, values, bytes, byte)
    BLOCKS(Q8_0);
    BLOCKS(Q5_0);
    BLOCKS(Q4_0);
    BLOCKS(MXFP4);
    BLOCKS(Q2_K);
    BLOCKS(Q4_K);
    BLOCKS(Q5_K);
    BLOCKS(Q6_K);
    BLOCKS(IQ2_XXS);
    BLOCKS(IQ4_NL);
    BLOCKS(Q4_1);
    BLOCKS(Q5_1);
    BLOCKS(Q3_K);
    BLOCKS(IQ4_XS);
    BLOCKS(IQ3_XXS);
    BLOCKS(IQ3_S);
    BLOCKS(IQ2_XS);
    BLOCKS(IQ2_S);
    BLOCKS(IQ1_S);
    BLOCKS(IQ1_M);
#undef BLOCKS
    default:
      CheckFailed(__FILE__, __LINE__, "a type of blocks", "");
  }
}

template <typename Number, typename Choose>
void FillNumbers(std::span<uint8_t> bytes, const Choose& choose) {
  for (size_t at = 0; at < bytes.size(); at += sizeof(Number)) {
    const Number number = choose();
    std::memcpy(&bytes[at], &number, sizeof(Number));
  }
}

inline void FillWeights(TensorType type, TestNumbers& numbers, TestValues values,
                        std::span<uint8_t> bytes) {
  switch (type) {
    case TensorType::kF32:
      return FillNumbers<float>(bytes, [&] { return TestFloat(numbers, values); });
    case TensorType::kF16:
      return FillNumbers<uint16_t>(bytes, [&] { return TestHalf(numbers, values); });
    case TensorType::kBF16:
      return FillNumbers<uint16_t>(
          bytes, [&] { return quant::FloatToBfloat16(TestFloat(numbers, values)); });
    default:
      return FillBlocks(type, numbers, values, bytes,
                        [&] { return static_cast<uint8_t>(numbers.Next() >> 56); });
  }
}

// --- Whole matrices and rows.

// Zeroed bytes at a multiple of `alignment`, plus `offset`. The page behind them cannot be
// accessed, so that reading or writing beyond the end of its last `alignment` bytes is found in
// every build.
class AlignedBytes {
 public:
  explicit AlignedBytes(size_t size, size_t alignment = kPackedAlignment, size_t offset = 0)
      : size_(size) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t used = RoundedUp(size + offset, alignment);
    mapped_ = RoundedUp(used, page) + page;
    void* at = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    mapping_ = static_cast<uint8_t*>(at);
    uint8_t* const end = mapping_ + mapped_ - page;
    CHECK(mprotect(end, page, PROT_NONE) == 0);
    begin_ = end - used + offset;
    std::memset(begin_, 0, size);  // so that reading does not make pages first
  }
  ~AlignedBytes() {
    if (mapping_ != nullptr) munmap(mapping_, mapped_);
  }
  AlignedBytes(AlignedBytes&& other) noexcept
      : mapping_(std::exchange(other.mapping_, nullptr)),
        mapped_(other.mapped_),
        begin_(other.begin_),
        size_(other.size_) {}

  uint8_t* data() { return begin_; }
  const uint8_t* data() const { return begin_; }
  size_t size() const { return size_; }

 private:
  static size_t RoundedUp(size_t size, size_t multiple) {
    return (size + multiple - 1) / multiple * multiple;
  }

  uint8_t* mapping_;
  size_t mapped_;
  uint8_t* begin_;
  size_t size_;
};

// A matrix in a file's format.
struct FileMatrix {
  FileMatrix(TensorType tensor_type, size_t row_count, size_t column_count, TestValues values,
             uint64_t seed)
      : type(tensor_type),
        rows(row_count),
        columns(column_count),
        row_bytes(gguf::RowBytes(type, columns).value()),
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

  // Sets all bytes of its blocks, except scales: gives the largest and smallest integers.
  void FillWith(uint8_t byte) {
    TestNumbers numbers(2);
    FillBlocks(type, numbers, TestValues::kPlain, bytes, [&] { return byte; });
  }

  // [rows, columns]
  std::vector<float> Dequantised() const {
    std::vector<float> values(rows * columns);
    CHECK(quant::Dequantize(type, bytes, values).ok());
    return values;
  }

  TensorType type;
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
  const size_t count = rows.rows * matrix.rows;
  AlignedBytes bytes(count * sizeof(float), sizeof(float));
  auto* const out = reinterpret_cast<float*>(bytes.data());
  Matmul(isa, matrix.type, JobOf(matrix, packed, rows, out), 0, PanelCount(matrix.rows));
  return {out, out + count};
}

// The bit patterns, with all NaNs equal: which NaN an operation gives is not specified.
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
