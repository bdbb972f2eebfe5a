// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/presets.h"

#include <fmt/format.h>

#include <array>
#include <string>

namespace aster::model {
namespace {

// Small enough for any test, wide enough for blocks of 256.
constexpr Shape kTiny = {.arch = Arch::kLlama,
                         .layer_count = 4,
                         .context_length = 4096,
                         .embedding = 256,
                         .head_count = 4,
                         .kv_head_count = 2,
                         .head_dim = 64,
                         .feed_forward = 768,
                         .vocab_size = 1024,
                         .rope = {.dimensions = 64},
                         .tied_head = true};

constexpr Shape kLlama1b = {.arch = Arch::kLlama,
                            .layer_count = 16,
                            .context_length = 131072,
                            .embedding = 2048,
                            .head_count = 32,
                            .kv_head_count = 8,
                            .head_dim = 64,
                            .feed_forward = 8192,
                            .vocab_size = 128256,
                            .rope = {.base = 500000.0f, .dimensions = 64},
                            .tied_head = true,
                            .rope_factors = true};

constexpr Shape kQwen3 = {.arch = Arch::kQwen3,
                          .layer_count = 28,
                          .context_length = 40960,
                          .embedding = 1024,
                          .head_count = 16,
                          .kv_head_count = 8,
                          .head_dim = 128,
                          .feed_forward = 3072,
                          .vocab_size = 151936,
                          .norm_epsilon = 1e-6f,
                          .rope = {.base = 1000000.0f, .dimensions = 128},
                          .tied_head = true};

constexpr Shape kQwen3MoeSmall = {.arch = Arch::kQwen3Moe,
                                  .layer_count = 12,
                                  .context_length = 32768,
                                  .embedding = 1024,
                                  .head_count = 16,
                                  .kv_head_count = 4,
                                  .head_dim = 64,
                                  .vocab_size = 32000,
                                  .norm_epsilon = 1e-6f,
                                  .rope = {.base = 1000000.0f, .dimensions = 64},
                                  .experts = {.count = 32, .used = 4, .feed_forward = 512}};

constexpr std::array<Preset, 4> kPresets = {{
    {"tiny", "a Llama of 4 layers that is made in a moment", kTiny},
    {"llama-1b", "the shape of a Llama of 1.2 B parameters", kLlama1b},
    {"qwen3-0.6b", "the shape of a Qwen3 of 0.6 B parameters", kQwen3},
    {"qwen3-moe-small", "a mixture of 32 experts, 4 of them used, in 0.7 B parameters",
     kQwen3MoeSmall},
}};

}  // namespace

std::span<const Preset> Presets() { return kPresets; }

Result<Shape> ShapeOfPreset(std::string_view name) {
  std::string names;
  for (const Preset& preset : kPresets) {
    if (preset.name == name) return preset.shape;
    names += (names.empty() ? "" : ", ") + std::string(preset.name);
  }
  return InvalidArgument(fmt::format("there is no preset \"{}\"; there are {}", name, names));
}

}  // namespace aster::model
