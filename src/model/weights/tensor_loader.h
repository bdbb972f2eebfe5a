// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Reads tensors of a slice's layers, packed for a back end or as floats. For a group's part it
// reads only the part's rows, heads or experts. Must not know which tensor is which weight.
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
#include "model/shape/tensors.h"
#include "model/weights/weights.h"

namespace aster::model {

// Used for one slice. Not for concurrent use.
class TensorLoader {
 public:
  // The arguments outlive it.
  TensorLoader(const gguf::ModelFiles& files, const Shape& shape, compute::Backend& backend,
               const LoadProgress& progress)
      : files_(files), shape_(shape), backend_(backend), progress_(progress) {}

 protected:
  // One matrix of every expert: some rows of a layer's tensor.
  struct ExpertRows {
    std::string_view tensor;
    PartRange rows;
    compute::Matrix compute::ExpertWeights::* member;
  };

  // Finds all tensors that the slice needs, and sets its part.
  void FindTensors(const Slice& slice);
  void FindTensors(std::span<const TensorSpec> specs);
  const gguf::Tensor& Find(const std::string& name) const { return *tensors_.at(name); }
  std::string Name(std::string_view suffix) const;

  Result<compute::Matrix> Matrix(const std::string& name);
  // Rows [first, first + count) of a tensor, as a matrix with this name.
  Result<compute::Matrix> MatrixWithin(const std::string& tensor, const std::string& name,
                                       uint64_t first, uint64_t count);
  // A matrix that chooses or mixes: its products are of floats, whatever type it has.
  Result<compute::Matrix> FineMatrix(const std::string& name);
  // The matrices of a tensor that holds one for each head.
  Result<std::vector<compute::Matrix>> HeadMatrices(const std::string& name);
  // The matrices of the part's experts; the others stay empty and are never read.
  Status Experts(std::initializer_list<ExpertRows> all,
                 std::vector<compute::ExpertWeights>& experts);
  // The rows of an expert's gate and up, and of its down, that the part has.
  PartRange RowsOfExperts() const;
  PartRange RowsOfDown() const;

  // Some rows of a matrix; of these, only the part's rows if the matrix is divided. They are
  // consecutive; the others are never read.
  gguf::Tensor RowsWithin(const std::string& tensor, const std::string& name, uint64_t first,
                          uint64_t count) const;

  Result<compute::Array> Floats(const std::string& name);
  // For a group's part: its numbers of every expert.
  Result<compute::Array> FloatsOfExperts(const std::string& name);
  Result<std::vector<float>> HostFloats(const std::string& name);

  // Frees the pages of a tensor that has been read, so that a file and its packed copy are never
  // both in memory.
  void Done(const gguf::Tensor& tensor);
  // The same for some of a matrix's rows.
  void Done(const gguf::Tensor& tensor, uint64_t rows);

  const gguf::ModelFiles& files_;
  Shape shape_;  // of the model, then of its MTP block
  compute::Backend& backend_;
  std::string prefix_;  // of the layer being loaded
  uint32_t layer_ = 0;  // the layer being loaded, except for the MTP block
  GroupPart part_;      // of each layer; the whole for the MTP block

 private:
  void Release(const gguf::Tensor& tensor) const;
  void Count(uint64_t bytes);

  const LoadProgress& progress_;
  std::map<std::string, const gguf::Tensor*> tensors_;  // of the slice, by their first names
  uint64_t done_bytes_ = 0;
  uint64_t total_bytes_ = 0;
};

}  // namespace aster::model
