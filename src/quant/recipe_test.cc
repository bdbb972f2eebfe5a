// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "quant/recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <map>

#include "quant/dequantize.h"
#include "quant/quantize.h"

namespace aster::quant {
namespace {

using gguf::TensorType;
using ::testing::HasSubstr;

gguf::Tensor MakeTensor(std::string_view name, std::vector<uint64_t> dims,
                        TensorType type = TensorType::kF16) {
  gguf::Tensor tensor;
  tensor.name = name;
  tensor.type = type;
  tensor.dim_count = static_cast<uint32_t>(dims.size());
  std::copy(dims.begin(), dims.end(), tensor.dims.begin());
  return tensor;
}

TypeRules RulesOf(std::string_view recipe) {
  return {.recipe = FindRecipe(recipe), .overrides = {}};
}

constexpr uint32_t kLayers = 32;

ModelTraits DenseModel(uint32_t query_groups = 1) {
  return {.architecture = "llama", .layer_count = kLayers, .query_groups = query_groups};
}

TensorType TypeOf(const TypeRules& rules, const ModelTraits& traits, std::string_view name,
                  uint64_t columns = 4096) {
  return ChooseType(rules, traits, MakeTensor(name, {columns, 4096})).type;
}

// How many of the layers' tensors `name` get each type.
std::map<TensorType, int> CountTypes(std::string_view recipe, const ModelTraits& traits,
                                     std::string_view name) {
  std::map<TensorType, int> counts;
  for (uint32_t layer = 0; layer < traits.layer_count; ++layer) {
    ++counts[TypeOf(RulesOf(recipe), traits, fmt::format("blk.{}.{}", layer, name))];
  }
  return counts;
}

TEST(Recipe, EveryRecipeCanBeWrittenAndRead) {
  for (const Recipe& recipe : AllRecipes()) {
    EXPECT_TRUE(CanQuantize(recipe.type)) << recipe.name;
    EXPECT_NE(FindDecoder(recipe.type), nullptr) << recipe.name;
    EXPECT_EQ(FindRecipe(recipe.name), &recipe);
  }
  EXPECT_EQ(FindRecipe("q4_k_m"), FindRecipe("Q4_K_M"));
  EXPECT_EQ(FindRecipe("Q4_K_MM"), nullptr);
  EXPECT_EQ(FindRecipe(""), nullptr);
}

// The published rule of the most used mix: the first and last eighth of the layers and every third
// between get more bits for values and down projections.
TEST(Recipe, Q4_K_MSpendsMoreOnHalfOfValuesAndDownProjections) {
  using Counts = std::map<TensorType, int>;
  const Counts half = {{TensorType::kQ4_K, 16}, {TensorType::kQ6_K, 16}};
  EXPECT_EQ(CountTypes("Q4_K_M", DenseModel(), "attn_v.weight"), half);
  EXPECT_EQ(CountTypes("Q4_K_M", DenseModel(), "ffn_down.weight"), half);
  EXPECT_EQ(CountTypes("Q4_K_M", DenseModel(), "ffn_up.weight"),
            (Counts{{TensorType::kQ4_K, kLayers}}));
  const TypeRules rules = RulesOf("Q4_K_M");
  EXPECT_EQ(TypeOf(rules, DenseModel(), "blk.3.attn_v.weight"), TensorType::kQ6_K);
  EXPECT_EQ(TypeOf(rules, DenseModel(), "blk.4.attn_v.weight"), TensorType::kQ4_K);
  EXPECT_EQ(TypeOf(rules, DenseModel(), "blk.6.attn_v.weight"), TensorType::kQ6_K);
  EXPECT_EQ(TypeOf(rules, DenseModel(), "blk.28.attn_v.weight"), TensorType::kQ6_K);
  EXPECT_EQ(TypeOf(rules, DenseModel(), "output.weight"), TensorType::kQ6_K);
  EXPECT_EQ(TypeOf(rules, DenseModel(), "token_embd.weight"), TensorType::kQ4_K);
}

TEST(Recipe, ATiedEmbeddingIsTheOutput) {
  ModelTraits traits = DenseModel();
  traits.tied_head = true;
  EXPECT_EQ(TypeOf(RulesOf("Q4_K_M"), traits, "token_embd.weight"), TensorType::kQ6_K);
  EXPECT_EQ(TypeOf(RulesOf("IQ2_XXS"), traits, "token_embd.weight"), TensorType::kQ5_K);
  EXPECT_EQ(TypeOf(RulesOf("IQ2_XXS"), DenseModel(), "token_embd.weight"), TensorType::kQ2_K);
  EXPECT_EQ(TypeOf(RulesOf("Q8_0"), traits, "token_embd.weight"), TensorType::kQ8_0);
  EXPECT_EQ(TypeOf(RulesOf("F16"), traits, "token_embd.weight"), TensorType::kF16);
}

TEST(Recipe, SmallMixes) {
  using Counts = std::map<TensorType, int>;
  EXPECT_EQ(CountTypes("Q2_K", DenseModel(8), "attn_v.weight"),
            (Counts{{TensorType::kQ4_K, kLayers}}));
  EXPECT_EQ(CountTypes("Q2_K", DenseModel(), "attn_v.weight"),
            (Counts{{TensorType::kQ3_K, kLayers}}));
  EXPECT_EQ(CountTypes("Q2_K", DenseModel(), "attn_output.weight"),
            (Counts{{TensorType::kQ3_K, kLayers}}));
  EXPECT_EQ(CountTypes("Q3_K_M", DenseModel(), "ffn_down.weight"),
            (Counts{{TensorType::kQ5_K, 2}, {TensorType::kQ4_K, 30}}));
  EXPECT_EQ(CountTypes("Q4_K_S", DenseModel(), "ffn_down.weight"),
            (Counts{{TensorType::kQ5_K, 4}, {TensorType::kQ4_K, 28}}));
  EXPECT_EQ(CountTypes("IQ2_XXS", DenseModel(8), "attn_v.weight"),
            (Counts{{TensorType::kQ4_K, kLayers}}));
  EXPECT_EQ(CountTypes("IQ2_XXS", DenseModel(), "ffn_down.weight"),
            (Counts{{TensorType::kQ2_K, 4}, {TensorType::kIQ2_XXS, 28}}));
}

TEST(Recipe, PlainTypesAreTheSameEverywhereButInTheOutput) {
  for (const std::string_view name : {"attn_v.weight", "ffn_down.weight", "attn_output.weight"}) {
    EXPECT_EQ(CountTypes("Q4_K", DenseModel(8), name),
              (std::map<TensorType, int>{{TensorType::kQ4_K, kLayers}}));
  }
  EXPECT_EQ(TypeOf(RulesOf("Q4_K"), DenseModel(), "output.weight"), TensorType::kQ6_K);
  TypeRules pure = RulesOf("IQ2_XXS");
  pure.pure = true;
  EXPECT_EQ(TypeOf(pure, DenseModel(), "output.weight"), TensorType::kIQ2_XXS);
  EXPECT_EQ(TypeOf(pure, DenseModel(), "blk.0.ffn_down.weight"), TensorType::kIQ2_XXS);
}

TEST(Recipe, ExpertsOnly) {
  const TypeRules rules = RulesOf("MXFP4_MOE");
  const gguf::Tensor experts = MakeTensor("blk.0.ffn_up_exps.weight", {2048, 768, 128});
  EXPECT_EQ(ChooseType(rules, DenseModel(), experts).type, TensorType::kMXFP4);
  EXPECT_EQ(TypeOf(rules, DenseModel(), "blk.0.attn_q.weight"), TensorType::kQ8_0);
  // A matrix for each head.
  const gguf::Tensor heads = MakeTensor("blk.0.attn_k_b.weight", {128, 512, 16});
  EXPECT_EQ(ChooseType(rules, DenseModel(), heads).type, TensorType::kQ8_0);
  EXPECT_EQ(TypeOf(RulesOf("MXFP4"), DenseModel(), "blk.0.attn_q.weight"), TensorType::kMXFP4);
}

TEST(Recipe, RowsThatAreNotWholeBlocksGetSmallerOnes) {
  const TypeChoice choice =
      ChooseType(RulesOf("Q4_K"), DenseModel(), MakeTensor("blk.0.ffn_up.weight", {2080, 8}));
  EXPECT_EQ(choice.type, TensorType::kQ5_0);
  EXPECT_THAT(choice.note, HasSubstr("2080"));
  EXPECT_EQ(TypeOf(RulesOf("Q6_K"), DenseModel(), "blk.0.ffn_up.weight", 96), TensorType::kQ8_0);
  EXPECT_EQ(TypeOf(RulesOf("Q2_K"), DenseModel(), "blk.0.ffn_up.weight", 96), TensorType::kQ4_0);
  EXPECT_EQ(TypeOf(RulesOf("IQ2_XXS"), DenseModel(), "blk.0.attn_q.weight", 96),
            TensorType::kIQ4_NL);
  EXPECT_EQ(TypeOf(RulesOf("Q4_K"), DenseModel(), "output.weight", 96), TensorType::kQ8_0);
  EXPECT_EQ(TypeOf(RulesOf("Q4_K"), DenseModel(), "blk.0.ffn_up.weight", 33), TensorType::kF16);
  EXPECT_EQ(TypeOf(RulesOf("Q8_0"), DenseModel(), "output.weight", 33), TensorType::kF16);
}

TEST(Recipe, SmallAndSensitiveTensorsAreKeptInFull) {
  const TypeRules rules = RulesOf("Q4_K_M");
  const auto type_of = [&](std::string_view name, std::vector<uint64_t> dims, TensorType type) {
    return ChooseType(rules, DenseModel(), MakeTensor(name, std::move(dims), type)).type;
  };
  EXPECT_EQ(type_of("output_norm.weight", {4096}, TensorType::kF16), TensorType::kF32);
  EXPECT_EQ(type_of("output_norm.weight", {4096}, TensorType::kF32), TensorType::kF32);
  EXPECT_EQ(type_of("blk.0.attn_q.bias", {4096}, TensorType::kBF16), TensorType::kF32);
  EXPECT_EQ(type_of("blk.0.ffn_gate_inp.weight", {2048, 8}, TensorType::kF16), TensorType::kF32);
  EXPECT_EQ(type_of("blk.0.ffn_gate_tid2eid.weight", {6, 129280}, TensorType::kI32),
            TensorType::kI32);
  EXPECT_EQ(type_of("blk.0.time_mix_value.weight", {2048, 2048}, TensorType::kF16),
            TensorType::kQ4_K);
}

TEST(Recipe, EightExperts) {
  ModelTraits traits = DenseModel(4);
  traits.expert_count = 8;
  EXPECT_EQ(TypeOf(RulesOf("Q4_K_M"), traits, "blk.9.attn_v.weight"), TensorType::kQ8_0);
  EXPECT_EQ(TypeOf(RulesOf("Q4_K_M"), traits, "blk.9.attn_k.weight"), TensorType::kQ8_0);
  EXPECT_EQ(TypeOf(RulesOf("Q4_K_M"), traits, "blk.9.attn_output.weight"), TensorType::kQ5_K);
  EXPECT_EQ(TypeOf(RulesOf("IQ2_XXS"), traits, "blk.9.attn_k.weight"), TensorType::kQ4_K);
}

TEST(Recipe, OverridesComeFirstAndTheFirstWins) {
  TypeRules rules = RulesOf("Q4_K_M");
  rules.keep_output = true;
  EXPECT_EQ(TypeOf(rules, DenseModel(), "output.weight"), TensorType::kF16) << "the type stays";
  rules.overrides = {{"blk.0.ffn_*", TensorType::kQ8_0},
                     {"ffn_down", TensorType::kQ2_K},
                     {"output", TensorType::kQ5_K},
                     {"output_norm", TensorType::kQ5_K}};
  EXPECT_EQ(TypeOf(rules, DenseModel(), "blk.0.ffn_down.weight"), TensorType::kQ8_0);
  EXPECT_EQ(TypeOf(rules, DenseModel(), "blk.1.ffn_down.weight"), TensorType::kQ2_K);
  EXPECT_EQ(TypeOf(rules, DenseModel(), "output.weight"), TensorType::kQ5_K);
  EXPECT_EQ(TypeOf(rules, DenseModel(), "blk.1.ffn_down.weight", 96), TensorType::kQ4_0);
  EXPECT_EQ(ChooseType(rules, DenseModel(), MakeTensor("output_norm.weight", {4096})).type,
            TensorType::kF32)
      << "only matrices";
}

// A slice of a model may lack layer_count; nothing may divide by it.
TEST(Recipe, AModelThatSaysNothing) {
  for (const Recipe& recipe : AllRecipes()) {
    EXPECT_TRUE(CanQuantize(TypeOf(RulesOf(recipe.name), {}, "blk.5.ffn_down.weight")));
    EXPECT_TRUE(CanQuantize(TypeOf(RulesOf(recipe.name), {}, "blk.x.attn_v.weight")));
  }
}

}  // namespace
}  // namespace aster::quant
