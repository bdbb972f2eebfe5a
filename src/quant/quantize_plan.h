// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Plans quantisation: the new type of each of a model's tensors, and whether it is possible, before
// any weight is read. quantize_file.h carries it out.
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
  gguf::TensorType type;  // the new type
  uint64_t bytes;         // in the new type
  // One number for each column, for one matrix of the tensor after the other; or empty.
  std::span<const float> importance;
  std::string note;  // information for the user; mostly empty

  bool converts() const { return type != tensor->type; }
};

// Has views into the ModelFiles and the ImportanceMatrix from which it was made.
struct QuantizePlan {
  std::vector<PlannedTensor> tensors;  // in the files' order, which the new file keeps
  gguf::MetadataBuilder metadata;      // of the new file
  uint64_t bytes_before = 0;           // of tensor data
  uint64_t bytes_after = 0;
  std::vector<std::string> warnings;
};

// The error names the tensor or rule that makes it impossible. `importance` may be null.
Result<QuantizePlan> PlanQuantization(const gguf::ModelFiles& files, TypeRules rules,
                                      const ImportanceMatrix* importance);

}  // namespace aster::quant
