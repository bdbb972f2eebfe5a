// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/weight_sizes.h"

#include <gtest/gtest.h>

#include "model/presets.h"

namespace aster::model {
namespace {

uint64_t BytesIn(std::string_view preset, size_t mix) {
  const Shape shape = ShapeOfPreset(preset).value();
  return SizesIn(PublishedMixes()[mix], shape).value().Of(Slice::Whole(shape));
}

// Files of these mixes are published with about so many bytes: two are given in GiB, the mixed one
// in GB, the block to the byte, whose header is what remains.
TEST(WeightSizes, AreThoseOfPublishedFiles) {
  const auto gib = [](uint64_t bytes) { return static_cast<double>(bytes) / (1 << 30); };
  EXPECT_NEAR(gib(BytesIn("flash-full", 0)), 81, 1);
  EXPECT_NEAR(static_cast<double>(BytesIn("flash-full", 1)) / 1e9, 98, 1);
  EXPECT_NEAR(gib(BytesIn("flash-full", 3)), 153, 1);
  EXPECT_NEAR(gib(BytesIn("pro-full", 0)), 430, 5);
  const uint64_t published = 3'807'602'400;
  const uint64_t block = NextBlockBytes(ShapeOfPreset("flash-full").value()).value();
  EXPECT_LT(block, published);
  EXPECT_GT(block, published - 4096);
}

TEST(WeightSizes, SlicesAddUp) {
  const Shape shape = ShapeOfPreset("flash-shape-tiny").value();
  const WeightSizes sizes = SizesIn(PublishedMixes().back(), shape).value();
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
  EXPECT_FALSE(SizesOf(shape, [](const TensorSpec&) { return gguf::TensorType::kQ4_K; }).ok());
}

}  // namespace
}  // namespace aster::model
