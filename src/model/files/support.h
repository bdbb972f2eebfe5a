// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Whether Asterism can run a model, and if not, every reason. The one place that knows the
// architectures, the tensors they need and the supported tensor types.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gguf/model_files.h"
#include "model/parts/slice.h"
#include "model/shape/shape.h"
#include "model/shape/tensors.h"

namespace aster::model {

// Every number of the model, from its metadata, and from its tensors if only they say it.
Result<Shape> ShapeOf(const gguf::ModelFiles& files);

// Whether there are kernels for a matrix of this type, or for a wider type that can hold the same
// weights.
bool IsComputable(gguf::TensorType type);

// The tensor, under any of its names; null if it is missing.
const gguf::Tensor* FindTensor(const gguf::ModelFiles& files, const TensorSpec& spec);

// Which of the needed tensors are missing or not supported, as sentences.
std::vector<std::string> ObstaclesOf(const gguf::ModelFiles& files,
                                     std::span<const TensorSpec> needed);

struct Support {
  std::optional<Shape> shape;          // if the metadata is valid
  std::vector<std::string> obstacles;  // sentences; none: it can run

  bool ok() const { return obstacles.empty(); }
};

// With a slice: whether that part of the model can run. Files may lack other tensors.
Support CheckSupport(const gguf::ModelFiles& files, const std::optional<Slice>& slice = {});

}  // namespace aster::model
