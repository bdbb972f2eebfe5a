// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Which type each tensor of a model gets when the model is quantised: one type for all, or one of
// the usual mixes, which spend more bits where they help most. Knows tensors by name and shape
// only; must not touch their data.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/model_files.h"
#include "gguf/types.h"
#include "quant/type_override.h"

namespace aster::quant {

enum class Mix : uint8_t {
  kNone,  // the output head aside, one type for all
  kQ2_K,
  kQ2_K_S,
  kQ3_K_S,
  kQ3_K_M,
  kQ3_K_L,
  kQ4_K_S,
  kQ4_K_M,
  kQ5_K_S,
  kQ5_K_M,
  kQ6_K,
  kIQ2_XXS,
  kIQ4,
  kLegacy,
  kExpertsOnly,
};

struct Recipe {
  std::string_view name;
  gguf::TensorType type;  // of what has no reason to be another
  Mix mix;
  uint32_t file_type;  // what general.file_type says of such a file
  std::string_view summary;
};

// From many bits to few.
std::span<const Recipe> AllRecipes();
// Upper or lower case; null where there is none of that name.
const Recipe* FindRecipe(std::string_view name);
// The same, but an error that lists the names.
Result<const Recipe*> RecipeNamed(std::string_view name);

// What the mixes look at.
struct ModelTraits {
  std::string architecture;
  uint32_t layer_count = 0;   // 0 where the file does not say
  uint32_t query_groups = 1;  // query heads to a key-value head
  uint32_t expert_count = 0;
  bool tied_head = false;  // there is no output.weight: the embedding is used twice
};
ModelTraits ReadTraits(const gguf::ModelFiles& files);

struct TypeRules {
  const Recipe* recipe = nullptr;
  bool pure = false;         // the recipe's type for everything that it can hold
  bool keep_output = false;  // output.weight stays as it is
  bool has_importance = false;
  std::vector<TypeOverride> overrides;  // the first that matches counts
};

struct TypeChoice {
  gguf::TensorType type;
  std::string note;  // why it is not the type that the rules wanted; empty where it is
};

TypeChoice ChooseType(const TypeRules& rules, const ModelTraits& traits,
                      const gguf::Tensor& tensor);

// The wanted type, or, where its blocks do not divide such rows, the nearest whose blocks do, with
// a note that says so.
TypeChoice FitToRow(gguf::TensorType wanted, uint64_t row_elements);

// Whether the weights of such a tensor are quantised at all: matrices, but for routers, norms and
// small special ones.
bool IsQuantizable(const gguf::Tensor& tensor);

}  // namespace aster::quant
