// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "quant/widen.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "quant/dequantize.h"
#include "quant/random_for_test.h"

namespace aster::quant {
namespace {

using gguf::TensorType;

class WidenTest : public testing::TestWithParam<TensorType> {};

// Any bytes are blocks.
TEST_P(WidenTest, EveryWeightStaysWhatItWas) {
  constexpr size_t kBlocks = 500;
  const TensorType type = GetParam();
  const auto wide = WidenedType(type);
  ASSERT_TRUE(wide);
  const gguf::TensorTypeInfo& from = *gguf::FindTensorType(type);
  const gguf::TensorTypeInfo& to = *gguf::FindTensorType(*wide);
  ASSERT_EQ(from.block_elements, to.block_elements);

  const std::vector<uint8_t> blocks = RandomBytes(3, kBlocks * from.block_bytes);
  std::vector<uint8_t> widened(kBlocks * to.block_bytes);
  Widen(type, blocks.data(), kBlocks, widened.data());

  std::vector<float> expected(kBlocks * from.block_elements), weights(expected.size());
  ASSERT_TRUE(Dequantize(type, blocks, expected).ok());
  ASSERT_TRUE(Dequantize(*wide, widened, weights).ok());
  for (size_t i = 0; i < weights.size(); ++i) {
    const bool same =
        weights[i] == expected[i] || (std::isnan(weights[i]) && std::isnan(expected[i]));
    EXPECT_TRUE(same) << i << ": " << weights[i] << " " << expected[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Types, WidenTest,
                         testing::Values(TensorType::kQ3_K, TensorType::kQ5_0, TensorType::kIQ4_NL),
                         [](const auto& type) { return gguf::TensorTypeName(type.param); });

TEST(Widen, TypesWithKernelsOfTheirOwnStayAsTheyAre) {
  for (const TensorType type : {TensorType::kF32, TensorType::kQ8_0, TensorType::kQ4_1,
                                TensorType::kQ6_K, static_cast<TensorType>(999)}) {
    EXPECT_FALSE(WidenedType(type));
  }
}

}  // namespace
}  // namespace aster::quant
