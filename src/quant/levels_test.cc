// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "quant/levels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "quant/dequantize.h"
#include "quant/half.h"
#include "quant/random_for_test.h"

namespace aster::quant {
namespace {

using gguf::TensorType;

// Reading levels gives the decoder's weights, to the last bit. Any bytes are a block.
template <typename Block>
void ExpectSameWeights(TensorType type) {
  SCOPED_TRACE(gguf::TensorTypeName(type));
  constexpr size_t kBlocks = 500;
  const std::vector<uint8_t> bytes = RandomBytes(3, kBlocks * sizeof(Block));
  std::vector<float> expected(kBlocks * kSuperBlock);
  ASSERT_TRUE(Dequantize(type, bytes, expected).ok());
  for (size_t n = 0; n < kBlocks; ++n) {
    Block block;
    std::memcpy(&block, &bytes[n * sizeof(Block)], sizeof(Block));
    LevelBlock read;
    ReadLevels(block, read);
    const LevelTable& table = LevelsOf(block);
    for (size_t i = 0; i < kSuperBlock; ++i) {
      const float scale = HalfToFloat(read.scale) * table.factor;
      const int integer = read.scales[i / 16] * table.levels.at(read.codes[i]);
      const float weight = scale * static_cast<float>(integer),
                  want = expected[n * kSuperBlock + i];
      ASSERT_TRUE(weight == want || (std::isnan(weight) && std::isnan(want)))
          << "block " << n << ", weight " << i << ": " << weight << " " << want;
    }
  }
}

TEST(Levels, EveryWeightIsWhatItsDecoderSays) {
  ExpectSameWeights<BlockQ3_K>(TensorType::kQ3_K);
  ExpectSameWeights<BlockIQ4_XS>(TensorType::kIQ4_XS);
  ExpectSameWeights<BlockIQ3_XXS>(TensorType::kIQ3_XXS);
  ExpectSameWeights<BlockIQ3_S>(TensorType::kIQ3_S);
  ExpectSameWeights<BlockIQ2_XS>(TensorType::kIQ2_XS);
  ExpectSameWeights<BlockIQ2_S>(TensorType::kIQ2_S);
  ExpectSameWeights<BlockIQ1_S>(TensorType::kIQ1_S);
  ExpectSameWeights<BlockIQ1_M>(TensorType::kIQ1_M);
}

}  // namespace
}  // namespace aster::quant
