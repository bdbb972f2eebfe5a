// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "compute/matrix.h"

#include <fmt/format.h>

#include "kernels/pack.h"

namespace aster::compute {

size_t Matrix::panel_count() const { return kernels::PanelCount(rows_); }

Result<Matrix> Matrix::Pack(const gguf::Tensor& tensor, size_t index, Context& context) {
  const auto type = kernels::WeightTypeOf(tensor.type);
  if (!type) {
    return Unimplemented(
        fmt::format("{} is {}, which cannot be computed with; convert it with aster quantize",
                    tensor.name, gguf::TensorTypeName(tensor.type)));
  }
  CHECK(index < tensor.dims[2] && tensor.dims[3] == 1);
  Matrix matrix;
  matrix.type_ = *type;
  matrix.rows_ = tensor.dims[1];
  matrix.columns_ = tensor.dims[0];
  if (matrix.columns_ % kernels::ColumnMultiple(*type) != 0) {
    return DataLoss(fmt::format("{} has rows of {}, not a multiple of {}", tensor.name,
                                matrix.columns_, kernels::ColumnMultiple(*type)));
  }
  const size_t panel_bytes = kernels::PanelBytes(*type, matrix.columns_);
  matrix.packed_ = TRY(Buffer::Allocate(matrix.panel_count() * panel_bytes).In(tensor.name));

  const size_t row_bytes = *gguf::RowBytes(tensor.type, matrix.columns_);
  const kernels::PackSource source{.data = tensor.data.data() + index * matrix.rows_ * row_bytes,
                                   .row_stride = row_bytes,
                                   .rows = matrix.rows_,
                                   .columns = matrix.columns_};
  uint8_t* const packed = matrix.packed_.data();
  context.pool.ParallelFor(matrix.panel_count(), [&](size_t begin, size_t end, size_t) {
    kernels::PackPanels(*type, source, begin, end, packed);
  });
  return matrix;
}

}  // namespace aster::compute
