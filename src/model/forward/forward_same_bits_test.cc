// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Logits of small models, recorded on one machine: every other machine, with any processor, must
// compute the same bits.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "model/forward/runner_for_test.h"

namespace aster::model {
namespace {

using gguf::TensorType;

struct Known {
  Arch arch;
  TensorType type;
  const char* hash;
};

constexpr Known kKnown[] = {
    {Arch::kLlama, TensorType::kF32, "678480faf2e672256da486b9d58f4555"},
    {Arch::kLlama, TensorType::kF16, "fc1d9c42afef6b8cc7a46adfc7469aa3"},
    {Arch::kLlama, TensorType::kBF16, "3d8f3e3d2018690e712c11f751ab1416"},
    {Arch::kLlama, TensorType::kQ8_0, "b20a5985722699c1ddd44000cb2304cb"},
    {Arch::kLlama, TensorType::kQ4_0, "b5dcd3e843014a7702559370f6aad112"},
    {Arch::kLlama, TensorType::kMXFP4, "2cba1316a1d3d4d5663996be3ce7bd37"},
    {Arch::kLlama, TensorType::kQ2_K, "227492087c0d5caec123368865aadb64"},
    {Arch::kLlama, TensorType::kQ4_K, "df02b5442b2ba02cf0d02d4f7b9a2568"},
    {Arch::kLlama, TensorType::kQ5_K, "b6a8099aab3e71f54ac0022c02be4e15"},
    {Arch::kLlama, TensorType::kQ6_K, "3628e6adfee316129a51de2abd83e22f"},
    {Arch::kLlama, TensorType::kIQ2_XXS, "ace8d2a6924fb7a8fb5730f472f99b4e"},
    {Arch::kQwen2, TensorType::kQ8_0, "2f59b4b6a3d4d6ec9d4dbf805d9ac77f"},
    {Arch::kQwen3, TensorType::kQ8_0, "97b98aac1c58c162dc6276e7ee606b7d"},
    {Arch::kQwen3Moe, TensorType::kQ4_K, "763853dccc3fdf84e8539a5a764b9426"},
    {Arch::kGemma3, TensorType::kF32, "356b17e4169a729e21ab1c65daeda3ce"},
    {Arch::kGemma3, TensorType::kQ4_0, "91225ced5bbeffcd08b9c5b62c751436"},
    {Arch::kGemma2, TensorType::kQ4_K, "fd17dcc2b429ac86e741dd796febdf5f"},
    {Arch::kGemma4, TensorType::kQ4_K, "8eb8a7a3b7938f297ef28c09755784cb"},
    {Arch::kMistral3, TensorType::kQ4_K, "0f4e215da47c9a18e5b38662d37129db"},
    {Arch::kPhi3, TensorType::kQ4_K, "982da0f15eae7b38170b977dc89e3879"},
    {Arch::kGptOss, TensorType::kMXFP4, "62b1e645a46a171ce600abe440c25832"},
    {Arch::kGptOss, TensorType::kQ8_0, "349c208518ea082882205b2073dcc5ef"},
    {Arch::kGlm4Moe, TensorType::kQ4_K, "66d58d7a5ce36ee8afbb67834b550fd4"},
    {Arch::kDeepSeek2, TensorType::kQ4_K, "5cfce70e330d4bf92c2d8611308a96ca"},
    {Arch::kDeepSeek32, TensorType::kQ4_K, "bf7d6c784c10ca0fbb103ea460d8ec03"},
    {Arch::kMimo2, TensorType::kQ4_K, "bff9e38c640d9c85aaba3382242f777d"},
    {Arch::kGlmDsa, TensorType::kQ4_K, "1fe04bd0452365b6fa23fc0cd59bf454"},
    {Arch::kMiniMaxM2, TensorType::kQ4_K, "5eedab85f18335ea4e5f994c20ff718f"},
    {Arch::kQwen3Next, TensorType::kQ4_K, "c8be5c9a45dd9f750a0cc8571f14faf6"},
    {Arch::kQwen35, TensorType::kQ4_K, "6b77f67f7d1f1c742cfb8793fd7c43e2"},
    {Arch::kQwen35Moe, TensorType::kQ4_K, "c2a4027a2743f5969b878ad67bd73482"},
};

std::string NameOfKnown(const testing::TestParamInfo<Known>& known) {
  std::string name =
      fmt::format("{}{}", ArchName(known.param.arch), gguf::TensorTypeName(known.param.type));
  std::erase(name, '.');
  std::erase(name, '-');
  return name;
}

class SameBits : public testing::TestWithParam<Known> {};

TEST_P(SameBits, OnEveryMachine) {
  Shape shape = SmallShape(GetParam().arch);
  if (!shape.is_gemma4()) shape.layer_count = 2;  // its last layers need those before them
  if (shape.is_indexed()) shape.index.own.resize(2);
  if (shape.arch == Arch::kGlmDsa) shape.index.own.back() = 0;
  const ModelFile model(shape, GetParam().type);
  Runner runner(model.files(), Slice::Whole(shape));
  // More than one page, in long and short pieces.
  const std::vector<float> logits = runner.Logits(RandomTokens(141, shape.vocab_size), 70);
  Hasher hasher;
  for (const float logit : logits) hasher.AddValue(logit);
  EXPECT_EQ(hasher.Digest().ToHex(), GetParam().hash)
      << "if the arithmetic was changed on purpose, write down the new hash";
}

INSTANTIATE_TEST_SUITE_P(Known, SameBits, testing::ValuesIn(kKnown), NameOfKnown);

}  // namespace
}  // namespace aster::model
