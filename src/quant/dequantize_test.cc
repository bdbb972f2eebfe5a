// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "quant/dequantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "base/float_mode.h"
#include "base/hash.h"
#include "quant/blocks.h"
#include "quant/half.h"
#include "quant/random_for_test.h"

namespace aster::quant {
namespace {

using gguf::TensorType;
using ::testing::HasSubstr;

// Hashes of decoded random bytes, so that no format ever changes. They were recorded when every
// value had been compared, bit for bit, with those of a published implementation.
struct Golden {
  TensorType type;
  uint64_t hash;
};
constexpr Golden kGolden[] = {
    {TensorType::kF32, 0xea5e39fa2c1c0106},     {TensorType::kF64, 0x93fb0131f95220df},
    {TensorType::kF16, 0x28644b2d5c723e94},     {TensorType::kBF16, 0xc4eab20c0ac8ade7},
    {TensorType::kQ1_0, 0x5d54c1142ee76593},    {TensorType::kQ2_0, 0x783c60474bec88c6},
    {TensorType::kQ4_0, 0x81002f401e156831},    {TensorType::kQ4_1, 0x5034d8e4cc1e6216},
    {TensorType::kQ5_0, 0x570a58c80fddae20},    {TensorType::kQ5_1, 0xdefd784089c21fbb},
    {TensorType::kQ8_0, 0xb502f7d8cb5b2c4c},    {TensorType::kQ8_1, 0x19b661c86cd6a81a},
    {TensorType::kQ2_K, 0x895bec90739afddd},    {TensorType::kQ3_K, 0x654fe14042f4c76c},
    {TensorType::kQ4_K, 0x66da04ee4b5f07fe},    {TensorType::kQ5_K, 0xfaec1bb553a6d99e},
    {TensorType::kQ6_K, 0x18fde8b5152058d4},    {TensorType::kQ8_K, 0x299583e7055b15e8},
    {TensorType::kTQ1_0, 0xfb8f88d4a8c8ae93},   {TensorType::kTQ2_0, 0x57f391b5df109194},
    {TensorType::kIQ1_S, 0x829011abe5efe115},   {TensorType::kIQ1_M, 0x3e263e22a5da3839},
    {TensorType::kIQ2_XXS, 0x4fe62424f71d929a}, {TensorType::kIQ2_XS, 0x1cfa1a9226909f21},
    {TensorType::kIQ2_S, 0xa639e04f5c9ec1f4},   {TensorType::kIQ3_XXS, 0xa4ecb718eccab892},
    {TensorType::kIQ3_S, 0x7722b3f73fa9a622},   {TensorType::kIQ4_NL, 0x53e0af549e5ccf7f},
    {TensorType::kIQ4_XS, 0xd1522732b2080963},  {TensorType::kMXFP4, 0xc3656d342cf4715b},
    {TensorType::kNVFP4, 0x1f1dabe52a698c67},
};

constexpr size_t kGoldenBlocks = 64;

std::vector<float> DecodeRandomBlocks(const gguf::TensorTypeInfo& info) {
  const std::vector<uint8_t> bytes =
      RandomBytes(static_cast<uint64_t>(info.type), kGoldenBlocks * info.block_bytes);
  std::vector<float> values(kGoldenBlocks * info.block_elements);
  const Status status = Dequantize(info.type, bytes, values);
  EXPECT_TRUE(status.ok()) << info.name;
  // Which NaN infinity minus infinity gives depends on the machine.
  for (float& value : values) {
    if (std::isnan(value)) value = std::numeric_limits<float>::quiet_NaN();
  }
  return values;
}

TEST(Dequantize, RandomBlocksNeverChange) {
  for (const Golden& golden : kGolden) {
    const std::vector<float> values = DecodeRandomBlocks(*gguf::FindTensorType(golden.type));
    const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
    EXPECT_EQ(Hash64Of({bytes, values.size() * sizeof(float)}), golden.hash)
        << gguf::TensorTypeName(golden.type);
  }
}

TEST(Dequantize, EveryDecoderHasAGoldenHash) {
  for (const gguf::TensorTypeInfo& info : gguf::KnownTensorTypes()) {
    const bool is_golden = std::any_of(std::begin(kGolden), std::end(kGolden),
                                       [&](const Golden& g) { return g.type == info.type; });
    EXPECT_EQ(FindDecoder(info.type) != nullptr, is_golden) << info.name;
  }
}

TEST(Dequantize, BlocksMayStandAnywhere) {
  for (const Golden& golden : kGolden) {
    const gguf::TensorTypeInfo& info = *gguf::FindTensorType(golden.type);
    std::vector<uint8_t> bytes =
        RandomBytes(static_cast<uint64_t>(info.type), kGoldenBlocks * info.block_bytes);
    bytes.insert(bytes.begin(), 0);  // now every block is at an odd address
    std::vector<float> values(kGoldenBlocks * info.block_elements);
    ASSERT_TRUE(Dequantize(info.type, Bytes(bytes).subspan(1), values).ok());
    const std::vector<float> expected = DecodeRandomBlocks(info);
    for (size_t i = 0; i < values.size(); ++i) {
      if (!std::isnan(expected[i])) {
        ASSERT_EQ(values[i], expected[i]) << info.name;
      }
    }
  }
}

// One weight of each type, computed by hand from docs/quantisation.md.
TEST(Dequantize, Q4_0ByHand) {
  BlockQ4_0 block = {};
  block.scale = FloatToHalf(0.5f);
  block.quants[3] = 0x1f;
  float out[32];
  FindDecoder(TensorType::kQ4_0)(reinterpret_cast<const uint8_t*>(&block), 1, out);
  EXPECT_EQ(out[3], 0.5f * (15 - 8));
  EXPECT_EQ(out[19], 0.5f * (1 - 8));
  EXPECT_EQ(out[0], 0.5f * -8);
}

TEST(Dequantize, Q4_KByHand) {
  BlockQ4_K block = {};
  block.scale = FloatToHalf(2.0f);
  block.min_scale = FloatToHalf(0.25f);
  block.scales[1] = 0x80 | 3;       // group 1: scale 3; group 5: upper bits 2
  block.scales[5] = 0x40 | 9;       // group 1: minimum 9; group 5: upper bits 1
  block.scales[9] = 0x7a;           // group 5: lower bits 10 and 7
  block.quants[4] = 0x50;           // group 1, weight 4: quant 5
  block.quants[32 * 2 + 6] = 0xc0;  // group 5, weight 6: quant 12
  float out[256];
  FindDecoder(TensorType::kQ4_K)(reinterpret_cast<const uint8_t*>(&block), 1, out);
  EXPECT_EQ(out[32 + 4], 2.0f * 3 * 5 - 0.25f * 9);
  EXPECT_EQ(out[5 * 32 + 6], 2.0f * (2 * 16 + 10) * 12 - 0.25f * (1 * 16 + 7));
}

TEST(Dequantize, Iq2XxsByHand) {
  BlockIQ2_XXS block = {};
  block.scale = FloatToHalf(1.0f);
  block.groups[2].points[1] = 1;                            // 43 8 8 8 8 8 8 8
  block.groups[2].signs_and_scale = 5u << 28 | 0x02u << 7;  // the second and the last are negative
  float out[256];
  FindDecoder(TensorType::kIQ2_XXS)(reinterpret_cast<const uint8_t*>(&block), 1, out);
  const float* point = out + 2 * 32 + 8;
  const float scale = 5.5f / 4;
  EXPECT_EQ(point[0], scale * 43);
  EXPECT_EQ(point[1], scale * -8);
  EXPECT_EQ(point[2], scale * 8);
  EXPECT_EQ(point[7], scale * -8);
}

TEST(Dequantize, DenormalWeightsAreKeptInAnyFloatMode) {
  BlockMXFP4 block = {};
  block.exponent = 1;
  block.quants[0] = 0x01;  // half of 2^-126
  std::vector<float> out(32);
  const ComputeFloatMode mode;
  const auto* bytes = reinterpret_cast<const uint8_t*>(&block);
  ASSERT_TRUE(Dequantize(TensorType::kMXFP4, {bytes, sizeof(block)}, out).ok());
  EXPECT_EQ(std::bit_cast<uint32_t>(out[0]), 0x00400000u);
}

TEST(Dequantize, RefusesWhatIsNotARow) {
  std::vector<float> out(32);
  const std::vector<uint8_t> bytes(17);
  EXPECT_EQ(Dequantize(TensorType::kQ4_0, bytes, out).error().code(), Code::kInvalidArgument);
  EXPECT_EQ(Dequantize(TensorType::kQ4_0, bytes, std::span(out).first(31)).error().code(),
            Code::kInvalidArgument);
  EXPECT_TRUE(Dequantize(TensorType::kQ4_0, {}, {}).ok());
}

TEST(Dequantize, NamesTheTypeThatItCannotRead) {
  const Status status = Dequantize(TensorType::kIQ4_KS, {}, {});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), Code::kUnimplemented);
  EXPECT_THAT(status.error().message(), HasSubstr("IQ4_KS"));
  EXPECT_FALSE(Dequantize(static_cast<TensorType>(12345), {}, {}).ok());
}

}  // namespace
}  // namespace aster::quant
