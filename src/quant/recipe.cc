// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "quant/recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace aster::quant {
namespace {

using gguf::TensorType;

constexpr Recipe kRecipes[] = {
    {"F32", TensorType::kF32, Mix::kNone, 0, "32 bits, as computed with; lossless"},
    {"BF16", TensorType::kBF16, Mix::kNone, 32, "16 bits, as most models are trained"},
    {"F16", TensorType::kF16, Mix::kNone, 1, "16 bits, finer than BF16 but of less range"},
    {"Q8_0", TensorType::kQ8_0, Mix::kNone, 7, "8.5 bits, hard to tell from the original"},
    {"Q6_K", TensorType::kQ6_K, Mix::kQ6_K, 18, "6.6 bits, very close to the original"},
    {"Q5_K_M", TensorType::kQ5_K, Mix::kQ5_K_M, 17,
     "5.7 bits: Q5_K, the most sensitive half in Q6_K"},
    {"Q5_K_S", TensorType::kQ5_K, Mix::kQ5_K_S, 16, "5.5 bits: Q5_K, the output in Q6_K"},
    {"Q5_K", TensorType::kQ5_K, Mix::kNone, 16, "5.5 bits, the output in Q6_K"},
    {"Q5_1", TensorType::kQ5_1, Mix::kNone, 9, "6 bits, simple blocks"},
    {"Q5_0", TensorType::kQ5_0, Mix::kLegacy, 8, "5.5 bits, simple blocks"},
    {"Q4_K_M", TensorType::kQ4_K, Mix::kQ4_K_M, 15,
     "4.8 bits: Q4_K, the most sensitive half in Q6_K"},
    {"Q4_K_S", TensorType::kQ4_K, Mix::kQ4_K_S, 14, "4.6 bits: Q4_K, a few tensors in Q5_K"},
    {"Q4_K", TensorType::kQ4_K, Mix::kNone, 14, "4.5 bits, the output in Q6_K"},
    {"IQ4_NL", TensorType::kIQ4_NL, Mix::kIQ4, 25, "4.5 bits, uneven levels"},
    {"IQ4_XS", TensorType::kIQ4_XS, Mix::kIQ4, 30, "4.25 bits, uneven levels"},
    {"Q4_1", TensorType::kQ4_1, Mix::kNone, 3, "5 bits, simple blocks"},
    {"Q4_0", TensorType::kQ4_0, Mix::kLegacy, 2, "4.5 bits, simple blocks, fast everywhere"},
    {"MXFP4", TensorType::kMXFP4, Mix::kNone, 38, "4.25 bits, small floats"},
    {"MXFP4_MOE", TensorType::kMXFP4, Mix::kExpertsOnly, 38, "experts in MXFP4, the rest in Q8_0"},
    {"Q3_K_L", TensorType::kQ3_K, Mix::kQ3_K_L, 13, "4.3 bits: Q3_K, much of it in Q5_K"},
    {"Q3_K_M", TensorType::kQ3_K, Mix::kQ3_K_M, 12, "3.9 bits: Q3_K, much of it in Q4_K"},
    {"Q3_K_S", TensorType::kQ3_K, Mix::kQ3_K_S, 11, "3.5 bits: Q3_K, the output in Q6_K"},
    {"Q3_K", TensorType::kQ3_K, Mix::kNone, 11, "3.4 bits, the output in Q6_K"},
    {"Q2_K", TensorType::kQ2_K, Mix::kQ2_K, 10, "3 bits: Q2_K, much of it in Q3_K"},
    {"Q2_K_S", TensorType::kQ2_K, Mix::kQ2_K_S, 21, "2.7 bits: Q2_K, a few tensors in Q4_K"},
    {"IQ2_XXS", TensorType::kIQ2_XXS, Mix::kIQ2_XXS, 19, "2.1 bits; use an importance matrix"},
};

// The kinds of tensors that mixes distinguish.
enum class Role : uint8_t { kEmbedding, kOutput, kValue, kKey, kAttentionOutput, kDown, kOther };

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

Role RoleOf(std::string_view name) {
  if (name == "output.weight") return Role::kOutput;
  if (name == "token_embd.weight" || name == "per_layer_token_embd.weight") {
    return Role::kEmbedding;
  }
  for (const std::string_view value : {"attn_v.weight", "attn_qkv.weight", "attn_kv_b.weight"}) {
    if (Contains(name, value)) return Role::kValue;
  }
  if (Contains(name, "attn_k.weight")) return Role::kKey;
  if (Contains(name, "attn_output.weight")) return Role::kAttentionOutput;
  if (Contains(name, "ffn_down")) return Role::kDown;
  return Role::kOther;
}

// N of "blk.N."; 0 for other names.
uint32_t LayerOf(std::string_view name) {
  constexpr std::string_view kPrefix = "blk.";
  if (!name.starts_with(kPrefix)) return 0;
  uint32_t layer = 0;
  std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), layer);
  return layer;
}

