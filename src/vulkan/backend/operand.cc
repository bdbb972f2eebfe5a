// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/backend/operand.h"

#include <fmt/format.h>

#include "vulkan/backend/memory.h"
#include "vulkan/kernels/products.h"

namespace aster::vulkan {

void DeviceOperand::Set(const compute::Tensor& rows) {
  source_ = rows;
  for (Prepared& prepared : prepared_) prepared.batch = 0;
}

Result<PreparedRows> DeviceOperand::In(kernels::ActivationFormat format) {
  Prepared& prepared = prepared_[static_cast<size_t>(format)];
  const size_t bytes = kernels::ActivationBytes(format, source_.rows, source_.columns);
  const auto rows = static_cast<uint32_t>(source_.rows);
  if (source_.rows > kRowGroups)
    return Unimplemented(
        fmt::format("a batch of {} rows; at most {} are computed on a GPU at a time", source_.rows,
                    kRowGroups));
  if (prepared.batch != batch_.number()) {
    TRY(batch_.Grow(prepared.buffer, bytes));
    const Range range = {prepared.buffer->address(), bytes};
    if (!TRY(fusion_.Prepare(source_, format, range))) {
      TRY(RecordPrepare(kernels_, batch_.Using({RangeOf(source_)}, {range}),
                        {.format = format,
                         .rows_in = AddressOf(source_),
                         .stride = static_cast<uint32_t>(source_.stride),
                         .rows = rows,
                         .columns = static_cast<uint32_t>(source_.columns),
                         .prepared = range.begin}));
    }
    prepared.batch = batch_.number();
  }
  return PreparedRows{{prepared.buffer->address(), bytes}, rows};
}

}  // namespace aster::vulkan
