// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Reads tensors of a slice's layers, packed for a back end or as numbers: of what a group divides
// the part's own rows, heads or experts only. Must not know which tensor is which weight.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compute/backend.h"
#include "compute/matrix.h"
#include "gguf/model_files.h"
#include "model/parts/group_part.h"
#include "model/weights/weights.h"

namespace aster::model {

// Used for one slice. Not for concurrent use.
class TensorLoader {
 public:
  // All of them outlive it.
  TensorLoader(const gguf::ModelFiles& files, const Shape& shape, compute::Backend& backend,
               const LoadProgress& progress)
      : files_(files), shape_(shape), backend_(backend), progress_(progress) {}

 protected:
  // A matrix of every expert: rows of a layer's tensor.
  struct ExpertRows {
    std::string_view tensor;
    PartRange rows;
    compute::Matrix compute::ExpertWeights::* member;
  };

  // All that the slice needs, and its part.
  void FindTensors(const Slice& slice);
  void FindTensors(std::span<const TensorSpec> specs);
  const gguf::Tensor& Find(const std::string& name) const { return *tensors_.at(name); }
  std::string Name(std::string_view suffix) const;

  Result<compute::Matrix> Matrix(const std::string& name);
  // Rows [first, first + count) of a tensor, which are the matrix of that name.
  Result<compute::Matrix> MatrixWithin(const std::string& tensor, const std::string& name,
                                       uint64_t first, uint64_t count);
  // A matrix that chooses or mixes: its products are of floats, whatever type it has.
  Result<compute::Matrix> FineMatrix(const std::string& name);
  // Of a tensor that holds a matrix for each head.
  Result<std::vector<compute::Matrix>> HeadMatrices(const std::string& name);
  // Of those that the part has; the others stay empty, and are never read.
  Status Experts(std::initializer_list<ExpertRows> all,
                 std::vector<compute::ExpertWeights>& experts);
  // Rows of an expert's gate and up, and of its down, that the part has.
  PartRange RowsOfExperts() const;
  PartRange RowsOfDown() const;

  // Of a matrix that is divided only the part's rows, which stand together: the others are never
  // read.
  gguf::Tensor RowsWithin(const std::string& tensor, const std::string& name, uint64_t first,
                          uint64_t count) const;

  Result<compute::Array> Floats(const std::string& name);
  // Of a group's part the same numbers of every expert.
  Result<compute::Array> FloatsOfExperts(const std::string& name);
  Result<std::vector<float>> HostFloats(const std::string& name);

  // The tensor has been read: its pages can go, so that a file and its packed copy never stand in
  // memory together.
  void Done(const gguf::Tensor& tensor);
  // The same of some of a matrix's rows.
  void Done(const gguf::Tensor& tensor, uint64_t rows);

  const gguf::ModelFiles& files_;
  Shape shape_;  // of the model, then of its MTP block
  compute::Backend& backend_;
  std::string prefix_;  // of the layer being loaded
  uint32_t layer_ = 0;  // that is being loaded, but an MTP block
  GroupPart part_;      // of each layer, and whole of an MTP block

 private:
  void Release(const gguf::Tensor& tensor) const;
  void Count(uint64_t bytes);

  const LoadProgress& progress_;
  std::map<std::string, const gguf::Tensor*> tensors_;  // of the slice, by their first names
  uint64_t done_bytes_ = 0;
  uint64_t total_bytes_ = 0;
};

}  // namespace aster::model