// The type of one tensor under one recipe.
class MixedType {
 public:
  MixedType(const TypeRules& rules, const ModelTraits& traits, const gguf::Tensor& tensor)
      : rules_(rules),
        recipe_(*rules.recipe),
        mix_(rules.recipe->mix),
        traits_(traits),
        tensor_(tensor),
        layer_(LayerOf(tensor.name)) {}

  TensorType Choose() const {
    const Role role = RoleOf(tensor_.name);
    if (role == Role::kOutput || (role == Role::kEmbedding && traits_.tied_head)) return Output();
    switch (mix_ == Mix::kNone ? Role::kOther : role) {
      case Role::kEmbedding:
        return mix_ == Mix::kIQ2_XXS ? TensorType::kQ2_K : Other();
      case Role::kValue:
        return Value();
      case Role::kKey:
        return Key();
      case Role::kAttentionOutput:
        return AttentionOutput();
      case Role::kDown:
        return Down();
      default:
        return Other();
    }
  }

 private:
  // The first and the last eighth of the layers, and every third between.
  bool IsSensitiveLayer() const {
    const uint32_t eighth = traits_.layer_count / 8;
    return layer_ < eighth || layer_ >= 7 * traits_.layer_count / 8 || (layer_ - eighth) % 3 == 2;
  }
  bool IsInFirst(uint32_t part) const { return layer_ < traits_.layer_count / part; }
  // Many query heads share the same keys and values, which are then small and worth more bits.
  bool SharesValues() const { return traits_.query_groups >= 4; }
  bool HasEightExperts() const { return traits_.expert_count == 8; }

  TensorType Other() const {
    if (mix_ == Mix::kExpertsOnly && !Contains(tensor_.name, "_exps.")) return TensorType::kQ8_0;
    return recipe_.type;
  }

  TensorType Output() const {
    const uint64_t block = gguf::FindTensorType(recipe_.type)->block_elements;
    if (block == 1 || recipe_.type == TensorType::kQ8_0) return recipe_.type;
    if (tensor_.dims[0] % block != 0 || recipe_.type == TensorType::kMXFP4) {
      return TensorType::kQ8_0;
    }
    return mix_ == Mix::kIQ2_XXS ? TensorType::kQ5_K : TensorType::kQ6_K;
  }

  TensorType Value() const {
    if (mix_ == Mix::kIQ2_XXS) {
      return SharesValues() || traits_.expert_count >= 4 ? TensorType::kQ4_K : TensorType::kQ2_K;
    }
    if (HasEightExperts()) return TensorType::kQ8_0;
    const TensorType type = ValueByMix();
    const bool is_large_llama =
        traits_.architecture == "llama" && traits_.layer_count == 80 && traits_.query_groups > 1;
    const bool is_small_type = type == TensorType::kQ3_K || type == TensorType::kQ4_K;
    return is_large_llama && is_small_type ? TensorType::kQ5_K : type;
  }

  TensorType ValueByMix() const {
    switch (mix_) {
      case Mix::kQ2_K:
        return SharesValues() ? TensorType::kQ4_K : TensorType::kQ3_K;
      case Mix::kQ2_K_S:
        return SharesValues() ? TensorType::kQ4_K : Other();
      case Mix::kQ3_K_M:
        return layer_ < 2 ? TensorType::kQ5_K : TensorType::kQ4_K;
      case Mix::kQ3_K_L:
        return TensorType::kQ5_K;
      case Mix::kQ4_K_S:
        return layer_ < 4 ? TensorType::kQ5_K : Other();
      case Mix::kQ4_K_M:
      case Mix::kQ5_K_M:
        return IsSensitiveLayer() ? TensorType::kQ6_K : Other();
      case Mix::kIQ4:
        return SharesValues() ? TensorType::kQ5_K : Other();
      default:
        return Other();
    }
  }

