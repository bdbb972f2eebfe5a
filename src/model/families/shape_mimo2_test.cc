// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/families/shape_mimo2.h"

#include <gtest/gtest.h>

#include "model/shape/shape_for_test.h"
#include "model/synth/presets.h"

namespace aster::model {
namespace {

// Layers of two kinds, values that are narrower than keys; blocks after the layers have values,
// too.
TEST(ShapeOfMimo2, SurvivesItsMetadata) {
  Shape shape = ShapeOfPreset("mimo-v2-flash").value();
  shape.left_out = 3;
  gguf::MetadataBuilder metadata = MetadataOf(shape);
  const auto read = ReadBack(metadata);
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(read->layer_count, 48u);
  EXPECT_EQ(read->left_out, 3u);
  EXPECT_EQ(read->full_every, 6u);
  for (const uint32_t layer : {0u, 5u, 47u}) {
    EXPECT_EQ(WindowOf(*read, layer), 0u);
    EXPECT_EQ(KvHeadsOf(*read, layer), 4u);
  }
  EXPECT_EQ(WindowOf(*read, 1), 128u);
  EXPECT_EQ(KvHeadsOf(*read, 1), 8u);
  EXPECT_EQ(HeadDimOf(*read, 1), 192u);
  EXPECT_EQ(ValueDimOf(*read, 1), 128u);
  EXPECT_EQ(read->kinds.value_scale, 0.707f);
  EXPECT_EQ(read->window_rope.base, 10000.0f);
  EXPECT_TRUE(read->experts.normalized);
  metadata.Remove("mimo2.rope.freq_base_swa");
  EXPECT_FALSE(ReadBack(metadata).ok());
}

TEST(ShapeOfMimo2, OfAnotherKindIsRefusedByName) {
  const auto refused = [](const std::string& key, auto value) {
    return IsRefused("mimo2-tiny", key, value);
  };
  using Flags = std::vector<bool>;
  using Counts = std::vector<uint32_t>;
  EXPECT_TRUE(
      refused("attention.sliding_window_pattern", Flags{true, true, true, true, true, false}));
  EXPECT_TRUE(
      refused("attention.sliding_window_pattern", Flags{false, true, false, false, true, false}));
  EXPECT_TRUE(refused("attention.sliding_window_pattern", Flags{false, true, true}));
  EXPECT_TRUE(refused("attention.head_count_kv", Counts{2, 4, 4, 8, 4, 2}));
  EXPECT_TRUE(refused("attention.head_count_kv", Counts{2, 4, 4, 4, 4, 4}));
  EXPECT_TRUE(refused("attention.value_length_swa", uint32_t{48}));
  EXPECT_TRUE(refused("attention.value_scale", -1.0f));
  EXPECT_TRUE(refused("expert_shared_count", uint32_t{1}));
  EXPECT_FALSE(refused("attention.value_scale", 1.0f));
  gguf::MetadataBuilder stretched = MetadataOf(ShapeOfPreset("mimo2-tiny").value());
  stretched.Set("mimo2.rope.scaling.type", "linear");
  stretched.Set("mimo2.rope.scaling.factor", 2.0f);
  EXPECT_NE(ReadBack(stretched).error().message().find("rope.scaling.type"), std::string::npos);
}

// As the first converters wrote them: flags as numbers, and no scale of values.
TEST(ShapeOfMimo2, OfOlderFiles) {
  const Shape shape = ShapeOfPreset("mimo2-tiny").value();
  gguf::MetadataBuilder metadata = MetadataOf(shape);
  metadata.Set("mimo2.attention.sliding_window_pattern", std::vector<uint32_t>{0, 1, 1, 1, 1, 0});
  metadata.Remove("mimo2.attention.value_scale");
  const auto read = ReadBack(metadata);
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(read->full_every, shape.full_every);
  EXPECT_EQ(read->kinds.value_scale, 0.707f);
}

}  // namespace
}  // namespace aster::model
