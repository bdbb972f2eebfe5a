// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/weight_sizes.h"

#include <gtest/gtest.h>

#include "model/presets.h"

namespace aster::model {
namespace {

WeightSizes SizesIn(const Shape& shape, size_t mix) {
  return SizesOf(shape, [&](const TensorSpec& spec) { return TypeIn(PublishedMixes()[mix], spec); })
      .value();
}

// Files of these mixes are published with about so many gigabytes.
TEST(WeightSizes, AreThoseOfPublishedFiles) {
  const Shape flash = ShapeOfPreset("flash-full").value();
  const Shape pro = ShapeOfPreset("pro-full").value();
  const auto gigabytes = [](const Shape& shape, size_t mix) {
    return static_cast<double>(SizesIn(shape, mix).Of(Slice::Whole(shape))) / (1 << 30);
  };
  EXPECT_NEAR(gigabytes(flash, 0), 81, 4);
  EXPECT_NEAR(gigabytes(flash, 2), 153, 4);
  EXPECT_NEAR(gigabytes(pro, 0), 430, 20);
}

TEST(WeightSizes, SlicesAddUp) {
  const Shape shape = ShapeOfPreset("flash-shape-tiny").value();
  const WeightSizes sizes = SizesIn(shape, 2);
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
