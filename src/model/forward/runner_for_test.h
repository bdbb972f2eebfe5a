// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A model in a temporary file with everything to run it, for tests.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/random.h"
#include "compute/cpu/backend.h"
#include "gguf/model_files.h"
#include "kernels/isa_choice.h"
#include "kv/pool.h"
#include "model/families/shape_deepseek41.h"
#include "model/forward/forward.h"
#include "model/shape/tensors.h"
#include "model/synth/presets.h"
#include "model/synth/synth.h"

namespace aster::model {

inline std::vector<int32_t> RandomTokens(size_t count, uint32_t vocab_size, uint64_t seed = 7) {
  Random random(seed);
  std::vector<int32_t> tokens(count);
  for (int32_t& token : tokens) token = static_cast<int32_t>(random.NextBelow(vocab_size));
  return tokens;
}

// A small shape with the family's special features.
inline Shape SmallGemma(Shape shape) {
  // Six layers; the last three use KV rows of earlier ones.
  if (shape.is_gemma4()) {
    shape = ShapeOfPreset("gemma4-tiny").value();
    shape.layer_count = 6;
    shape.vocab_size = 300;
    shape.sliding_window = 24;
    shape.kinds.sharing = 3;
    return shape;
  }
  // Two layers with a window, one that sees all; caps that scores and logits reach.
  shape.sliding_window = 24;
  shape.full_every = 2;
  shape.logit_cap = 4.0f;
  if (shape.arch == Arch::kGemma2) {
    shape.attention_scale = 0.3f;
    shape.attention_cap = 3.0f;
    return shape;
  }
  // Each kind of layer has its own RoPE.
  shape.attention_scale = 0.15f;
  shape.rope = ShapeOfPreset("gemma3-tiny")->rope;
  shape.window_rope = ShapeOfPreset("gemma3-tiny")->window_rope;
  return shape;
}

// For GLM 5, three layers; the last uses the rows that the second has chosen.
inline Shape SmallMlaShape(Arch arch) {
  const bool is_glm = arch == Arch::kGlmDsa;
  Shape shape = ShapeOfPreset(is_glm ? "glm-5-tiny" : "deepseek2-tiny").value();
  shape.arch = arch;
  shape.layer_count = 3;
  shape.vocab_size = 300;
  shape.head_dim = 288;
  shape.rope.dimensions = 32;
  shape.mla = {.query_rank = 256, .row_rank = 256, .key_dim = 32, .value_dim = 64};
  if (HasDsa(arch)) shape.index = {.heads = 3, .dim = 48, .top = 12, .own = {1, 1, 1}};
  if (is_glm) shape.index.own.back() = 0;
  return shape;
}

// Three layers; the second has a window.
inline Shape SmallMimo2() {
  Shape shape = ShapeOfPreset("mimo2-tiny").value();
  shape.layer_count = 3;
  shape.full_every = 3;
  shape.sliding_window = 24;
  shape.vocab_size = 300;
  return shape;
}

// DeepSeek V4 with windows, ratios and choices small enough for 300 tokens; a layer for each ratio.
inline Shape SmallDeepSeek4(const std::vector<uint32_t>& ratios) {
  Shape shape = ShapeOfPreset("flash-shape-tiny").value();
  shape.layer_count = static_cast<uint32_t>(ratios.size());
  shape.embedding = 64;
  shape.head_count = 2;
  shape.head_dim = 64;
  shape.vocab_size = 300;
  shape.sliding_window = 24;
  shape.rope.dimensions = 16;
  shape.experts.count = 4;
  shape.experts.feed_forward = 32;
  shape.experts.hash_layers = 1;
  shape.latent.ratios = ratios;
  shape.latent.query_rank = 32;
  shape.latent.output_rank = 16;
  shape.latent.rope.dimensions = 16;
  shape.latent.index_heads = 3;
  shape.latent.index_dim = 32;
  shape.latent.index_top = 12;
  return shape;
}

// DeepSeek V4.1, as small: rows of two tokens that two layers see, then rows of one token that
// three layers see. The last layer chooses again, from blocks that another one has chosen.
inline Shape SmallDeepSeek41() {
  Shape shape = SmallDeepSeek4({0, 2, 2, 1, 1, 1});
  const Shape tiny = ShapeOfPreset("flash41-shape-tiny").value();
  shape.arch = Arch::kDeepSeek41;
  shape.norm_epsilon = tiny.norm_epsilon;
  shape.mtp_layers = 0;
  shape.experts.hash_layers = 0;
  shape.latent.rope.original_context = 256;  // so that YaRN's ramp is within the pairs
  shape.latent.makes_rows = {0, 1, 0, 1, 0, 0};
  shape.latent.chooses_rows = {0, 1, 0, 1, 0, 1};
  shape.latent.block_layer = 3;
  shape.latent.block_rows = 4;
  shape.latent.top_blocks = 5;
  shape.ngrams = MakeNgrams({.layers = {0, 3}, .length = 3, .heads = 2, .dim = 32, .padding = 2},
                            shape.vocab_size, 60);
  return shape;
}

inline std::vector<Arch> EveryArch() {
  std::vector<Arch> all;
  for (int arch = 0; arch <= static_cast<int>(Arch::kDeepSeek41); ++arch)
    all.push_back(static_cast<Arch>(arch));
  return all;
}

// A small shape of an architecture.
inline Shape SmallShape(Arch arch) {
  if (arch == Arch::kDeepSeek4) return SmallDeepSeek4({0, kShortRatio, kLongRatio});
  if (arch == Arch::kDeepSeek41) return SmallDeepSeek41();
  Shape shape = ShapeOfPreset("tiny").value();
  shape.arch = arch;
  shape.layer_count = 3;
  shape.vocab_size = 300;
  shape.feed_forward = 512;
  if (arch == Arch::kQwen3Moe) shape.experts = {.count = 8, .used = 3, .feed_forward = 256};
  if (arch == Arch::kQwen2) shape.tied_head = false;
  // A window small enough for the tests' prompts; two layers with it, one that sees all.
  if (arch == Arch::kGptOss) {
    shape.tied_head = false;
    shape.sliding_window = 24;
    shape.full_every = 2;
    shape.rope = ShapeOfPreset("gpt-oss-tiny")->rope;
    shape.experts = {.count = 8, .used = 3, .feed_forward = 256, .limit = 7.0f};
  }
  if (shape.is_gemma()) return SmallGemma(shape);
  // Queries that grow every 16 positions.
  if (arch == Arch::kMistral3) {
    shape.rope = ShapeOfPreset("mistral3-tiny")->rope;
    shape.rope.original_context = 16;
    shape.temperature = 0.3f;
  }
  // Three layers; the first has no experts.
  if (arch == Arch::kGlm4Moe || arch == Arch::kMiniMaxM2) {
    const Shape tiny =
        ShapeOfPreset(arch == Arch::kGlm4Moe ? "glm-tiny" : "minimax-m2-tiny").value();
    shape.tied_head = false;
    shape.rope = tiny.rope;
    shape.experts = tiny.experts;
    shape.head_norms = tiny.head_norms;
  }
  if (HasMla(arch)) shape = SmallMlaShape(arch);
  if (arch == Arch::kMimo2) shape = SmallMimo2();
  // Three layers; the second has attention.
  if (arch == Arch::kQwen3Next || arch == Arch::kQwen35 || arch == Arch::kQwen35Moe) {
    const char* const tiny = arch == Arch::kQwen3Next ? "qwen3-next-tiny"
                             : arch == Arch::kQwen35  ? "qwen3.5-tiny"
                                                      : "qwen3.5-moe-tiny";
    shape = ShapeOfPreset(tiny).value();
    shape.layer_count = 3;
    shape.vocab_size = 300;
    shape.recurrence.full_every = 2;
    shape.recurrence.key_dim = 32;
  }
  // RoPE on a part of each head, with frequency factors, and a window in every layer.
  if (arch == Arch::kPhi3) {
    shape.sliding_window = 24;
    shape.rope = ShapeOfPreset("phi4-mini-tiny")->rope;
    shape.rope_factors = true;
  }
  return shape;
}

// A synthetic model on disk.
class ModelFile {
 public:
  ModelFile(const Shape& shape, gguf::TensorType type) : ModelFile(shape, {}, type) {}
  // A drafter of blocks.
  ModelFile(const BlockShape& drafter, gguf::TensorType type)
      : ModelFile(drafter.layers, drafter, type) {}

