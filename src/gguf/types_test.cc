// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "gguf/types.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

namespace aster::gguf {
namespace {

TEST(TensorType, EveryNameFindsItsType) {
  std::set<std::string_view> names;
  for (const TensorTypeInfo& info : KnownTensorTypes()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_EQ(FindTensorType(info.name), &info);
    EXPECT_EQ(FindTensorType(info.type), &info);
    EXPECT_EQ(TensorTypeName(info.type), info.name);
    std::string lower(info.name);
    for (char& c : lower) c = static_cast<char>(std::tolower(c));
    EXPECT_EQ(FindTensorType(lower), &info);
  }
  EXPECT_EQ(FindTensorType("Q4"), nullptr);
  EXPECT_EQ(FindTensorType(""), nullptr);
}

TEST(TensorType, UnknownNumbersHaveANameButNoSize) {
  for (const uint32_t number : {4U, 5U, 43U, 142U, 400U, 0xFFFFFFFFU}) {
    const auto type = static_cast<TensorType>(number);
    EXPECT_EQ(FindTensorType(type), nullptr);
    EXPECT_EQ(TensorTypeName(type), "type " + std::to_string(number));
    EXPECT_FALSE(RowBytes(type, 256).has_value());
    EXPECT_FALSE(TensorBytes(type, {}).ok());
  }
}

// Bytes of 256 elements, computed from each format's description.
TEST(TensorType, SizesAreThoseOfTheFormats) {
  const auto bytes_of_256 = [](const char* name) {
    return RowBytes(FindTensorType(name)->type, 256).value();
  };
  EXPECT_EQ(bytes_of_256("F32"), 1024u);
  EXPECT_EQ(bytes_of_256("BF16"), 512u);
  EXPECT_EQ(bytes_of_256("Q4_0"), 8u * (2 + 16));
  EXPECT_EQ(bytes_of_256("Q5_1"), 8u * (2 + 2 + 4 + 16));
  EXPECT_EQ(bytes_of_256("Q8_0"), 8u * (2 + 32));
  EXPECT_EQ(bytes_of_256("Q2_K"), 16u + 64 + 2 + 2);
  EXPECT_EQ(bytes_of_256("Q3_K"), 32u + 64 + 12 + 2);
  EXPECT_EQ(bytes_of_256("Q4_K"), 2u + 2 + 12 + 128);
  EXPECT_EQ(bytes_of_256("Q5_K"), 2u + 2 + 12 + 32 + 128);
  EXPECT_EQ(bytes_of_256("Q6_K"), 128u + 64 + 16 + 2);
  EXPECT_EQ(bytes_of_256("IQ2_XXS"), 2u + 64);
  EXPECT_EQ(bytes_of_256("IQ4_XS"), 2u + 2 + 4 + 128);
  EXPECT_EQ(bytes_of_256("TQ1_0"), 48u + 4 + 2);
  EXPECT_EQ(bytes_of_256("MXFP4"), 8u * (1 + 16));
  EXPECT_EQ(bytes_of_256("NVFP4"), 4u * (4 + 32));
  EXPECT_EQ(bytes_of_256("Q1_0"), 2u * (2 + 16));
  EXPECT_EQ(bytes_of_256("Q2_0"), 4u * (2 + 16));
  EXPECT_EQ(bytes_of_256("IQ4_KS"), 4u + 136);  // a scale before each row
}

TEST(TensorType, TensorsAreWholeRows) {
  const auto bytes = [](TensorType type, std::vector<uint64_t> dims) {
    return TensorBytes(type, dims);
  };
  EXPECT_EQ(*bytes(TensorType::kF32, {}), 4u);
  EXPECT_EQ(*bytes(TensorType::kQ4_K, {512, 3, 2}), 6u * 2 * 144);
  EXPECT_EQ(*bytes(TensorType::kIQ4_KS, {512, 3}), 3u * (4 + 2 * 136));
  EXPECT_EQ(*bytes(TensorType::kI2_S, {128, 4}), 512u / 4 + 32);
  EXPECT_FALSE(bytes(TensorType::kQ4_K, {255, 256}).ok());
  EXPECT_FALSE(bytes(TensorType::kF64, {1ULL << 61, 1}).ok());
  EXPECT_FALSE(bytes(TensorType::kF32, {1ULL << 40, 1ULL << 40}).ok());
  EXPECT_FALSE(RowBytes(TensorType::kF64, std::numeric_limits<uint64_t>::max()).has_value());
}

TEST(ValueType, HasNamesAndSizes) {
  EXPECT_EQ(ValueTypeName(ValueType::kUint32), "u32");
  EXPECT_EQ(ValueTypeName(static_cast<ValueType>(13)), "type 13");
  EXPECT_EQ(FixedValueBytes(ValueType::kBool), 1u);
  EXPECT_EQ(FixedValueBytes(ValueType::kFloat64), 8u);
  EXPECT_EQ(FixedValueBytes(ValueType::kString), 0u);
  EXPECT_EQ(FixedValueBytes(static_cast<ValueType>(99)), 0u);
}

}  // namespace
}  // namespace aster::gguf