  TensorType Key() const {
    if (!HasEightExperts()) return Other();
    return mix_ == Mix::kIQ2_XXS ? TensorType::kQ4_K : TensorType::kQ8_0;
  }

  TensorType AttentionOutput() const {
    if (HasEightExperts()) {
      const bool is_large_type = mix_ == Mix::kQ3_K_L || mix_ == Mix::kQ5_K_S ||
                                 mix_ == Mix::kQ5_K_M || mix_ == Mix::kQ6_K ||
                                 mix_ == Mix::kLegacy || mix_ == Mix::kQ2_K_S ||
                                 mix_ == Mix::kExpertsOnly;
      return is_large_type ? Other() : TensorType::kQ5_K;
    }
    switch (mix_) {
      case Mix::kQ2_K:
        return TensorType::kQ3_K;
      case Mix::kQ3_K_M:
        return TensorType::kQ4_K;
      case Mix::kQ3_K_L:
        return TensorType::kQ5_K;
      default:
        return Other();
    }
  }

  TensorType Down() const {
    switch (mix_) {
      case Mix::kQ2_K:
        return TensorType::kQ3_K;
      case Mix::kQ2_K_S:
        return IsInFirst(8) ? TensorType::kQ4_K : Other();
      case Mix::kQ3_K_M:
        return IsInFirst(16) ? TensorType::kQ5_K : TensorType::kQ4_K;
      case Mix::kQ3_K_L:
        return TensorType::kQ5_K;
      case Mix::kQ4_K_S:
        return IsInFirst(8) ? TensorType::kQ5_K : Other();
      case Mix::kQ4_K_M:
      case Mix::kQ5_K_M:
        return IsSensitiveLayer() ? TensorType::kQ6_K : Other();
      case Mix::kIQ2_XXS:
        return IsInFirst(8) ? TensorType::kQ2_K : Other();
      case Mix::kIQ4:
        return IsInFirst(8) && !rules_.has_importance ? TensorType::kQ5_K : Other();
      case Mix::kLegacy:
        if (!IsInFirst(8) || !rules_.has_importance) return Other();
        return recipe_.type == TensorType::kQ4_0 ? TensorType::kQ4_1 : TensorType::kQ5_1;
      default:
        return Other();
    }
  }

  const TypeRules& rules_;
  const Recipe& recipe_;
  const Mix mix_;
  const ModelTraits& traits_;
  const gguf::Tensor& tensor_;
  const uint32_t layer_;
};

// The type nearest in size with blocks of 32, if blocks of 256 do not fit.
TensorType SmallBlockType(TensorType type) {
  switch (type) {
    case TensorType::kQ6_K:
      return TensorType::kQ8_0;
    case TensorType::kQ5_K:
      return TensorType::kQ5_1;
    case TensorType::kQ4_K:
      return TensorType::kQ5_0;
    case TensorType::kQ3_K:
    case TensorType::kQ2_K:
      return TensorType::kQ4_0;
    default:
      return TensorType::kIQ4_NL;
  }
}

// Tensors that are not quantised keep their full precision: they are small.
TensorType UnquantizedType(TensorType type) {
  const bool is_float =
      type == TensorType::kF16 || type == TensorType::kBF16 || type == TensorType::kF64;
  return is_float ? TensorType::kF32 : type;
}

constexpr char Upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

}  // namespace

TypeChoice FitToRow(TensorType wanted, uint64_t row_elements) {
  const auto fits = [row_elements](TensorType type) {
    return row_elements % gguf::FindTensorType(type)->block_elements == 0;
  };
  if (fits(wanted)) return {wanted, {}};
  TensorType type = SmallBlockType(wanted);
  if (!fits(type)) type = TensorType::kF16;
  return {type, fmt::format("rows of {} are not whole blocks of {}", row_elements,
                            gguf::TensorTypeName(wanted))};
}

std::span<const Recipe> AllRecipes() { return kRecipes; }

const Recipe* FindRecipe(std::string_view name) {
  for (const Recipe& recipe : kRecipes) {
    if (std::equal(recipe.name.begin(), recipe.name.end(), name.begin(), name.end(),
                   [](char a, char b) { return a == Upper(b); })) {
      return &recipe;
    }
  }
  return nullptr;
}

