// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/shape/shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/similar.h"
#include "gguf/block_file.h"
#include "kernels/math.h"
#include "model/families/shape_deepseek4.h"
#include "model/families/shape_dsa.h"
#include "model/families/shape_gemma2.h"
#include "model/families/shape_gemma3.h"
#include "model/families/shape_gemma4.h"
#include "model/families/shape_glm.h"
#include "model/families/shape_gpt_oss.h"
#include "model/families/shape_mimo2.h"
#include "model/families/shape_mistral3.h"
#include "model/families/shape_mla.h"
#include "model/families/shape_phi3.h"
#include "model/families/shape_qwen_next.h"
#include "model/shape/carried.h"
#include "model/shape/shape_keys.h"
#include "model/shape/shape_router.h"
#include "quant/half.h"

namespace aster::model {
namespace {

struct ArchEntry {
  Arch arch;
  std::string_view name;
};

constexpr std::array<ArchEntry, 21> kArchs = {
    {{Arch::kLlama, "llama"},          {Arch::kMistral3, "mistral3"},
     {Arch::kQwen2, "qwen2"},          {Arch::kQwen3, "qwen3"},
     {Arch::kQwen3Moe, "qwen3moe"},    {Arch::kQwen3Next, "qwen3next"},
     {Arch::kQwen35, "qwen35"},        {Arch::kQwen35Moe, "qwen35moe"},
     {Arch::kGemma2, "gemma2"},        {Arch::kGemma3, "gemma3"},
     {Arch::kGemma4, "gemma4"},        {Arch::kPhi3, "phi3"},
     {Arch::kGptOss, "gpt-oss"},       {Arch::kGlm4Moe, "glm4moe"},
     {Arch::kMiniMaxM2, "minimax-m2"}, {Arch::kMimo2, "mimo2"},
     {Arch::kDeepSeek2, "deepseek2"},  {Arch::kDeepSeek32, "deepseek32"},
     {Arch::kGlmDsa, "glm-dsa"},       {Arch::kDeepSeek4, "deepseek4"},
     {Arch::kDeepSeek41, "deepseek41"}}};

// The window of an MTP block if the model's own layers see all: its input rows already contain what
// is farther back.
constexpr uint32_t kMtpWindow = 512;

// Keys that change the arithmetic of other architectures. A model of a known architecture with such
// a key would give plausible nonsense without it.
constexpr std::array<std::string_view, 9> kForeignKeys = {"logit_scale",
                                                          "attention.scale",
                                                          "attention.clamp_kqv",
                                                          "attention.temperature_scale",
                                                          "residual_scale",
                                                          "embedding_scale",
                                                          "attn_logit_softcapping",
                                                          "final_logit_softcapping",
                                                          "use_parallel_residual"};

// Whether an architecture reads such a key.
bool Reads(Arch arch, std::string_view key) {
  if (arch == Arch::kMistral3) return key == "attention.temperature_scale";
  if (arch == Arch::kGemma2 && key == "attn_logit_softcapping") return true;
  const bool is_gemma = arch == Arch::kGemma2 || arch == Arch::kGemma3 || arch == Arch::kGemma4;
  return is_gemma && (key == "attention.scale" || key == "final_logit_softcapping");
}

Status RefuseForeignKeys(const Keys& keys, Arch arch) {
  if (!TRY(keys.FlagOr("attention.causal", true))) {
    return Unimplemented(fmt::format(
        "{} is false: the tokens of this model see those behind them, and here they do not; for "
        "embeddings use a model made from a decoder, such as Qwen3-Embedding",
        keys.Full("attention.causal")));
  }
  // The first files of that format have this key in place of rope.scaling.factor.
  TRY(keys.ExpectValue("rope.scale_linear", 1.0f));
  for (const std::string_view key : kForeignKeys) {
    if (!keys.Contains(key) || Reads(arch, key)) continue;
    return Unimplemented(
        fmt::format("{} changes this architecture in a way that is not supported", keys.Full(key)));
  }
  return Ok();
}

Result<RopeScaling> ParseRopeScaling(const Keys& keys, Arch arch) {
  const std::string name = TRY(keys.TextOr("rope.scaling.type", "none"));
  // For Phi 3 this means a table of factors (model/families/shape_phi3.h).
  if (name == "none" || (arch == Arch::kPhi3 && name == "longrope")) return RopeScaling::kNone;
  if (name == "linear") return RopeScaling::kLinear;
  if (name == "yarn") return RopeScaling::kYarn;
  return Unimplemented(fmt::format("{} is \"{}\"; none, linear and yarn are supported",
                                   keys.Full("rope.scaling.type"), name));
}

Result<Rope> ReadRope(const Keys& keys, const Shape& shape) {
  Rope rope;
  if (keys.Contains("rope.freq_base")) rope.base = TRY(keys.Above("rope.freq_base", 1.0f));
  rope.dimensions = TRY(keys.CountOr("rope.dimension_count", kMaxWidth, shape.head_dim));
  rope.scaling = TRY(ParseRopeScaling(keys, shape.arch));
  if (rope.scaling == RopeScaling::kNone) {
    // Without a type it is unknown how to scale.
    if (!keys.Contains("rope.scaling.type")) TRY(keys.ExpectValue("rope.scaling.factor", 1.0f));
    if (shape.arch != Arch::kPhi3) TRY(keys.ExpectValue("rope.scaling.attn_factor", 1.0f));
    return rope;
  }
  rope.factor = TRY(keys.Multiple("rope.scaling.factor"));
  rope.original_context =
      TRY(keys.CountOr("rope.scaling.original_context_length", UINT32_MAX, shape.context_length));
  if (rope.scaling == RopeScaling::kYarn) {
    rope.attention_factor = TRY(keys.PositiveOr("rope.scaling.attn_factor", rope.attention_factor));
    rope.beta_fast = TRY(keys.PositiveOr("rope.scaling.yarn_beta_fast", rope.beta_fast));
    rope.beta_slow = TRY(keys.PositiveOr("rope.scaling.yarn_beta_slow", rope.beta_slow));
    rope.log_multiplier = TRY(keys.ZeroOrPositive("rope.scaling.yarn_log_multiplier"));
  }
  return rope;
}

Status ReadAttention(const Keys& keys, Shape& shape) {
  const size_t layers = shape.layer_count;
  shape.head_count = TRY(keys.UniformCount("attention.head_count", layers, kMaxWidth));
  shape.kv_head_count = shape.head_count;
  if (keys.Contains("attention.head_count_kv")) {
    shape.kv_head_count = TRY(keys.UniformCount("attention.head_count_kv", layers, kMaxWidth));
  }
  if (keys.Contains("attention.key_length")) {
    shape.head_dim = TRY(keys.Count("attention.key_length", kMaxWidth));
  } else if (shape.embedding % shape.head_count == 0) {
    shape.head_dim = shape.embedding / shape.head_count;
  } else {
    return DataLoss(fmt::format("{} ({}) is not a multiple of {} ({}), and there is no {}",
                                keys.Full("embedding_length"), shape.embedding,
                                keys.Full("attention.head_count"), shape.head_count,
                                keys.Full("attention.key_length")));
  }
  const uint32_t value_dim = TRY(keys.CountOr("attention.value_length", kMaxWidth, shape.head_dim));
  if (value_dim != shape.head_dim) {
    return Unimplemented(
        fmt::format("keys of {} and values of {} numbers a head; only equal lengths are supported",
                    shape.head_dim, value_dim));
  }
  shape.norm_epsilon = TRY(keys.Fraction("attention.layer_norm_rms_epsilon"));
  shape.sliding_window = TRY(keys.OptionalCount("attention.sliding_window", UINT32_MAX));
  return Ok();
}

Status ReadFeedForward(const Keys& keys, Shape& shape) {
  if (HasExperts(shape.arch)) {
    shape.experts.count = TRY(keys.Count("expert_count", kMaxWidth));
    shape.experts.used = TRY(keys.Count("expert_used_count", kMaxWidth));
    shape.experts.feed_forward = TRY(keys.Count("expert_feed_forward_length", kMaxWidth));
    if (shape.arch != Arch::kQwen3Moe) return Ok();
    TRY(keys.ExpectNumber("expert_shared_count", 0));
    return ExpectPlainRouter(keys);
  }
  if (TRY(keys.OptionalCount("expert_count", kMaxWidth)) > 0) {
    return Unimplemented(
        fmt::format("{} is set: experts are supported in qwen3moe, gpt-oss and others, not in {}",
                    keys.Full("expert_count"), ArchName(shape.arch)));
  }
  shape.feed_forward = TRY(keys.UniformCount("feed_forward_length", shape.layer_count, kMaxWidth));
  return Ok();
}

// Files give the vocabulary's size, its tokens, or both.
Result<uint32_t> ReadVocabSize(const gguf::Metadata& metadata, const Keys& keys) {
  const gguf::Value* tokens = metadata.Find("tokenizer.ggml.tokens");
  if (tokens == nullptr) return keys.Count("vocab_size", kMaxWidth);
  const uint64_t listed = TRY(tokens->As<gguf::Array>()).size();
  const uint32_t size = TRY(keys.CountOr("vocab_size", kMaxWidth, 0));
  if (listed == 0 || listed > kMaxWidth || (size != 0 && size != listed)) {
    return DataLoss(
        fmt::format("tokenizer.ggml.tokens lists {} tokens{}", listed,
                    size == 0 ? "" : fmt::format(", {} says {}", keys.Full("vocab_size"), size)));
  }
  return static_cast<uint32_t>(listed);
}

// Tokens that are never the next one, such as the ends of images and sounds (Gemma 4).
Result<std::vector<int32_t>> ReadSuppressed(const gguf::Metadata& metadata, uint32_t vocab_size) {
  if (!metadata.Contains(kSuppressedKey)) return std::vector<int32_t>();
  auto tokens = TRY(metadata.Get<std::vector<int32_t>>(kSuppressedKey));
  for (const int32_t token : tokens) {
    if (token < 0 || static_cast<uint32_t>(token) >= vocab_size) {
      return DataLoss(
          fmt::format("{} lists {} of a vocabulary of {}", kSuppressedKey, token, vocab_size));
    }
  }
  std::ranges::sort(tokens);
  const auto repeated = std::ranges::unique(tokens);
  tokens.erase(repeated.begin(), repeated.end());
  if (tokens.size() == vocab_size)
    return DataLoss(fmt::format("{} lists all tokens, so that none is left", kSuppressedKey));
  return tokens;
}

bool IsValidRope(const Rope& rope) {
  const bool has_base = std::isfinite(rope.base) && rope.base > 1.0f;
  if (rope.scaling == RopeScaling::kNone) return has_base;
  return has_base && std::isfinite(rope.factor) && rope.factor >= 1.0f &&
         rope.original_context > 0 && rope.beta_slow > 0.0f && rope.beta_fast >= rope.beta_slow;
}

Status CheckRope(const Shape& shape) {
  if (shape.rope.dimensions > shape.head_dim || shape.rope.dimensions % 2 != 0) {
    return DataLoss(fmt::format(
        "{} rotary dimensions in a head of {}; an even number up to the head's is needed",
        shape.rope.dimensions, shape.head_dim));
  }
  for (const Rope& rope : {shape.rope, shape.window_rope, shape.latent.rope}) {
    if (IsValidRope(rope)) continue;
    return DataLoss(
        fmt::format("RoPE cannot have a base of {} (rope.freq_base), a scaling factor of {} from "
                    "{} positions, and betas of {} and {}: a base above 1, a factor of at least 1 "
                    "and a fast beta no less than the slow one are needed",
                    rope.base, rope.factor, rope.original_context, rope.beta_fast, rope.beta_slow));
  }
  return Ok();
}

// The most similar name: the longest common prefix (of several the first), otherwise the most
// similar spelling; empty if none is similar.
std::string NearestTo(std::string_view name) {
  constexpr size_t kLeastAlike = 3;
  std::string_view nearest;
  size_t most = kLeastAlike - 1;
  for (const ArchEntry& entry : kArchs) {
    const auto end = std::ranges::mismatch(name, entry.name).in1;
    const auto alike = static_cast<size_t>(end - name.begin());
    if (alike <= most) continue;
    most = alike;
    nearest = entry.name;
  }
  if (!nearest.empty()) return std::string(nearest);
  std::vector<std::string> names;
  for (const ArchEntry& entry : kArchs) names.emplace_back(entry.name);
  return MostSimilar(name, names).value_or("");
}

}  // namespace

std::string_view ArchName(Arch arch) {
  return std::find_if(kArchs.begin(), kArchs.end(),
                      [&](const ArchEntry& e) { return e.arch == arch; })
      ->name;
}

Result<Arch> ParseArch(std::string_view name) {
  for (const ArchEntry& entry : kArchs) {
    if (entry.name == name) return entry.arch;
  }
  if (name == gguf::kDrafterArchitecture) {
    return Unimplemented(
        "this is a drafter for a model, and no model: give it along with the model, for --draft "
        "mtp, or by --draft FILE");
  }
  const std::string nearest = NearestTo(name);
  return Unimplemented(fmt::format(
      "architecture \"{}\" is not supported{}; {} are", name,
      nearest.empty() ? "" : fmt::format(" (the nearest that is: {})", nearest), KnownArchs()));
}

std::string KnownArchs() {
  std::string names;
  for (const ArchEntry& entry : kArchs) {
    if (!names.empty()) names += ", ";
    names += entry.name;
  }
  return names;
}

bool HasExperts(Arch arch) {
  return arch == Arch::kQwen3Moe || arch == Arch::kQwen3Next || arch == Arch::kQwen35Moe ||
         arch == Arch::kGptOss || arch == Arch::kGlm4Moe || arch == Arch::kMiniMaxM2 ||
         arch == Arch::kMimo2 || HasMla(arch) || arch == Arch::kDeepSeek4 ||
         arch == Arch::kDeepSeek41;
}

bool HasMla(Arch arch) { return arch == Arch::kDeepSeek2 || HasDsa(arch); }

bool HasDsa(Arch arch) { return arch == Arch::kDeepSeek32 || arch == Arch::kGlmDsa; }

bool HasRouterKeys(Arch arch) {
  return arch == Arch::kGlm4Moe || arch == Arch::kMiniMaxM2 || arch == Arch::kMimo2 || HasMla(arch);
}

bool Shape::has_window_sinks(uint32_t layer) const {
  return is_mimo2() && WindowOf(*this, layer) > 0;
}

uint32_t WindowOf(const Shape& shape, uint32_t layer) {
  if (layer == 0 && shape.kinds.first_sees_all) return 0;
  const bool sees_all = shape.full_every > 0 && (layer + 1) % shape.full_every == 0;
  return sees_all ? 0 : shape.sliding_window;
}

uint32_t HeadDimOf(const Shape& shape, uint32_t layer) {
  const uint32_t own = WindowOf(shape, layer) > 0 ? shape.kinds.window_head_dim : 0;
  return own > 0 ? own : shape.head_dim;
}

uint32_t KvHeadsOf(const Shape& shape, uint32_t layer) {
  const uint32_t own = WindowOf(shape, layer) > 0 ? shape.kinds.window_kv_heads : 0;
  return own > 0 ? own : shape.kv_head_count;
}

uint32_t ValueDimOf(const Shape& shape, uint32_t layer) {
  return shape.kinds.value_dim > 0 ? shape.kinds.value_dim : HeadDimOf(shape, layer);
}

uint32_t FeedForwardOf(const Shape& shape, uint32_t layer) {
  return KvLayerOf(shape, layer) == layer ? shape.feed_forward : shape.kinds.sharing_feed_forward;
}

bool TakesKeysAsValues(const Shape& shape, uint32_t layer) {
  return shape.kinds.keys_are_values && WindowOf(shape, layer) == 0;
}

uint32_t KvLayerOf(const Shape& shape, uint32_t layer) {
  const uint32_t own = shape.layer_count - shape.kinds.sharing;
  if (layer < own) return layer;
  // CheckGemma4 has checked that there is a layer of either kind.
  uint32_t source = own - 1;
  while (WindowOf(shape, source) != WindowOf(shape, layer)) --source;
  return source;
}

bool Shape::has_ngrams(uint32_t layer) const {
  return ngrams != nullptr && std::ranges::count(ngrams->layers, layer) > 0;
}

bool MakesCompressedRows(const Shape& shape, uint32_t layer) {
  const Latent& latent = shape.latent;
  return latent.makes_rows.empty() ? latent.ratios[layer] != 0 : latent.makes_rows[layer] != 0;
}

bool KeepsCompressedRows(const Shape& shape, uint32_t layer) {
  return MakesCompressedRows(shape, layer) ||
         (shape.shares_compressed_rows() && ChoosesRows(shape, layer));
}

// CheckDeepSeek41 has checked that there is such a layer.
uint32_t CompressedLayerOf(const Shape& shape, uint32_t layer) {
  while (!KeepsCompressedRows(shape, layer)) --layer;
  return layer;
}

uint32_t Shape::carried_width() const {
  if (!shares_compressed_rows()) return 0;
  return kMixWidth + head_dim + latent.index_dim + latent.top_blocks;
}

bool HasChosenRows(const Shape& shape, uint32_t layer) {
  const uint32_t ratio = shape.latent.ratios[layer];
  return shape.shares_compressed_rows() ? ratio != 0 : ratio == kShortRatio;
}

bool ChoosesRows(const Shape& shape, uint32_t layer) {
  const Latent& latent = shape.latent;
  if (latent.chooses_rows.empty()) return HasChosenRows(shape, layer);
  return latent.chooses_rows[layer] != 0;
}

// Whether a layer uses compressed rows, or a choice of them, of layers before `begin`.
bool SeesCompressedRowsBefore(const Shape& shape, uint32_t begin, uint32_t layer) {
  if (!HasChosenRows(shape, layer)) return false;
  uint32_t chooser = layer;
  while (!ChoosesRows(shape, chooser)) --chooser;
  return std::min(chooser, CompressedLayerOf(shape, layer)) < begin;
}

// False if a later layer uses KV rows of a layer before this one.
bool Shape::can_begin(uint32_t layer) const {
  if (is_indexed() && !has_index(layer)) return false;
  for (uint32_t later = layer; shares_compressed_rows() && later < layer_count; ++later) {
    if (SeesCompressedRowsBefore(*this, layer, later)) return false;
  }
  for (uint32_t later = layer_count - kinds.sharing; later < layer_count; ++later) {
    if (layer <= later && KvLayerOf(*this, later) < layer) return false;
  }
  return true;
}

float AttentionScaleOf(const Shape& shape) {
  if (shape.attention_scale > 0.0f) return shape.attention_scale;
  if (shape.is_mla()) return MlaScaleOf(shape);
  return 1.0f / std::sqrt(static_cast<float>(shape.head_dim));
}

double QueryFactorAt(const Shape& shape, int64_t position) {
  if (shape.temperature == 0.0f) return 1.0;
  const int64_t times = position / shape.rope.original_context;
  return 1.0 + double{shape.temperature} * kernels::Log(static_cast<double>(1 + times));
}

bool CanDraftWithMtp(const Shape& shape) {
  return shape.arch == Arch::kDeepSeek4 || shape.is_recurrent() || shape.is_glm() ||
         shape.is_mla() || shape.is_mimo2();
}

Shape ShapeOfMtp(const Shape& shape) {
  Shape next = shape;
  next.layer_count = 1;
  next.mtp_layers = 0;
  if (shape.is_latent()) {
    next.latent.ratios = {0};
    next.experts.hash_layers = 0;
    return next;
  }
  // MiMo 2's block is like a layer with a window, but without experts.
  if (shape.is_mimo2()) {
    next.kinds.first_sees_all = false;
    next.experts.dense_layers = 1;
    return next;
  }
  next.sliding_window = kMtpWindow;
  next.experts.dense_layers = 0;
  // An index would choose more rows than the window has.
  next.index = {};
  if (shape.is_recurrent()) next.recurrence.full_every = 1;
  return next;
}

float TrainedRootOf(uint32_t width) {
  return quant::Bfloat16ToFloat(quant::FloatToBfloat16(std::sqrt(static_cast<float>(width))));
}

float EmbeddingScaleOf(const Shape& shape) {
  return shape.is_gemma() ? TrainedRootOf(shape.embedding) : 1.0f;
}

Result<Shape> ReadShape(const gguf::Metadata& metadata) {
  Shape shape;
  const auto name = TRY(metadata.Get<std::string>("general.architecture"));
  shape.arch = TRY(ParseArch(name));
  const Keys keys(metadata, name);
  TRY(RefuseForeignKeys(keys, shape.arch));
  shape.layer_count = TRY(keys.Count("block_count", kMaxLayers));
  shape.context_length = TRY(keys.Count("context_length", UINT32_MAX));
  shape.embedding = TRY(keys.Count("embedding_length", kMaxWidth));
  if (shape.arch == Arch::kDeepSeek4 || shape.arch == Arch::kDeepSeek41) {
    TRY(ReadDeepSeek4(keys, shape));
  } else if (shape.is_gemma4()) {
    TRY(ReadGemma4(keys, shape));
  } else {
    if (HasRouterKeys(shape.arch) || HasRecurrence(shape.arch)) TRY(LeaveMtpOut(keys, shape));
    if (shape.is_mimo2()) {
      TRY(ReadMimo2Heads(keys, shape));
    } else {
      TRY(HasMla(shape.arch) ? ReadMlaHeads(keys, shape) : ReadAttention(keys, shape));
    }
    TRY(ReadFeedForward(keys, shape));
    shape.rope = TRY(ReadRope(keys, shape));
    if (shape.is_gpt_oss()) TRY(ReadGptOss(keys, shape));
    if (shape.arch == Arch::kGemma2) TRY(ReadGemma2(keys, shape));
    if (shape.arch == Arch::kGemma3) TRY(ReadGemma3(keys, shape));
    if (shape.arch == Arch::kMistral3) TRY(ReadMistral3(keys, shape));
    if (shape.arch == Arch::kPhi3) TRY(ReadPhi3(keys, shape));
    if (shape.is_glm()) TRY(ReadGlm(keys, shape));
    if (shape.arch == Arch::kMiniMaxM2) TRY(ReadMiniMax(keys, shape));
    if (shape.arch == Arch::kDeepSeek2) TRY(ReadMla(keys, shape));
    if (HasDsa(shape.arch)) TRY(ReadDsa(keys, shape));
    if (shape.is_mimo2()) TRY(ReadMimo2(keys, shape));
    if (HasRecurrence(shape.arch)) TRY(ReadQwenNext(keys, shape));
  }
  shape.vocab_size = TRY(ReadVocabSize(metadata, keys));
  shape.suppressed = TRY(ReadSuppressed(metadata, shape.vocab_size));
  TRY(CheckShape(shape));
  return shape;
}

Status CheckShape(const Shape& shape) {
  const uint32_t feed_forward =
      shape.experts.count > 0 ? shape.experts.feed_forward : shape.feed_forward;
  for (const uint32_t count :
       {shape.layer_count, shape.embedding, shape.head_count, shape.kv_head_count, shape.head_dim,
        shape.vocab_size, feed_forward}) {
    if (count == 0 || count > kMaxWidth) {
      return DataLoss(
          fmt::format("a model of {} layers, {} wide, {} heads ({} for keys and values) of {}, "
                      "feed-forward {} and {} tokens cannot be",
                      shape.layer_count, shape.embedding, shape.head_count, shape.kv_head_count,
                      shape.head_dim, feed_forward, shape.vocab_size));
    }
  }
  if (shape.head_count % shape.kv_head_count != 0) {
    return DataLoss(fmt::format("{} attention heads cannot share {} key-value heads evenly",
                                shape.head_count, shape.kv_head_count));
  }
  if (uint64_t{shape.head_count} * shape.head_dim > kMaxWidth) {
    return DataLoss(fmt::format("{} heads of {} numbers are more than any model has",
                                shape.head_count, shape.head_dim));
  }
  TRY(CheckRope(shape));
  if (!(shape.norm_epsilon > 0.0f && shape.norm_epsilon < 1.0f)) {
    return DataLoss(fmt::format("norms with an epsilon of {}; a positive number below 1 is needed",
                                shape.norm_epsilon));
  }
  if (shape.experts.used > shape.experts.count) {
    return DataLoss(fmt::format("{} experts used of {}", shape.experts.used, shape.experts.count));
  }
  if (shape.is_gpt_oss()) return CheckGptOss(shape);
  if (shape.arch == Arch::kGemma2) return CheckGemma2(shape);
  if (shape.arch == Arch::kGemma3) return CheckGemma3(shape);
  if (shape.is_gemma4()) return CheckGemma4(shape);
  if (shape.arch == Arch::kMistral3) return CheckMistral3(shape);
  if (shape.arch == Arch::kPhi3) return CheckPhi3(shape);
  if (shape.arch == Arch::kDeepSeek2) return CheckMla(shape);
  if (HasDsa(shape.arch)) return CheckDsa(shape);
  if (shape.is_mimo2()) return CheckMimo2(shape);
  if (HasRouterKeys(shape.arch)) return CheckSigmoidMixture(shape);
  if (HasRecurrence(shape.arch)) return CheckQwenNext(shape);
  return shape.is_latent() ? CheckDeepSeek4(shape) : Ok();
}

}  // namespace aster::model
