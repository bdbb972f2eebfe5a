// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Quantization: what quantising a model will do to each of its tensors, and whether it can be done,
// before any weight is read. quantize_file.h then does it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "gguf/metadata_builder.h"
#include "gguf/model_files.h"
#include "quant/importance.h"
#include "quant/recipe.h"

namespace aster::quant {

struct PlannedTensor {
  const gguf::Tensor* tensor;  // of the ModelFiles that the plan was made for
  size_t file_index;
  gguf::TensorType type;  // that it will have
  uint64_t bytes;         // that it will take
  // For each matrix of the tensor in turn one number a column, or empty.
  std::span<const float> importance;
  std::string note;  // what a person might want to know of it; mostly empty

  bool converts() const { return type != tensor->type; }
};

// Borrows from the ModelFiles and the ImportanceMatrix that it was made of.
struct QuantizePlan {
  std::vector<PlannedTensor> tensors;  // in the files' order, which the new file keeps
  gguf::MetadataBuilder metadata;      // of the new file
  uint64_t bytes_before = 0;           // of tensor data
  uint64_t bytes_after = 0;
  std::vector<std::string> warnings;
};

// An error names the tensor that stands in the way, or the part of the rules that makes no sense.
// `importance` may be null.
Result<QuantizePlan> PlanQuantization(const gguf::ModelFiles& files, TypeRules rules,
                                      const ImportanceMatrix* importance);

}  // namespace aster::quant
