// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "compute/blocks.h"

#include "base/check.h"
#include "kernels/activation_blocks.h"
#include "kernels/activations.h"

namespace aster::compute {

void CutBlocks(Context& context, const PreparedBlocks& rows, uint8_t* blocks) {
  context.pool.ParallelFor(rows.rows, [&](size_t begin, size_t end, size_t) {
    kernels::WriteBlocks(rows.format, rows.prepared, rows.rows, rows.columns, begin, end, blocks);
  });
}

void JoinBlocks(Context& context, Bytes blocks, const BlockColumns& part, size_t rows,
                size_t all_columns, uint8_t* prepared) {
  const kernels::BlockPlace place{
      .rows = rows, .all_columns = all_columns, .begin = part.begin, .columns = part.count};
  CHECK(blocks.size() == kernels::BlockBytes(part.format, rows, part.count));
  context.pool.ParallelFor(rows, [&](size_t begin, size_t end, size_t) {
    kernels::ReadBlocks(part.format, blocks.data(), place, begin, end, prepared);
  });
}

Result<Bytes> BlockMaker::Make(Context& context, kernels::ActivationFormat format,
                               std::span<const float> numbers, size_t columns) {
  const size_t rows = numbers.size() / columns;
  const kernels::ActivationSource source{
      .data = numbers.data(), .row_stride = columns, .rows = rows, .columns = columns};
  TRY(prepared_.Grow(kernels::ActivationBytes(format, rows, columns)));
  context.pool.ParallelFor(rows, [&](size_t begin, size_t end, size_t) {
    kernels::PrepareActivations(context.isa, format, source, begin, end, prepared_.data());
  });
  const size_t bytes = kernels::BlockBytes(format, rows, columns);
  TRY(blocks_.Grow(bytes));
  CutBlocks(context, {format, prepared_.data(), rows, columns}, blocks_.data());
  return Bytes(blocks_.data(), bytes);
}

Result<uint8_t*> BlockMemory::Take(size_t bytes) {
  if (used_ == buffers_.size()) buffers_.emplace_back();
  Buffer& buffer = buffers_[used_];
  TRY(buffer.Grow(bytes));
  ++used_;
  return buffer.data();
}

}  // namespace aster::compute
