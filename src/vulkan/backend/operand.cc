// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/backend/operand.h"

#include <fmt/format.h>

#include <cstring>

#include "base/check.h"
#include "compute/blocks.h"
#include "vulkan/backend/memory.h"
#include "vulkan/kernels/products.h"

namespace aster::vulkan {

Status RowPreparer::Prepare(const compute::Tensor& rows, kernels::ActivationFormat format,
                            const Range& prepared) const {
  if (TRY(fusion.Prepare(rows, format, prepared))) return Ok();
  return RecordPrepare(kernels, batch.Using({RangeOf(rows)}, {prepared}),
                       {.format = format,
                        .rows_in = AddressOf(rows),
                        .stride = static_cast<uint32_t>(rows.stride),
                        .rows = static_cast<uint32_t>(rows.rows),
                        .columns = static_cast<uint32_t>(rows.columns),
                        .prepared = prepared.begin});
}

void DeviceOperand::Set(const compute::Tensor& rows) {
  source_ = rows;
  for (Prepared& prepared : prepared_) prepared.batch = 0;
}

Status DeviceOperand::SetInParts(kernels::ActivationFormat format, size_t rows, size_t columns) {
  compute::Tensor none;
  none.rows = rows;
  none.columns = columns;
  Set(none);
  joined_format_ = format;
  return joined_.Grow(kernels::ActivationBytes(format, rows, columns));
}

void DeviceOperand::AddPart(Bytes blocks, const compute::BlockColumns& part,
                            compute::Context& host) {
  compute::JoinBlocks(host, blocks, part, source_.rows, source_.columns, joined_.data());
}

Status DeviceOperand::Fill(kernels::ActivationFormat format, const Buffer& buffer, size_t bytes) {
  if (!source_.empty()) return preparer_.Prepare(source_, format, {buffer.address(), bytes});
  CHECK_NOTE(format == joined_format_, "rows that were joined in another format");
  const Piece piece = TRY(batch_.TakeUpload(bytes));
  std::memcpy(piece.data(), joined_.data(), bytes);
  batch_.Send(piece, buffer, 0, bytes);
  return Ok();
}

Result<PreparedRows> DeviceOperand::In(kernels::ActivationFormat format) {
  Prepared& prepared = prepared_[static_cast<size_t>(format)];
  const size_t bytes = kernels::ActivationBytes(format, source_.rows, source_.columns);
  if (source_.rows > kRowGroups)
    return Unimplemented(
        fmt::format("a batch of {} rows; at most {} are computed on a GPU at a time", source_.rows,
                    kRowGroups));
  if (prepared.batch != batch_.number()) {
    TRY(batch_.Grow(prepared.buffer, bytes));
    TRY(Fill(format, *prepared.buffer, bytes));
    prepared.batch = batch_.number();
  }
  return PreparedRows{{prepared.buffer->address(), bytes}, static_cast<uint32_t>(source_.rows)};
}

}  // namespace aster::vulkan
