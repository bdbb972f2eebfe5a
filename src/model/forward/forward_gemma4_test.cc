// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Kinds of Gemma 4 that other tests do not have: keys as values, experts beside a dense network,
// and layers that use other layers' KV rows.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/sanitized.h"
#include "model/forward/runner_for_test.h"
#include "model/reference/reference_for_test.h"

namespace aster::model {
namespace {

using gguf::TensorType;

Shape SmallOf(std::string_view preset) {
  Shape shape = ShapeOfPreset(preset).value();
  shape.layer_count = 3;
  shape.vocab_size = 300;
  shape.sliding_window = 24;
  return shape;
}

double ErrorOf(std::span<const float> logits, std::span<const double> expected) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    difference += (logits[i] - expected[i]) * (logits[i] - expected[i]);
    size += expected[i] * expected[i];
  }
  return std::sqrt(difference / size);
}

void ExpectItsDescription(const Shape& shape) {
  const ModelFile model(shape, TensorType::kF32);
  Runner runner(model.files(), Slice::Whole(shape));
  EXPECT_TRUE(runner.shape().kinds.keys_are_values);
  const auto tokens = RandomTokens(40, shape.vocab_size);
  const auto logits = runner.Logits(tokens, 16);
  EXPECT_LT(ErrorOf(logits, ReferenceLogits(model.files(), runner.shape(), tokens)), 1e-3);
}

class ForwardGemma4 : public testing::TestWithParam<const char*> {};

TEST_P(ForwardGemma4, AgreesWithItsDescription) { ExpectItsDescription(SmallOf(GetParam())); }

TEST_P(ForwardGemma4, ChunksThreadsAndInstructionSetsChangeNothing) {
  const Shape shape = SmallOf(GetParam());
  const ModelFile model(shape, TensorType::kQ4_K);
  const auto tokens = RandomTokens(150, shape.vocab_size);
  Runner whole(model.files(), Slice::Whole(shape));
  const auto expected = whole.Logits(tokens, 150);
  for (const size_t chunk : {7, 1, 128}) {
    EXPECT_EQ(whole.Logits(tokens, chunk), expected) << chunk;
    if (kSanitized) break;  // enough to reach every access: the release build compares
  }
  Runner three(model.files(), Slice::Whole(shape), 3);
  EXPECT_EQ(three.Logits(tokens, 100), expected);
  Runner plain(model.files(), Slice::Whole(shape), 1, kernels::Isa::kRef);
  EXPECT_EQ(plain.Logits(std::span(tokens).first(30), 30),
            std::vector(expected.begin(), expected.begin() + 30 * shape.vocab_size));
}

INSTANTIATE_TEST_SUITE_P(Kinds, ForwardGemma4,
                         testing::Values("gemma4-dense-tiny", "gemma4-moe-tiny"),
                         [](const auto& kind) {
                           std::string name = kind.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(ForwardGemma4Experts, GatesAndUpsMayBeTwoTensors) {
  Shape shape = SmallOf("gemma4-moe-tiny");
  shape.experts.fused = false;
  ExpectItsDescription(shape);
}

// Some models have tokens that must never be the next one, such as the ends of images.
TEST(ForwardGemma4Tokens, SuppressedOnesAreImpossible) {
  Shape shape = SmallOf("gemma4-dense-tiny");
  const ModelFile plain(shape, TensorType::kQ8_0);
  shape.suppressed = {7, 299};
  const ModelFile model(shape, TensorType::kQ8_0);
  const auto tokens = RandomTokens(20, shape.vocab_size);
  auto expected = Runner(plain.files(), Slice::Whole(shape)).Logits(tokens, 20);
  for (size_t row = 0; row < tokens.size(); ++row) {
    for (const size_t token : {7, 299})
      expected[row * shape.vocab_size + token] = -std::numeric_limits<float>::infinity();
  }
  EXPECT_EQ(Runner(model.files(), Slice::Whole(shape)).Logits(tokens, 6), expected);
}

// Layers that share rows must be on the node of the layers whose rows they use.
TEST(ForwardGemma4Sharing, NodesAreRefusedLayersWithoutTheirRows) {
  const Shape shape = SmallShape(Arch::kGemma4);
  const ModelFile model(shape, TensorType::kQ8_0);
  ThreadPool pool(1);
  compute::Context context{pool, kernels::FastestIsa()};
  compute::CpuBackend backend(context);
  const uint32_t cut = 1;
  EXPECT_TRUE(LoadWeights(model.files(), {cut, shape.layer_count, false, true}, backend).ok());
  const auto weights =
      LoadWeights(model.files(), {cut + 1, shape.layer_count, false, true}, backend);
  ASSERT_FALSE(weights.ok());
  EXPECT_NE(weights.error().message().find("can begin with 0, 1 only"), std::string::npos)
      << weights.error().message();
}

}  // namespace
}  // namespace aster::model
