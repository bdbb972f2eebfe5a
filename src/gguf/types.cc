// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "gguf/types.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/checked.h"

namespace aster::gguf {
namespace {

// type, name, elements per block, bytes per block, more bytes per row, more bytes per tensor
constexpr TensorTypeInfo kTypes[] = {
    {TensorType::kF32, "F32", 1, 4, 0, 0},
    {TensorType::kF16, "F16", 1, 2, 0, 0},
    {TensorType::kQ4_0, "Q4_0", 32, 18, 0, 0},
    {TensorType::kQ4_1, "Q4_1", 32, 20, 0, 0},
    {TensorType::kQ5_0, "Q5_0", 32, 22, 0, 0},
    {TensorType::kQ5_1, "Q5_1", 32, 24, 0, 0},
    {TensorType::kQ8_0, "Q8_0", 32, 34, 0, 0},
    {TensorType::kQ8_1, "Q8_1", 32, 36, 0, 0},
    {TensorType::kQ2_K, "Q2_K", 256, 84, 0, 0},
    {TensorType::kQ3_K, "Q3_K", 256, 110, 0, 0},
    {TensorType::kQ4_K, "Q4_K", 256, 144, 0, 0},
    {TensorType::kQ5_K, "Q5_K", 256, 176, 0, 0},
    {TensorType::kQ6_K, "Q6_K", 256, 210, 0, 0},
    {TensorType::kQ8_K, "Q8_K", 256, 292, 0, 0},
    {TensorType::kIQ2_XXS, "IQ2_XXS", 256, 66, 0, 0},
    {TensorType::kIQ2_XS, "IQ2_XS", 256, 74, 0, 0},
    {TensorType::kIQ3_XXS, "IQ3_XXS", 256, 98, 0, 0},
    {TensorType::kIQ1_S, "IQ1_S", 256, 50, 0, 0},
    {TensorType::kIQ4_NL, "IQ4_NL", 32, 18, 0, 0},
    {TensorType::kIQ3_S, "IQ3_S", 256, 110, 0, 0},
    {TensorType::kIQ2_S, "IQ2_S", 256, 82, 0, 0},
    {TensorType::kIQ4_XS, "IQ4_XS", 256, 136, 0, 0},
    {TensorType::kI8, "I8", 1, 1, 0, 0},
    {TensorType::kI16, "I16", 1, 2, 0, 0},
    {TensorType::kI32, "I32", 1, 4, 0, 0},
    {TensorType::kI64, "I64", 1, 8, 0, 0},
    {TensorType::kF64, "F64", 1, 8, 0, 0},
    {TensorType::kIQ1_M, "IQ1_M", 256, 56, 0, 0},
    {TensorType::kBF16, "BF16", 1, 2, 0, 0},
    {TensorType::kQ4_0_4_4, "Q4_0_4_4", 32, 18, 0, 0},
    {TensorType::kQ4_0_4_8, "Q4_0_4_8", 32, 18, 0, 0},
    {TensorType::kQ4_0_8_8, "Q4_0_8_8", 32, 18, 0, 0},
    {TensorType::kTQ1_0, "TQ1_0", 256, 54, 0, 0},
    {TensorType::kTQ2_0, "TQ2_0", 256, 66, 0, 0},
    {TensorType::kI2_S, "I2_S", 4, 1, 0, 32},
    {TensorType::kMXFP4, "MXFP4", 32, 17, 0, 0},
    {TensorType::kNVFP4, "NVFP4", 64, 36, 0, 0},
    {TensorType::kQ1_0, "Q1_0", 128, 18, 0, 0},
    {TensorType::kQ2_0, "Q2_0", 64, 18, 0, 0},
    {TensorType::kQ8_0_X4, "Q8_0_X4", 32, 34, 0, 0},
    {TensorType::kQ8_1_X4, "Q8_1_X4", 32, 36, 0, 0},
    {TensorType::kQ8_2_X4, "Q8_2_X4", 32, 36, 0, 0},
    {TensorType::kQ6_0, "Q6_0", 32, 26, 0, 0},
    {TensorType::kIQ1_BN, "IQ1_BN", 64, 13, 2, 0},
    {TensorType::kIQ2_BN, "IQ2_BN", 64, 16, 4, 0},
    {TensorType::kQ8_K64, "Q8_K64", 64, 68, 0, 0},
    {TensorType::kIQ2_K, "IQ2_K", 256, 76, 0, 0},
    {TensorType::kIQ3_K, "IQ3_K", 256, 110, 0, 0},
    {TensorType::kIQ4_K, "IQ4_K", 256, 144, 0, 0},
    {TensorType::kIQ5_K, "IQ5_K", 256, 176, 0, 0},
    {TensorType::kIQ6_K, "IQ6_K", 256, 212, 0, 0},
    {TensorType::kIQ4_KS, "IQ4_KS", 256, 136, 4, 0},
    {TensorType::kIQ2_KS, "IQ2_KS", 256, 70, 2, 0},
    {TensorType::kIQ4_KSS, "IQ4_KSS", 256, 128, 4, 0},
    {TensorType::kQ8_K16, "Q8_K16", 64, 64, 20, 0},
    {TensorType::kQ8_K32, "Q8_K32", 256, 296, 0, 0},
    {TensorType::kQ8_KR8, "Q8_KR8", 256, 296, 0, 0},
    {TensorType::kQ8_K128, "Q8_K128", 128, 140, 0, 0},
    {TensorType::kQ8_KV, "Q8_KV", 32, 32, 8, 0},
    {TensorType::kIQ5_KS, "IQ5_KS", 256, 168, 4, 0},
    {TensorType::kIQ2_KT, "IQ2_KT", 256, 68, 4, 0},
    {TensorType::kIQ3_KT, "IQ3_KT", 256, 100, 4, 0},
    {TensorType::kIQ4_KT, "IQ4_KT", 256, 128, 4, 0},
    {TensorType::kIQ3_KS, "IQ3_KS", 256, 102, 2, 0},
    {TensorType::kIQ2_KL, "IQ2_KL", 256, 86, 2, 0},
    {TensorType::kIQ1_KT, "IQ1_KT", 256, 56, 4, 0},
    {TensorType::kQ4_0_R8, "Q4_0_R8", 32, 18, 0, 0},
    {TensorType::kQ5_0_R4, "Q5_0_R4", 32, 22, 0, 0},
    {TensorType::kQ8_0_R8, "Q8_0_R8", 32, 34, 0, 0},
    {TensorType::kQ2_K_R4, "Q2_K_R4", 256, 84, 0, 0},
    {TensorType::kQ3_K_R4, "Q3_K_R4", 256, 110, 0, 0},
    {TensorType::kQ4_K_R4, "Q4_K_R4", 256, 144, 0, 0},
    {TensorType::kQ5_K_R4, "Q5_K_R4", 256, 176, 0, 0},
    {TensorType::kQ6_K_R4, "Q6_K_R4", 256, 210, 0, 0},
    {TensorType::kIQ2_XXS_R4, "IQ2_XXS_R4", 256, 66, 0, 0},
    {TensorType::kIQ2_XS_R4, "IQ2_XS_R4", 256, 74, 0, 0},
    {TensorType::kIQ3_XXS_R4, "IQ3_XXS_R4", 256, 98, 0, 0},
    {TensorType::kIQ1_S_R4, "IQ1_S_R4", 32, 6, 2, 0},
    {TensorType::kIQ4_NL_R4, "IQ4_NL_R4", 32, 18, 0, 0},
    {TensorType::kIQ3_S_R4, "IQ3_S_R4", 256, 110, 0, 0},
    {TensorType::kIQ2_S_R4, "IQ2_S_R4", 256, 82, 0, 0},
    {TensorType::kIQ4_XS_R8, "IQ4_XS_R8", 256, 136, 0, 0},
    {TensorType::kIQ1_M_R4, "IQ1_M_R4", 32, 7, 2, 0},
    {TensorType::kBF16_R16, "BF16_R16", 1, 2, 0, 0},
    {TensorType::kQ6_0_R4, "Q6_0_R4", 32, 26, 0, 0},
    {TensorType::kIQ2_BN_R4, "IQ2_BN_R4", 64, 16, 4, 0},
    {TensorType::kIQ2_K_R4, "IQ2_K_R4", 256, 76, 0, 0},
    {TensorType::kIQ3_K_R4, "IQ3_K_R4", 256, 110, 0, 0},
    {TensorType::kIQ4_K_R4, "IQ4_K_R4", 256, 144, 0, 0},
    {TensorType::kIQ5_K_R4, "IQ5_K_R4", 256, 176, 0, 0},
    {TensorType::kIQ4_KS_R4, "IQ4_KS_R4", 256, 136, 4, 0},
    {TensorType::kIQ5_KS_R4, "IQ5_KS_R4", 256, 168, 4, 0},
    {TensorType::kMXFP4_R8, "MXFP4_R8", 32, 17, 0, 0},
    {TensorType::kQ8_K_R16, "Q8_K_R16", 256, 258, 0, 0},
    {TensorType::kQ8_KV_R8, "Q8_KV_R8", 32, 32, 4, 0},
    {TensorType::kQ8_K_R8, "Q8_K_R8", 256, 258, 0, 0},
};

constexpr bool TypesAscend() {
  return std::is_sorted(std::begin(kTypes), std::end(kTypes),
                        [](const auto& a, const auto& b) { return a.type < b.type; });
}
static_assert(TypesAscend(), "FindTensorType searches by halves");

constexpr char Upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

bool EqualIgnoringCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return Upper(x) == Upper(y); });
}

