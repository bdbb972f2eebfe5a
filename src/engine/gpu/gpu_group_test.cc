// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Parts of a group on a GPU (or on a driver that computes on the processor) and on the processor:
// the bits of one machine, however layers are placed.
#include <gtest/gtest.h>

#include <cstring>

#include "engine/gpu/forward_gpu_for_test.h"
#include "model/forward/group_for_test.h"

namespace aster::model {
namespace {

using gguf::TensorType;
using Places = std::vector<std::vector<PlacedLayers>>;

// One of three parts has its last layers on the GPU, one has all there and one none.
Places MixedPlaces(const Shape& shape, compute::Backend& cpu, compute::Backend& gpu) {
  uint32_t half = shape.layer_count / 2;
  while (half > 0 && !shape.can_begin(half)) --half;
  Places places(3);
  if (half > 0) places[0].push_back({half, &cpu});
  places[0].push_back({shape.layer_count, &gpu});
  places[1].push_back({shape.layer_count, &gpu});
  places[2].push_back({shape.layer_count, &cpu});
  return places;
}

class Groups {
 public:
  Groups(compute::Backend& cpu, compute::Backend& gpu) : cpu_(cpu), gpu_(gpu) {}

  // `older`: a part that receives blocks but sends none.
  void ExpectTheBitsOfOneMachine(const Shape& shape, TensorType type, const GroupPart& part,
                                 uint32_t older = GroupPart::kMostParts) {
    SCOPED_TRACE(ArchName(shape.arch));
    SCOPED_TRACE(part.owns_experts ? "experts" : "rows");
    const ModelFile model(shape, type);
    const std::vector<int32_t> one = RandomTokens(39, shape.vocab_size, 1);
    const std::vector<int32_t> two = RandomTokens(21, shape.vocab_size, 2);
    // A prompt, another one beside a token of the first text, and a token of both.
    const std::vector<std::vector<Piece>> batches = {
        {{0, {one.begin(), one.end() - 2}}},
        {{0, {one.end()[-2]}}, {1, {two.begin(), two.end() - 1}}},
        {{1, {two.back()}}, {0, {one.back()}}}};
    const std::vector<float> whole = WholeLogits(model.files(), shape, batches);
    Group group(model.files(), shape, part, 2, older, MixedPlaces(shape, cpu_, gpu_));
    std::vector<float> logits;
    for (const std::vector<Piece>& batch : batches) {
      const std::vector<float> more = group.Run(batch);
      logits.insert(logits.end(), more.begin(), more.end());
    }
    ASSERT_EQ(logits.size(), whole.size());
    EXPECT_EQ(std::memcmp(logits.data(), whole.data(), whole.size() * sizeof(float)), 0);
  }

  // Computes the model divided by rows and, if it has experts, by experts.
  void ExpectEveryDivision(const Shape& shape, TensorType type) {
    ExpectTheBitsOfOneMachine(shape, type, PartOf({1, 2, 1}));
    if (shape.experts.count > 0) ExpectTheBitsOfOneMachine(shape, type, OwnersOf({1, 2, 1}, 1));
  }

 private:
  compute::Backend& cpu_;
  compute::Backend& gpu_;
};

// Biases of heads, layers with two kinds of RoPE, queries that grow; blocks of 32 and of 256
// columns are made and joined, and floats of a part that sends no blocks.
TEST_F(ForwardGpuTest, GroupsOfDenseModels) {
  Groups groups(cpu(), gpu());
  for (const Arch arch : {Arch::kQwen2, Arch::kGemma3, Arch::kMistral3})
    groups.ExpectEveryDivision(FourHeads(arch), TensorType::kQ8_0);
  Shape shape = FourHeads(Arch::kLlama);
  shape.head_dim = 256;
  shape.feed_forward = 1024;
  for (const uint32_t older : {GroupPart::kMostParts, 1u, 2u})
    groups.ExpectTheBitsOfOneMachine(shape, TensorType::kQ4_K, PartOf({1, 2, 1}), older);
}

// Experts with biases, norms over all heads, layers of two kinds, a dense network beside experts.
TEST_F(ForwardGpuTest, GroupsOfExperts) {
  Groups groups(cpu(), gpu());
  groups.ExpectEveryDivision(FourHeads(Arch::kQwen3Moe), TensorType::kQ4_K);
  groups.ExpectEveryDivision(FourHeads(Arch::kGptOss), TensorType::kMXFP4);
  groups.ExpectEveryDivision(FourHeads(Arch::kMiniMaxM2), TensorType::kQ8_0);
  groups.ExpectEveryDivision(FourHeads(Arch::kMimo2), TensorType::kF32);
  groups.ExpectEveryDivision(FourHeads(Arch::kGemma4, "gemma4-moe-tiny"), TensorType::kQ8_0);
}

// MLA, layers that keep states, layers that share rows.
TEST_F(ForwardGpuTest, GroupsOfOtherFamilies) {
  Groups groups(cpu(), gpu());
  groups.ExpectEveryDivision(FourHeads(Arch::kDeepSeek2, "two shared"), TensorType::kQ8_0);
  groups.ExpectEveryDivision(FourHeads(Arch::kGlmDsa), TensorType::kQ8_0);
  groups.ExpectEveryDivision(FourHeads(Arch::kQwen3Next), TensorType::kQ8_0);
  groups.ExpectEveryDivision(FourHeads(Arch::kDeepSeek4), TensorType::kQ8_0);
  Shape shape = SmallShape(Arch::kDeepSeek41);
  shape.head_count = 4;
  shape.latent.output_groups = 4;
  shape.experts.feed_forward = 64;
  groups.ExpectEveryDivision(shape, TensorType::kQ8_0);
}

}  // namespace
}  // namespace aster::model
