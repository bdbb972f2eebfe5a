// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/synth/presets.h"
#include "model/shape/tensors.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace aster::model {
namespace {

uint64_t ParametersOf(const Shape& shape) {
  uint64_t count = 0;
  for (const TensorSpec& spec : TensorsOf(shape)) {
    uint64_t elements = 1;
    for (const uint64_t dim : spec.dims) elements *= dim;
    count += elements;
  }
  return count;
}

TEST(Tensors, PresetsHaveTheParametersOfTheirNames) {
  EXPECT_EQ(ParametersOf(ShapeOfPreset("llama-1b").value()), 1'235'814'432u);
  EXPECT_EQ(ParametersOf(ShapeOfPreset("qwen3-0.6b").value()), 596'049'920u);
  EXPECT_NEAR(ParametersOf(ShapeOfPreset("glm-4.5-air").value()) / 1e9, 106.9, 0.1);
  EXPECT_NEAR(ParametersOf(ShapeOfPreset("glm-4.6").value()) / 1e9, 353, 0.5);
  EXPECT_NEAR(ParametersOf(ShapeOfPreset("minimax-m2").value()) / 1e9, 228.7, 0.1);
  EXPECT_NEAR(ParametersOf(ShapeOfPreset("deepseek-v2-lite").value()) / 1e9, 15.7, 0.1);
  EXPECT_NEAR(ParametersOf(ShapeOfPreset("glm-4.7-flash").value()) / 1e9, 29.9, 0.5);
  EXPECT_NEAR(ParametersOf(ShapeOfPreset("kimi-k2").value()) / 1e9, 1026, 3);
}

TEST(Tensors, NamesAreUnique) {
  for (const Preset& preset : Presets()) {
    std::set<std::string> names;
    for (const TensorSpec& spec : TensorsOf(preset.shape))
      EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
  }
}

}  // namespace
}  // namespace aster::model