struct ValueTypeInfo {
  std::string_view name;
  uint32_t fixed_bytes;
};

constexpr std::array<ValueTypeInfo, kValueTypeCount> kValueTypes = {{
    {"u8", 1},
    {"i8", 1},
    {"u16", 2},
    {"i16", 2},
    {"u32", 4},
    {"i32", 4},
    {"f32", 4},
    {"bool", 1},
    {"string", 0},
    {"array", 0},
    {"u64", 8},
    {"i64", 8},
    {"f64", 8},
}};

}  // namespace

std::span<const TensorTypeInfo> KnownTensorTypes() { return kTypes; }

const TensorTypeInfo* FindTensorType(TensorType type) {
  const auto* found =
      std::lower_bound(std::begin(kTypes), std::end(kTypes), type,
                       [](const TensorTypeInfo& info, TensorType t) { return info.type < t; });
  return found != std::end(kTypes) && found->type == type ? found : nullptr;
}

const TensorTypeInfo* FindTensorType(std::string_view name) {
  for (const TensorTypeInfo& info : kTypes) {
    if (EqualIgnoringCase(info.name, name)) return &info;
  }
  return nullptr;
}

std::string TensorTypeName(TensorType type) {
  const TensorTypeInfo* info = FindTensorType(type);
  return info != nullptr ? std::string(info->name)
                         : fmt::format("type {}", static_cast<uint32_t>(type));
}

