// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The tensors of a model's files, added up, for users who look at a file before they run it. Knows
// the names of tensors, not any one architecture.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/model_files.h"

namespace aster::model {

// Tensors added up.
struct Totals {
  uint64_t tensor_count = 0;
  uint64_t parameter_count = 0;
  uint64_t bytes = 0;
  uint64_t unknown_count = 0;  // tensors of a type whose size is unknown; not in bytes

  void Add(const gguf::Tensor& tensor);
  double BitsPerParameter() const;
};

// Totals, and what each type contributes.
struct Mix {
  Totals all;
  std::map<gguf::TensorType, Totals> by_type;

  void Add(const gguf::Tensor& tensor);
};

struct Description {
  std::string architecture;  // as the file names it; empty if it does not
  std::optional<uint64_t> layer_count;
  std::optional<uint64_t> context_length;
  Mix whole;
  Mix embedding;                   // the token embedding
  std::map<uint32_t, Mix> layers;  // by layer number; only layers that the file has
  Mix head;                        // the output head and its norms
  Mix other;                       // everything else
};

Description Describe(const gguf::ModelFiles& files);

// The layer in a tensor's name "blk.<layer>.…".
std::optional<uint32_t> LayerOf(std::string_view tensor_name);

}  // namespace aster::model