Result<const Recipe*> RecipeNamed(std::string_view name) {
  const Recipe* recipe = FindRecipe(name);
  if (recipe != nullptr) return recipe;
  std::string names;
  for (const Recipe& known : kRecipes) {
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  }
  return InvalidArgument(fmt::format("there is no type '{}'; there are {}", name, names));
}

ModelTraits ReadTraits(const gguf::ModelFiles& files) {
  const gguf::Metadata& metadata = files.metadata();
  ModelTraits traits;
  if (auto name = metadata.Get<std::string>("general.architecture"); name.ok()) {
    traits.architecture = *name;
  }
  const auto number = [&](std::string_view key) -> uint32_t {
    const std::string full = fmt::format("{}.{}", traits.architecture, key);
    if (auto value = metadata.Get<uint32_t>(full); value.ok()) return *value;
    // A number for each layer: the largest counts.
    if (auto values = metadata.Get<std::vector<uint32_t>>(full); values.ok() && !values->empty()) {
      return *std::max_element(values->begin(), values->end());
    }
    return 0;
  };
  traits.layer_count = number("block_count");
  traits.expert_count = number("expert_count");
  const uint32_t key_heads = number("attention.head_count_kv");
  if (key_heads > 0) {
    traits.query_groups = std::max(number("attention.head_count") / key_heads, 1u);
  }
  traits.tied_head = files.FindTensor("output.weight") == nullptr;
  return traits;
}

bool IsQuantizable(const gguf::Tensor& tensor) {
  if (tensor.dim_count < 2 || !tensor.name.ends_with("weight")) return false;
  // Routers, tables of whole numbers, short convolutions, and tensors of recurrent, vision and
  // audio parts that are sensitive to noise.
  constexpr std::string_view kKept[] = {"_norm.weight",
                                        "ffn_gate_inp.weight",
                                        "ffn_gate_tid2eid.weight",
                                        "ssm_conv1d",
                                        "shortconv.conv.weight",
                                        "hc_attn_fn.weight",
                                        "hc_ffn_fn.weight",
                                        "_hc_fn.weight",
                                        "hc_head_fn.weight",
                                        "_compressor_kv.weight",
                                        "_compressor_gate.weight",
                                        "_compressor_ape.weight",
                                        "compress_",
                                        "indexer.proj.weight",
                                        "indexer.k_proj.weight",
                                        "indexer.q_proj.weight",
                                        "altup",
                                        "laurel",
                                        "position_embd",
                                        "token_types",
                                        "per_layer_model_proj",
                                        "time_mix_first.weight",
                                        "time_mix_w0.",
                                        "time_mix_w1.",
                                        "time_mix_w2.",
                                        "time_mix_v0.",
                                        "time_mix_v1.",
                                        "time_mix_v2.",
                                        "time_mix_a0.",
                                        "time_mix_a1.",
                                        "time_mix_a2.",
                                        "time_mix_g1.",
                                        "time_mix_g2.",
                                        "time_mix_decay_w",
                                        "time_mix_lerp_fused.",
                                        "attn_rel_b.weight",
                                        ".rel_pos",
                                        ".patch_embd",
                                        ".patch_merger",
                                        "sam.pos_embd",
                                        "sam.neck.",
                                        "sam.net_",
                                        "a.rvq.codebook",
                                        "mm.a.code_embd"};
  return std::none_of(std::begin(kKept), std::end(kKept),
                      [&](std::string_view part) { return Contains(tensor.name, part); });
}

TypeChoice ChooseType(const TypeRules& rules, const ModelTraits& traits,
                      const gguf::Tensor& tensor) {
  for (const TypeOverride& entry : rules.overrides) {
    if (tensor.dim_count >= 2 && entry.Matches(tensor.name)) {
      return FitToRow(entry.type, tensor.dims[0]);
    }
  }
  if (!IsQuantizable(tensor)) return {UnquantizedType(tensor.type), {}};
  if (rules.keep_output && tensor.name == "output.weight") return {tensor.type, {}};
  const TensorType wanted =
      rules.pure ? rules.recipe->type : MixedType(rules, traits, tensor).Choose();
  return FitToRow(wanted, tensor.dims[0]);
}

}  // namespace aster::quant
