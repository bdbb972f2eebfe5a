// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/weights/tensor_loader.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "model/files/description.h"
#include "model/files/support.h"
#include "model/weights/weight_rows.h"
#include "quant/dequantize.h"

namespace aster::model {

void TensorLoader::FindTensors(const Slice& slice) {
  part_ = slice.part;
  for (const TensorSpec& spec : TensorsOf(shape_)) {
    if (!slice.Needs(shape_, spec)) continue;
    const gguf::Tensor* const tensor = FindTensor(files_, spec);
    tensors_[spec.name] = tensor;
    // Embeddings stay in their file: rows are read when tokens need them.
    const bool is_packed = (spec.part != Part::kEmbedding && !spec.is_looked_up) ||
                           spec.name == RopeFactorsOf(shape_) ||
                           (slice.head && IsTiedHead(shape_, spec));
    if (is_packed) total_bytes_ += BytesOfPart(part_, shape_, spec, tensor->data.size());
    // Every layer loads its rows of the projection, and the norm of all.
    const uint64_t bytes = tensor->data.size() * (slice.layer_end - slice.layer_begin);
    if (spec.name == kLayerProjection) total_bytes_ += bytes / shape_.layer_count;
    if (spec.name == kLayerProjectionNorm) total_bytes_ += bytes;
  }
}

void TensorLoader::FindTensors(std::span<const TensorSpec> specs) {
  for (const TensorSpec& spec : specs) tensors_[spec.name] = FindTensor(files_, spec);
}

std::string TensorLoader::Name(std::string_view suffix) const {
  return fmt::format("{}{}", prefix_, suffix);
}

Result<compute::Matrix> TensorLoader::Matrix(const std::string& name) {
  return MatrixWithin(name, name, 0, Find(name).dims[1]);
}

Result<compute::Matrix> TensorLoader::MatrixWithin(const std::string& tensor,
                                                   const std::string& name, uint64_t first,
                                                   uint64_t count) {
  const gguf::Tensor own = RowsWithin(tensor, name, first, count);
  compute::Matrix matrix = TRY(compute::Matrix::Pack(own, 0, backend_));
  Done(own);
  return matrix;
}

gguf::Tensor TensorLoader::RowsWithin(const std::string& tensor, const std::string& name,
                                      uint64_t first, uint64_t count) const {
  gguf::Tensor own = Find(tensor);
  const uint64_t row_bytes = own.data.size() / own.dims[1];
  if (const auto rows = DividedRows(part_, shape_, name)) {
    first += rows->begin;
    count = rows->count();
  }
  own.data = own.data.subspan(first * row_bytes, count * row_bytes);
  own.dims[1] = count;
  return own;
}

Result<compute::Array> TensorLoader::Floats(const std::string& name) {
  const std::vector<float> values = TRY(HostFloats(name));
  const auto own = DividedRows(part_, shape_, name);
  return compute::Array::Of(
      backend_, own ? std::span(values).subspan(own->begin, own->count()) : std::span(values));
}

Result<compute::Array> TensorLoader::FloatsOfExperts(const std::string& name) {
  const std::vector<float> values = TRY(HostFloats(name));
  const auto rows = DividedRows(part_, shape_, name);
  if (!rows) return compute::Array::Of(backend_, values);
  const size_t width = values.size() / shape_.experts.count;
  std::vector<float> own;
  for (size_t first = 0; first < values.size(); first += width) {
    const auto expert = std::span(values).subspan(first + rows->begin, rows->count());
    own.insert(own.end(), expert.begin(), expert.end());
  }
  return compute::Array::Of(backend_, own);
}

Result<std::vector<float>> TensorLoader::HostFloats(const std::string& name) {
  const gguf::Tensor& tensor = Find(name);
  std::vector<float> values(tensor.element_count);
  TRY(quant::Dequantize(tensor.type, tensor.data, values).In(name));
  for (const float value : values) {
    if (std::isfinite(value)) continue;
    return DataLoss(fmt::format(
        "{} holds {}, which is no number to compute with; the file is damaged, get it again", name,
        value));
  }
  Done(tensor);
  return values;
}

Result<compute::Matrix> TensorLoader::FineMatrix(const std::string& name) {
  const gguf::Tensor& tensor = Find(name);
  if (tensor.type == gguf::TensorType::kF32 || tensor.type == gguf::TensorType::kF16)
    return Matrix(name);
  return PackFloats(tensor, TRY(HostFloats(name)), backend_);
}

Result<std::vector<compute::Matrix>> TensorLoader::HeadMatrices(const std::string& name) {
  const gguf::Tensor& tensor = Find(name);
  const uint64_t heads = tensor.dims[2];
  const PartRange own =
      DividedRows(part_, shape_, name).value_or(PartRange{0, static_cast<uint32_t>(heads)});
  auto matrices = TRY(compute::Matrix::PackMatrices(tensor, own.begin, own.count(), backend_));
  Release(tensor);
  Count(tensor.data.size() / heads * own.count());
  return matrices;
}

PartRange TensorLoader::RowsOfExperts() const {
  return RangesOf(part_.owns_experts ? GroupPart() : part_, shape_).experts;
}

PartRange TensorLoader::RowsOfDown() const {
  return RangesOf(part_.owns_experts ? GroupPart() : part_, shape_).embedding;
}

Status TensorLoader::Experts(std::initializer_list<ExpertRows> all,
                             std::vector<compute::ExpertWeights>& experts) {
  const uint32_t count = shape_.experts.count;
  experts.resize(count);
  std::vector<uint16_t> ids = ExpertsOf(part_, shape_, layer_);
  if (!part_.owns_experts) {
    ids.resize(count);
    std::iota(ids.begin(), ids.end(), uint16_t{0});
  }
  for (const auto& [name, rows, member] : all) {
    const gguf::Tensor& tensor = Find(Name(name));
    const uint64_t bytes = tensor.data.size() / count;
    // Consecutive experts share one piece of memory.
    for (size_t first = 0, end = 0; first < ids.size(); first = end) {
      while (end < ids.size() && ids[end] - ids[first] == static_cast<int>(end - first)) ++end;
      gguf::Tensor some = tensor;
      some.dims[2] = end - first;
      some.element_count = tensor.element_count / count * some.dims[2];
      some.data = tensor.data.subspan(ids[first] * bytes, some.dims[2] * bytes);
      auto matrices = TRY(compute::Matrix::PackRows(some, rows.begin, rows.count(), backend_));
      for (size_t i = first; i < end; ++i) experts[ids[i]].*member = std::move(matrices[i - first]);
    }
    Release(tensor);
    Count(bytes / tensor.dims[1] * rows.count() * ids.size());
  }
  return Ok();
}

void TensorLoader::Done(const gguf::Tensor& tensor) {
  Release(tensor);
  Count(tensor.data.size());
}

void TensorLoader::Done(const gguf::Tensor& tensor, uint64_t rows) {
  Release(tensor);
  Count(tensor.data.size() / tensor.dims[1] * rows);
}

void TensorLoader::Release(const gguf::Tensor& tensor) const {
  for (const gguf::File& file : files_.files()) {
    const Bytes bytes = file.mapped().bytes();
    if (tensor.data.data() >= bytes.data() && tensor.data.data() < bytes.data() + bytes.size()) {
      file.mapped().DontNeed(static_cast<size_t>(tensor.data.data() - bytes.data()),
                             tensor.data.size());
    }
  }
}

void TensorLoader::Count(uint64_t bytes) {
  done_bytes_ += bytes;
  if (progress_) progress_(done_bytes_, total_bytes_);
}

}  // namespace aster::model
