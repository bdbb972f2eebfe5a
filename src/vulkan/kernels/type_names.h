// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Names of types of weights and pages, at the ends of shaders' names.
#pragma once

#include <array>
#include <cstddef>

#include "kernels/pages.h"
#include "kernels/weight_type.h"

namespace aster::vulkan {

inline const char* NameOfType(kernels::WeightType type) {
  static constexpr std::array<const char*, kernels::kWeightTypeCount> kNames = {
      "f32",  "f16",  "bf16", "q8_0",    "q4_0",   "mxfp4", "q2_k",
      "q4_k", "q5_k", "q6_k", "iq2_xxs", "iq4_nl", "q5_1",  "levels"};
  return kNames[static_cast<size_t>(type)];
}

inline const char* NameOfType(kernels::KvType type) {
  static constexpr std::array<const char*, kernels::kKvTypeCount> kNames = {"f16", "bf16", "q8",
                                                                            "q8i"};
  return kNames[static_cast<size_t>(type)];
}

}  // namespace aster::vulkan
