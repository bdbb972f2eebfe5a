// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/files/support.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "gguf/writer.h"
#include "model/shape/shape_for_test.h"

namespace aster::model {
namespace {

// The shape of a file with these keys and one tensor, of one number.
Shape ShapeWith(const gguf::MetadataBuilder& metadata, const std::string& tensor) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  const std::string path = folder.File("model.gguf");
  gguf::Writer writer =
      gguf::Writer::Create(path, metadata, {{tensor, gguf::TensorType::kF32, {1}}}).value();
  EXPECT_TRUE(writer.Append(tensor, std::vector<uint8_t>(sizeof(float))).ok());
  EXPECT_TRUE(writer.Finish().ok());
  return ShapeOf(gguf::ModelFiles::Open(path).value()).value();
}

// Early files of GLM 4.7 Flash lack the key, but a bias for the choice is made for sigmoids.
TEST(Support, ARouterWithABiasHasSigmoidsIfNoKeySaysOtherwise) {
  gguf::MetadataBuilder metadata = MetadataOf(ShapeOfPreset("deepseek2-tiny").value());
  metadata.Remove("deepseek2.expert_gating_func");
  const auto score = [&](const std::string& tensor) {
    return ShapeWith(metadata, tensor).experts.score;
  };
  EXPECT_EQ(score("blk.1.exp_probs_b.bias"), kernels::RouterScore::kSigmoid);
  EXPECT_EQ(score("blk.1.ffn_gate_inp.weight"), kernels::RouterScore::kSoftmax);
  metadata.Set("deepseek2.expert_gating_func", uint32_t{1});
  EXPECT_EQ(score("blk.1.exp_probs_b.bias"), kernels::RouterScore::kSoftmax);
}

TEST(Support, GatesAndUpsOfExpertsAreOneTensorOrTwo) {
  for (const char* const preset : {"deepseek2-tiny", "gemma4-moe-tiny"}) {
    const gguf::MetadataBuilder metadata = MetadataOf(ShapeOfPreset(preset).value());
    EXPECT_TRUE(ShapeWith(metadata, "blk.1.ffn_gate_up_exps.weight").experts.fused);
    EXPECT_FALSE(ShapeWith(metadata, "blk.1.ffn_gate_exps.weight").experts.fused);
  }
}

}  // namespace
}  // namespace aster::model
