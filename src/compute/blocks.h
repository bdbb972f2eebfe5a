// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Rows in 8-bit blocks, which machines exchange. The processor makes and joins them for every back
// end, as all have the same bytes of prepared rows. Must not know machines.
#pragma once

#include <cstdint>
#include <deque>
#include <span>

#include "base/bytes.h"
#include "base/result.h"
#include "compute/buffer.h"
#include "compute/commands.h"
#include "compute/context.h"

namespace aster::compute {

// Rows that were prepared together.
struct PreparedBlocks {
  kernels::ActivationFormat format;
  const uint8_t* prepared;
  size_t rows;
  size_t columns;
};
// Writes the rows as blocks: kernels::BlockBytes() bytes.
void CutBlocks(Context& context, const PreparedBlocks& rows, uint8_t* blocks);

// The reverse: writes some columns of `rows` prepared rows of `all_columns` columns.
void JoinBlocks(Context& context, Bytes blocks, const BlockColumns& part, size_t rows,
                size_t all_columns, uint8_t* prepared);

// Makes blocks of rows of numbers on the processor. Keeps its memory.
class BlockMaker {
 public:
  // The blocks of rows of `columns` numbers; valid until the next call.
  Result<Bytes> Make(Context& context, kernels::ActivationFormat format,
                     std::span<const float> numbers, size_t columns);

 private:
  Buffer prepared_;
  Buffer blocks_;
};

// Memory for blocks that a batch gives to the host, kept for the next batch. Not for concurrent
// use.
class BlockMemory {
 public:
  // All of it is free again.
  void Clear() { used_ = 0; }
  // Valid until Clear.
  Result<uint8_t*> Take(size_t bytes);

 private:
  std::deque<Buffer> buffers_;
  size_t used_ = 0;
};

}  // namespace aster::compute
