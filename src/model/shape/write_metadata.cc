// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/shape/write_metadata.h"

#include <fmt/format.h>

#include "model/families/shape_deepseek4.h"
#include "model/families/shape_dsa.h"
#include "model/families/shape_gemma2.h"
#include "model/families/shape_gemma3.h"
#include "model/families/shape_gemma4.h"
#include "model/families/shape_gpt_oss.h"
#include "model/families/shape_mimo2.h"
#include "model/families/shape_mistral3.h"
#include "model/families/shape_mla.h"
#include "model/families/shape_phi3.h"
#include "model/families/shape_qwen_next.h"
#include "model/shape/shape_keys.h"
#include "model/shape/shape_router.h"

namespace aster::model {
namespace {

void WriteRope(const Rope& rope, const std::string& arch, gguf::MetadataBuilder& metadata) {
  metadata.Set(arch + ".rope.freq_base", rope.base);
  metadata.Set(arch + ".rope.dimension_count", rope.dimensions);
  if (rope.scaling == RopeScaling::kNone) return;
  metadata.Set(arch + ".rope.scaling.type",
               rope.scaling == RopeScaling::kLinear ? "linear" : "yarn");
  metadata.Set(arch + ".rope.scaling.factor", rope.factor);
  metadata.Set(arch + ".rope.scaling.original_context_length", rope.original_context);
  if (rope.scaling == RopeScaling::kLinear) return;
  metadata.Set(arch + ".rope.scaling.attn_factor", rope.attention_factor);
  metadata.Set(arch + ".rope.scaling.yarn_beta_fast", rope.beta_fast);
  metadata.Set(arch + ".rope.scaling.yarn_beta_slow", rope.beta_slow);
  if (rope.log_multiplier > 0.0f)
    metadata.Set(arch + ".rope.scaling.yarn_log_multiplier", rope.log_multiplier);
}

}  // namespace

void WriteShape(const Shape& shape, gguf::MetadataBuilder& metadata) {
  const std::string arch(ArchName(shape.arch));
  metadata.Set("general.architecture", arch);
  metadata.Set(arch + ".block_count", shape.layer_count);
  metadata.Set(arch + ".context_length", shape.context_length);
  metadata.Set(arch + ".embedding_length", shape.embedding);
  metadata.Set(arch + ".vocab_size", shape.vocab_size);
  if (!shape.suppressed.empty()) metadata.Set(kSuppressedKey, shape.suppressed);
  metadata.Set(arch + ".attention.head_count", shape.head_count);
  metadata.Set(arch + ".attention.head_count_kv", shape.kv_head_count);
  metadata.Set(arch + ".attention.key_length", shape.head_dim);
  metadata.Set(arch + ".attention.value_length", shape.head_dim);
  metadata.Set(arch + ".attention.layer_norm_rms_epsilon", shape.norm_epsilon);
  if (shape.sliding_window > 0)
    metadata.Set(arch + ".attention.sliding_window", shape.sliding_window);
  if (shape.experts.count > 0) {
    metadata.Set(arch + ".expert_count", shape.experts.count);
    metadata.Set(arch + ".expert_used_count", shape.experts.used);
    metadata.Set(arch + ".expert_feed_forward_length", shape.experts.feed_forward);
  } else {
    metadata.Set(arch + ".feed_forward_length", shape.feed_forward);
  }
  if (shape.is_latent()) return WriteDeepSeek4(shape, metadata);
  if (shape.is_gpt_oss()) WriteGptOss(shape, metadata);
  if (shape.arch == Arch::kGemma2) WriteGemma2(shape, metadata);
  if (shape.arch == Arch::kGemma3) WriteGemma3(shape, metadata);
  if (shape.is_gemma4()) WriteGemma4(shape, metadata);
  if (shape.arch == Arch::kMistral3) WriteMistral3(shape, metadata);
  if (shape.arch == Arch::kPhi3) WritePhi3(shape, metadata);
  if (shape.is_mla()) WriteMla(shape, metadata);
  if (shape.is_mimo2()) WriteMimo2(shape, metadata);
  if (shape.is_indexed()) WriteDsa(shape, metadata);
  if (shape.is_recurrent()) WriteQwenNext(shape, metadata);
  if (HasRouterKeys(shape.arch)) WriteRouter(shape, metadata);
  WriteRope(shape.rope, arch, metadata);
}

}  // namespace aster::model
