// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The types that a GGUF file can name: of tensors (how many bytes their elements take) and of
// metadata values. Knows nothing of the content of blocks, which is in quant/.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace aster::gguf {

// A tensor's type as its number in the file. Any number is possible; those without a name below are
// unknown: such a tensor can be listed but not read.
enum class TensorType : uint32_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ5_0 = 6,
  kQ5_1 = 7,
  kQ8_0 = 8,
  kQ8_1 = 9,
  kQ2_K = 10,
  kQ3_K = 11,
  kQ4_K = 12,
  kQ5_K = 13,
  kQ6_K = 14,
  kQ8_K = 15,
  kIQ2_XXS = 16,
  kIQ2_XS = 17,
  kIQ3_XXS = 18,
  kIQ1_S = 19,
  kIQ4_NL = 20,
  kIQ3_S = 21,
  kIQ2_S = 22,
  kIQ4_XS = 23,
  kI8 = 24,
  kI16 = 25,
  kI32 = 26,
  kI64 = 27,
  kF64 = 28,
  kIQ1_M = 29,
  kBF16 = 30,
  kQ4_0_4_4 = 31,
  kQ4_0_4_8 = 32,
  kQ4_0_8_8 = 33,
  kTQ1_0 = 34,
  kTQ2_0 = 35,
  kI2_S = 36,
  kMXFP4 = 39,
  kNVFP4 = 40,
  kQ1_0 = 41,
  kQ2_0 = 42,

  // From the ik_llama.cpp family. The _R4, _R8 and _R16 types interleave that many rows.
  kQ8_0_X4 = 97,
  kQ8_1_X4 = 98,
  kQ8_2_X4 = 99,
  kQ6_0 = 133,
  kIQ1_BN = 134,
  kIQ2_BN = 135,
  kQ8_K64 = 136,
  kIQ2_K = 137,
  kIQ3_K = 138,
  kIQ4_K = 139,
  kIQ5_K = 140,
  kIQ6_K = 141,
  kIQ4_KS = 144,
  kIQ2_KS = 145,
  kIQ4_KSS = 146,
  kQ8_K16 = 147,
  kQ8_K32 = 148,
  kQ8_KR8 = 149,
  kQ8_K128 = 150,
  kQ8_KV = 151,
  kIQ5_KS = 152,
  kIQ2_KT = 153,
  kIQ3_KT = 154,
  kIQ4_KT = 155,
  kIQ3_KS = 156,
  kIQ2_KL = 157,
  kIQ1_KT = 158,
  kQ4_0_R8 = 202,
  kQ5_0_R4 = 206,
  kQ8_0_R8 = 208,
  kQ2_K_R4 = 210,
  kQ3_K_R4 = 211,
  kQ4_K_R4 = 212,
  kQ5_K_R4 = 213,
  kQ6_K_R4 = 214,
  kIQ2_XXS_R4 = 216,
  kIQ2_XS_R4 = 217,
  kIQ3_XXS_R4 = 218,
  kIQ1_S_R4 = 219,
  kIQ4_NL_R4 = 220,
  kIQ3_S_R4 = 221,
  kIQ2_S_R4 = 222,
  kIQ4_XS_R8 = 223,
  kIQ1_M_R4 = 229,
  kBF16_R16 = 230,
  kQ6_0_R4 = 233,
  kIQ2_BN_R4 = 335,
  kIQ2_K_R4 = 337,
  kIQ3_K_R4 = 338,
  kIQ4_K_R4 = 339,
  kIQ5_K_R4 = 340,
  kIQ4_KS_R4 = 344,
  kIQ5_KS_R4 = 352,
  kMXFP4_R8 = 353,
  kQ8_K_R16 = 397,
  kQ8_KV_R8 = 398,
  kQ8_K_R8 = 399,
};

// The sizes of a type's elements. A row (the elements along the first dimension) is a whole number
// of blocks, with row_extra_bytes after or before them; the whole tensor has tensor_extra_bytes
// more.
struct TensorTypeInfo {
  TensorType type;
  std::string_view name;
  uint32_t block_elements;
  uint32_t block_bytes;
  uint32_t row_extra_bytes;
  uint32_t tensor_extra_bytes;
};

// Every known type, by ascending number.
std::span<const TensorTypeInfo> KnownTensorTypes();

// Null if the type is not known.
const TensorTypeInfo* FindTensorType(TensorType type);
// The type with that name, upper or lower case.
const TensorTypeInfo* FindTensorType(std::string_view name);

// "Q4_K"; "type 77" for a type that is not known.
std::string TensorTypeName(TensorType type);

// The bytes of a row of `elements` elements: nothing if the type is not known, if the elements are
// not a whole number of blocks, or if the size overflows.
std::optional<uint64_t> RowBytes(TensorType type, uint64_t elements);

// The bytes of a tensor; dims[0] is the row. The error says why there is no such size; it does not
// name the tensor.
Result<uint64_t> TensorBytes(TensorType type, std::span<const uint64_t> dims);

// The type of a metadata value, as its number in the file.
enum class ValueType : uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};
inline constexpr uint32_t kValueTypeCount = 13;

// "u32", "string", "array"; "type 77" for an unknown number.
std::string ValueTypeName(ValueType type);

// The bytes of one value of a fixed-size type; 0 for strings, arrays and unknown types.
uint32_t FixedValueBytes(ValueType type);

}  // namespace aster::gguf
