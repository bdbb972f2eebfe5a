// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Chooses the type of each tensor of a model that is quantised: one type for all, or one of the
// usual mixes, which spend more bits where they help most. Knows only names and shapes of tensors;
// must not read their data.
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
  kNone,  // one type for all, except the output head
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
  gguf::TensorType type;  // of tensors without a reason for another one
  Mix mix;
  uint32_t file_type;  // general.file_type of such a file
  std::string_view summary;
};

// From many bits to few.
std::span<const Recipe> AllRecipes();
// Upper or lower case; null if there is no such name.
const Recipe* FindRecipe(std::string_view name);
// The same, but an error that lists the names.
Result<const Recipe*> RecipeNamed(std::string_view name);

// The properties of a model that mixes depend on.
struct ModelTraits {
  std::string architecture;
  uint32_t layer_count = 0;   // 0 if the file does not have it
  uint32_t query_groups = 1;  // query heads per key-value head
  uint32_t expert_count = 0;
  bool tied_head = false;  // there is no output.weight: the embedding is also the head
};
ModelTraits ReadTraits(const gguf::ModelFiles& files);

struct TypeRules {
  const Recipe* recipe = nullptr;
  bool pure = false;         // the recipe's type for every tensor that can have it
  bool keep_output = false;  // output.weight keeps its type
  bool has_importance = false;
  std::vector<TypeOverride> overrides;  // the first match counts
};

struct TypeChoice {
  gguf::TensorType type;
  std::string note;  // why it is not the wanted type; empty if it is
};

TypeChoice ChooseType(const TypeRules& rules, const ModelTraits& traits,
                      const gguf::Tensor& tensor);

// The wanted type; or, if its blocks do not divide such rows, the nearest type whose blocks do,
// with a note that says so.
TypeChoice FitToRow(gguf::TensorType wanted, uint64_t row_elements);

// Whether such a tensor is quantised at all: matrices, except routers and small special ones.
bool IsQuantizable(const gguf::Tensor& tensor);

}  // namespace aster::quant
