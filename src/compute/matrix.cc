// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "compute/matrix.h"

#include <fmt/format.h>

#include <utility>

#include "kernels/pack.h"
#include "kernels/packed.h"

namespace aster::compute {
namespace {

// The source from panel `panel` on.
kernels::PackSource From(const kernels::PackSource& source, size_t panel) {
  const size_t first = panel * kernels::kPanelRows;
  kernels::PackSource rest = source;
  rest.data = static_cast<const uint8_t*>(source.data) + first * source.row_stride;
  rest.rows -= first;
  return rest;
}

}  // namespace

size_t Matrix::panel_count() const { return kernels::PanelCount(rows_); }

Result<Matrix> Matrix::Pack(const gguf::Tensor& tensor, size_t index, Backend& backend) {
  std::vector<Matrix> one = TRY(PackSome(tensor, {index, 1, 0, tensor.dims[1]}, backend));
  return std::move(one[0]);
}

Result<std::vector<Matrix>> Matrix::PackRows(const gguf::Tensor& tensor, size_t first, size_t count,
                                             Backend& backend) {
  return PackSome(tensor, {0, tensor.dims[2], first, count}, backend);
}

Result<std::vector<Matrix>> Matrix::PackSome(const gguf::Tensor& tensor, const Choice& choice,
                                             Backend& backend) {
  const auto type = kernels::WeightTypeOf(tensor.type);
  if (!type) {
    return Unimplemented(
        fmt::format("{} is {}, which cannot be computed with; convert it with aster quantize",
                    tensor.name, gguf::TensorTypeName(tensor.type)));
  }
  const auto& [first, count, first_row, row_count] = choice;
  CHECK(count > 0 && first + count <= tensor.dims[2] && tensor.dims[3] == 1);
  CHECK(first_row + row_count <= tensor.dims[1]);
  Matrix like;
  like.type_ = *type;
  like.rows_ = row_count;
  like.columns_ = tensor.dims[0];
  if (like.columns_ % kernels::ColumnMultiple(*type) != 0) {
    return DataLoss(fmt::format("{} has rows of {}, not a multiple of {}", tensor.name,
                                like.columns_, kernels::ColumnMultiple(*type)));
  }
  const size_t panel_bytes = kernels::PanelBytes(*type, like.columns_);
  like.bytes_ = like.panel_count() * panel_bytes;
  constexpr size_t kAlignment = kernels::kPackedAlignment;
  const size_t stride = (like.bytes_ + kAlignment - 1) / kAlignment * kAlignment;
  std::shared_ptr<Memory> memory =
      TRY(backend.Allocate((count - 1) * stride + like.bytes_).In(tensor.name));

  const size_t row_bytes = *gguf::RowBytes(tensor.type, like.columns_);
  std::vector<Matrix> matrices(count, like);
  for (size_t i = 0; i < count; ++i) {
    const kernels::PackSource source{
        .data = tensor.data.data() + ((first + i) * tensor.dims[1] + first_row) * row_bytes,
        .row_stride = row_bytes,
        .rows = like.rows_,
        .columns = like.columns_};
    const auto pack = [&](size_t begin, size_t end, uint8_t* out) {
      kernels::PackPanels(tensor.type, From(source, begin), 0, end - begin, out);
    };
    TRY(backend.Write(*memory, i * stride, like.panel_count(), panel_bytes, pack).In(tensor.name));
    matrices[i].offset_ = i * stride;
    matrices[i].memory_ = memory;
  }
  return matrices;
}

}  // namespace aster::compute
