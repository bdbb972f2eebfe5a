// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/families/shape_gemma2.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "model/shape/shape_for_test.h"
#include "model/synth/presets.h"

namespace aster::model {
namespace {

TEST(ShapeOfGemma2, SurvivesItsMetadata) {
  const auto read = ReadBack(MetadataOf(ShapeOfPreset("gemma2-tiny").value()));
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(read->full_every, 2u);
  EXPECT_EQ(read->sliding_window, 128u);
  EXPECT_EQ(read->attention_scale, 0.3f);
  EXPECT_EQ(read->attention_cap, 5.0f);
  EXPECT_EQ(read->logit_cap, 30.0f);
  EXPECT_FALSE(read->qk_norm());
  EXPECT_EQ(WindowOf(*read, 0), 128u);
  EXPECT_EQ(WindowOf(*read, 1), 0u);
}

// The first files have no keys for caps and window; no file has keys for scale and base.
TEST(ShapeOfGemma2, HasWhatItsFilesDoNotSay) {
  for (const auto& [preset, scale] :
       {std::pair("gemma2-2b", 1.0f / 16), {"gemma2-27b", 1.0f / 12}}) {
    gguf::MetadataBuilder metadata = MetadataOf(ShapeOfPreset(preset).value());
    for (const char* key :
         {"attn_logit_softcapping", "final_logit_softcapping", "attention.sliding_window",
          "attention.scale", "rope.freq_base", "rope.dimension_count"})
      metadata.Remove(std::string("gemma2.") + key);
    const auto read = ReadBack(metadata);
    ASSERT_TRUE(read.ok()) << read.error().message();
    EXPECT_EQ(read->attention_cap, 50.0f);
    EXPECT_EQ(read->logit_cap, 30.0f);
    EXPECT_EQ(read->sliding_window, 4096u);
    EXPECT_EQ(read->attention_scale, scale);
    EXPECT_EQ(read->rope.base, 10000.0f);
  }
}

TEST(ShapeOfGemma2, OfAnotherKindIsRefusedByName) {
  const auto refused = [](const std::string& key, auto value) {
    return IsRefused("gemma2-tiny", key, value);
  };
  EXPECT_TRUE(refused("attn_logit_softcapping", 0.0f));
  EXPECT_TRUE(refused("final_logit_softcapping", -1.0f));
  EXPECT_TRUE(refused("attention.sliding_window", uint32_t{1}));
  EXPECT_TRUE(refused("attention.shared_kv_layers", uint32_t{2}));
  EXPECT_TRUE(refused("embedding_length_per_layer_input", uint32_t{256}));
  EXPECT_TRUE(refused("rope.freq_base_swa", 20000.0f));
  EXPECT_TRUE(refused("rope.scaling.type", "longrope"));
  EXPECT_TRUE(refused("attention.causal", false));
  EXPECT_TRUE(refused("expert_count", uint32_t{8}));
  EXPECT_FALSE(refused("attn_logit_softcapping", 20.0f));
}

}  // namespace
}  // namespace aster::model
