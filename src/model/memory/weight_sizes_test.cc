// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/memory/weight_sizes.h"

#include <gtest/gtest.h>

#include "model/shape/tensors.h"
#include "model/synth/presets.h"

namespace aster::model {
namespace {

uint64_t BytesIn(std::string_view preset, size_t mix) {
  const Shape shape = ShapeOfPreset(preset).value();
  return SizesOf(Place::kFile, PublishedMixes(shape)[mix], shape).value().Of(Slice::Whole(shape));
}

// Sizes of published files with these mixes: Flash's to the byte, except for the headers
// (vocabulary, names); PRO's in GiB.
TEST(WeightSizes, AreThoseOfPublishedFiles) {
  constexpr uint64_t kFlash[] = {86'720'111'488, 97'591'747'456, 155'976'458'848, 164'633'502'304};
  for (size_t mix = 0; mix < std::size(kFlash); ++mix) {
    EXPECT_NEAR(static_cast<double>(kFlash[mix] - BytesIn("flash-full", mix)), 5.34e6, 1e4) << mix;
  }
  const auto gib = [](uint64_t bytes) { return static_cast<double>(bytes) / (1 << 30); };
  EXPECT_NEAR(gib(BytesIn("pro-full", 0)), 430, 5);
  const Shape pro = ShapeOfPreset("pro-full").value();
  const WeightSizes halves = SizesOf(Place::kFile, PublishedMixes(pro)[1], pro).value();
  EXPECT_NEAR(gib(halves.Of({.layer_begin = 0, .layer_end = 31, .embedding = true})), 426.1, 0.1);
  EXPECT_NEAR(gib(halves.Of({.layer_begin = 31, .layer_end = pro.layer_count, .head = true})),
              411.6, 0.1);
  const uint64_t published = 3'807'602'400;
  const uint64_t block = MtpBytes(Place::kFile, ShapeOfPreset("flash-full").value()).value();
  EXPECT_LT(block, published);
  EXPECT_GT(block, published - 4096);
}

// 12.11 GB and 63.39 GB with vocabulary and names, which are 13 MB or so.
TEST(WeightSizes, OfGptOssAreThoseOfPublishedFiles) {
  EXPECT_NEAR(static_cast<double>(BytesIn("gpt-oss-20b", 0)), 12.10e9, 0.02e9);
  EXPECT_NEAR(static_cast<double>(BytesIn("gpt-oss-120b", 0)), 63.38e9, 0.05e9);
}

// In GB: 1.00, 3.16, 8.07 and 17.2 with vocabulary and names, which are 8 MB or so.
TEST(WeightSizes, OfGemma3AreThoseOfPublishedFiles) {
  EXPECT_NEAR(static_cast<double>(BytesIn("gemma3-1b", 0)), 0.995e9, 0.01e9);
  EXPECT_NEAR(static_cast<double>(BytesIn("gemma3-4b", 0)), 3.15e9, 0.01e9);
  EXPECT_NEAR(static_cast<double>(BytesIn("gemma3-12b", 0)), 8.06e9, 0.02e9);
  EXPECT_NEAR(static_cast<double>(BytesIn("gemma3-27b", 0)), 17.2e9, 0.05e9);
}

// In GB: 2.78, 9.83 and 28.9 with vocabulary and names, which are 5 MB or so.
TEST(WeightSizes, OfGemma2AreThoseOfPublishedFiles) {
  EXPECT_NEAR(static_cast<double>(BytesIn("gemma2-2b", 0)), 2.78e9, 0.02e9);
  EXPECT_NEAR(static_cast<double>(BytesIn("gemma2-9b", 0)), 9.82e9, 0.03e9);
  EXPECT_NEAR(static_cast<double>(BytesIn("gemma2-27b", 0)), 28.9e9, 0.1e9);
}

// In GB: 3.65, 9.03, 14.36 and 25.1 with vocabulary and names, of Phi 4 mini 4.08, of Phi 4 15.6.
TEST(WeightSizes, OfMistral3AndPhi4AreThoseOfPublishedFiles) {
  EXPECT_NEAR(static_cast<double>(BytesIn("ministral3-3b", 0)), 3.64e9, 0.02e9);
  EXPECT_NEAR(static_cast<double>(BytesIn("ministral3-8b", 0)), 9.02e9, 0.03e9);
  EXPECT_NEAR(static_cast<double>(BytesIn("ministral3-14b", 0)), 14.35e9, 0.05e9);
  EXPECT_NEAR(static_cast<double>(BytesIn("devstral2-24b", 0)), 25.05e9, 0.1e9);
  EXPECT_NEAR(static_cast<double>(BytesIn("phi4-mini", 0)), 4.08e9, 0.03e9);
  EXPECT_NEAR(static_cast<double>(BytesIn("phi4", 0)), 15.58e9, 0.05e9);
}

// In GB, without the MTP block, of which published files of GLM have 3.8 more.
TEST(WeightSizes, OfGlmAndMiniMaxAreThoseOfTheirParameters) {
  EXPECT_NEAR(static_cast<double>(BytesIn("glm-4.5-air", 0)), 113.6e9, 0.3e9);
  EXPECT_NEAR(static_cast<double>(BytesIn("glm-4.6", 0)), 374.9e9, 1e9);
  EXPECT_NEAR(static_cast<double>(BytesIn("minimax-m2", 0)), 243.1e9, 0.5e9);
}

TEST(WeightSizes, SlicesAddUp) {
  const Shape shape = ShapeOfPreset("flash-shape-tiny").value();
  const WeightSizes sizes = SizesOf(Place::kMemory, PublishedMixes(shape).back(), shape).value();
  const uint64_t first = sizes.Of({.layer_begin = 0, .layer_end = 2, .embedding = true});
  const uint64_t second =
      sizes.Of({.layer_begin = 2, .layer_end = shape.layer_count, .head = true});
  EXPECT_EQ(first + second, sizes.Of(Slice::Whole(shape)));
  EXPECT_GT(first, sizes.embedding);
  EXPECT_GT(second, sizes.head);
}

TEST(WeightSizes, ATypeThatDoesNotFitIsAnError) {
  Shape shape = ShapeOfPreset("tiny").value();
  shape.feed_forward = 700;
  const auto q4_k = [](const TensorSpec&) { return gguf::TensorType::kQ4_K; };
  EXPECT_FALSE(SizesOf(Place::kFile, shape, q4_k).ok());
  EXPECT_FALSE(SizesOf(Place::kMemory, shape, q4_k).ok());
}

// Published mixes exist for every preset; types of DeepSeek V4's experts only in that family.
TEST(WeightSizes, EveryPresetHasThem) {
  for (const auto& [name, summary, shape] : Presets()) {
    for (const PublishedMix& mix : PublishedMixes(shape)) {
      EXPECT_EQ(mix.name.starts_with("IQ2"), shape.is_latent() && mix.name.starts_with("IQ2"))
          << name;
      const auto in_file = SizesOf(Place::kFile, mix, shape);
      const auto in_memory = SizesOf(Place::kMemory, mix, shape);
      ASSERT_TRUE(in_file.ok()) << name << ": " << in_file.error().message();
      const Slice whole = Slice::Whole(shape);
      EXPECT_GE(in_memory->Of(whole), in_file->Of(whole)) << name;
    }
    if (!CanDraftWithMtp(shape)) continue;
    EXPECT_TRUE(MtpBytes(Place::kMemory, shape).ok()) << name;
  }
}

// The bits in memory that docs/quantisation.md lists for types that are packed as others.
TEST(WeightSizes, SomeTypesTakeMoreInMemory) {
  const Shape shape = ShapeOfPreset("llama-1b").value();
  const auto layer_of = [&](Place place, gguf::TensorType type) {
    const auto type_of = [&](const TensorSpec& spec) {
      return spec.is_matrix ? type : gguf::TensorType::kF32;
    };
    return static_cast<double>(SizesOf(place, shape, type_of).value().layers.front());
  };
  const auto growth = [&](gguf::TensorType type) {
    return layer_of(Place::kMemory, type) / layer_of(Place::kFile, type);
  };
  EXPECT_NEAR(growth(gguf::TensorType::kQ8_0), 1.0, 0.01);
  EXPECT_NEAR(growth(gguf::TensorType::kQ5_0), 8.5 / 5.5, 0.01);
}

// The head's copy is packed; the table is rows of the file.
TEST(WeightSizes, ATiedHeadIsCountedWhereItIs) {
  const Shape shape = ShapeOfPreset("llama-1b").value();
  ASSERT_TRUE(shape.tied_head);
  const WeightSizes sizes = SizesOf(Place::kMemory, PublishedMixes(shape).front(), shape).value();
  Slice first = Slice::Whole(shape), last = Slice::Whole(shape);
  first.layer_end = last.layer_begin = 1;
  first.head = last.embedding = false;
  EXPECT_GE(sizes.head, sizes.tied);
  EXPECT_EQ(sizes.Of(first) + sizes.Of(last), sizes.Of(Slice::Whole(shape)) + sizes.tied);
}

}  // namespace
}  // namespace aster::model