  const gguf::ModelFiles& files() const { return *files_; }

 private:
  ModelFile(const Shape& shape, std::optional<BlockShape> drafter, gguf::TensorType type)
      : folder_(TemporaryDirectory::Create().value()) {
    ThreadPool pool(1);
    const SynthOptions options{.shape = shape,
                               .drafter = std::move(drafter),
                               .name = "test",
                               .choose_type = [type](const TensorSpec& spec) {
                                 return spec.is_matrix ? type : gguf::TensorType::kF32;
                               }};
    const std::string path = folder_.File("model.gguf");
    CHECK(WriteSyntheticModel(options, path, pool, nullptr).ok());
    files_ = std::make_unique<gguf::ModelFiles>(gguf::ModelFiles::Open(path).value());
  }

  TemporaryDirectory folder_;
  std::unique_ptr<gguf::ModelFiles> files_;
};

// A slice, loaded and ready to run.
class Runner {
 public:
  Runner(const gguf::ModelFiles& files, Slice slice, size_t threads = 1,
         kernels::Isa isa = kernels::FastestIsa(), MemoryOptions memory = {})
      : pool_(threads),
        context_{pool_, isa},
        weights_(LoadWeights(files, slice, backend_).value()),
        layout_(MakeMemoryLayout(weights_.shape, memory, Hash128{1, 2}, slice.part).value()),
        pages_(uint64_t{1} << 30),
        forward_(weights_, memory, backend_) {}

  const Shape& shape() const { return weights_.shape; }
  const Weights& weights() const { return weights_; }
  compute::Backend& backend() { return backend_; }
  Forward& forward() { return forward_; }
  kv::PageTable NewTable() {
    return {layout_, pages_, {weights_.slice.layer_begin, weights_.slice.layer_end}};
  }
  Result<Output> Run(std::span<const Segment> segments) { return forward_.Run(segments); }

  // Logits of every token, computed in chunks of `chunk`.
  std::vector<float> Logits(std::span<const int32_t> tokens, size_t chunk) {
    kv::PageTable table = NewTable();
    std::vector<float> logits;
    for (size_t i = 0; i < tokens.size(); i += chunk) {
      const Segment segment{.table = &table,
                            .tokens = tokens.subspan(i, std::min(chunk, tokens.size() - i)),
                            .wanted = Wanted::kAll};
      const Output output = forward_.Run({&segment, 1}).value();
      logits.insert(logits.end(), output.logits.begin(), output.logits.end());
    }
    return logits;
  }

 private:
  ThreadPool pool_;
  compute::Context context_;
  compute::CpuBackend backend_{context_};
  Weights weights_;
  kv::Layout layout_;
  kv::Pool pages_;
  Forward forward_;
};

}  // namespace aster::model
