// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Whether Asterism can run a model, and if not every reason why: one place that knows the
// architectures, the tensors they need and the types that can be computed with.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gguf/model_files.h"
#include "model/parts/slice.h"
#include "model/shape/shape.h"

namespace aster::model {

// Every number of the model, as its metadata says and, where only its tensors say it, these.
Result<Shape> ShapeOf(const gguf::ModelFiles& files);

// Whether there are kernels for a matrix of this type, or for a wider one that holds the same
// weights.
bool IsComputable(gguf::TensorType type);

// The tensor, under whichever of its names; null where it is missing.
const gguf::Tensor* FindTensor(const gguf::ModelFiles& files, const TensorSpec& spec);

// Of tensors that are needed: which are missing, or not as they are needed; sentences.
std::vector<std::string> ObstaclesOf(const gguf::ModelFiles& files,
                                     std::span<const TensorSpec> needed);

struct Support {
  std::optional<Shape> shape;          // where the metadata makes sense
  std::vector<std::string> obstacles;  // sentences; none: it can run

  bool ok() const { return obstacles.empty(); }
};

// With a slice: whether that much of the model can run. Files may lack what the slice does not
// need.
Support CheckSupport(const gguf::ModelFiles& files, const std::optional<Slice>& slice = {});

}  // namespace aster::model
