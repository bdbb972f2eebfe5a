// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The tensors that a model of a shape has, by their names in published files. Must not know files,
// slices or how tensors are computed with.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/shape/shape.h"

namespace aster::model {

// The part of a model that a tensor belongs to.
enum class Part : uint8_t { kEmbedding, kLayer, kHead };

struct TensorSpec {
  std::string name;
  std::vector<uint64_t> dims;  // fastest first, as files list them
  Part part = Part::kLayer;
  int32_t layer = -1;      // for Part::kLayer
  bool is_matrix = false;  // multiplied with, so worth quantising; else a norm, a bias or a table
  bool is_fine = false;    // a matrix that chooses or mixes: 16 bits at least
  bool is_table = false;   // of 32-bit integers
  // Stays in its file: rows are read when tokens need them, and take no memory.
  bool is_looked_up = false;
  std::vector<std::string> aliases = {};  // other names in published files
};

// Every tensor of a model of this shape, in the order of a forward pass.
std::vector<TensorSpec> TensorsOf(const Shape& shape);

// Whether the tensor belongs to the MTP block, which comes with the head.
bool IsOfMtpBlock(const TensorSpec& spec);

// Whether the tensor is the embedding and the head in one.
bool IsTiedHead(const Shape& shape, const TensorSpec& spec);

// The name of the tensor of frequency factors.
std::string_view RopeFactorsOf(const Shape& shape);

// The norm between the halves of a layer, which files name in two ways.
std::string_view FeedForwardNormOf(const Shape& shape);

// The embedding that tokens have for every layer, one after the other.
inline constexpr std::string_view kLayerEmbedding = "per_layer_token_embd.weight";
inline constexpr std::string_view kLayerProjection = "per_layer_model_proj.weight";
inline constexpr std::string_view kLayerProjectionNorm = "per_layer_proj_norm.weight";

// A layer's table for n-grams: its rows are read from the file when tokens need them.
inline constexpr std::string_view kNgramTable = "engram_embd.weight";

}  // namespace aster::model