std::optional<uint64_t> RowBytes(TensorType type, uint64_t elements) {
  const TensorTypeInfo* info = FindTensorType(type);
  if (info == nullptr || elements % info->block_elements != 0) return std::nullopt;
  const auto blocks = CheckedMul<uint64_t>(elements / info->block_elements, info->block_bytes);
  return blocks ? CheckedAdd<uint64_t>(*blocks, info->row_extra_bytes) : std::nullopt;
}

Result<uint64_t> TensorBytes(TensorType type, std::span<const uint64_t> dims) {
  const TensorTypeInfo* info = FindTensorType(type);
  if (info == nullptr) {
    return Unimplemented(fmt::format(
        "{} is not a known tensor type, so its size is not known either", TensorTypeName(type)));
  }
  const uint64_t row_elements = dims.empty() ? 1 : dims[0];
  if (row_elements % info->block_elements != 0) {
    return InvalidArgument(
        fmt::format("rows of {} elements cannot be of type {}, which is made of blocks of {}",
                    row_elements, info->name, info->block_elements));
  }
  std::optional<uint64_t> bytes = RowBytes(type, row_elements);
  for (size_t i = 1; i < dims.size() && bytes; ++i) bytes = CheckedMul(*bytes, dims[i]);
  if (bytes) bytes = CheckedAdd<uint64_t>(*bytes, info->tensor_extra_bytes);
  if (!bytes) return OutOfRange("more bytes than a 64-bit number can say");
  return *bytes;
}

std::string ValueTypeName(ValueType type) {
  const auto number = static_cast<uint32_t>(type);
  return number < kValueTypeCount ? std::string(kValueTypes[number].name)
                                  : fmt::format("type {}", number);
}

uint32_t FixedValueBytes(ValueType type) {
  const auto number = static_cast<uint32_t>(type);
  return number < kValueTypeCount ? kValueTypes[number].fixed_bytes : 0;
}

}  // namespace aster::gguf
