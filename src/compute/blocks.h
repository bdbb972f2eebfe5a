// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Rows in 8-bit blocks, as machines exchange them, made and joined by the processor for every back
// end: prepared rows are the same bytes on all of them. Must not know machines.
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

// All of these rows were prepared together.
struct PreparedBlocks {
  kernels::ActivationFormat format;
  const uint8_t* prepared;
  size_t rows;
  size_t columns;
};
// As blocks: kernels::BlockBytes() of them.
void CutBlocks(Context& context, const PreparedBlocks& rows, uint8_t* blocks);

// The reverse: `rows` prepared rows of `all_columns` columns get some of these.
void JoinBlocks(Context& context, Bytes blocks, const BlockColumns& part, size_t rows,
                size_t all_columns, uint8_t* prepared);

// Rows of numbers that become blocks on the processor. Keeps its memory.
class BlockMaker {
 public:
  // Of rows of `columns` numbers; valid until the next call.
  Result<Bytes> Make(Context& context, kernels::ActivationFormat format,
                     std::span<const float> numbers, size_t columns);

 private:
  Buffer prepared_;
  Buffer blocks_;
};

// Memory for the blocks that a batch gives to the host, kept for the next. Not for concurrent use.
class BlockMemory {
 public:
  // Nothing of it is used any more.
  void Clear() { used_ = 0; }
  // Good until Clear.
  Result<uint8_t*> Take(size_t bytes);

 private:
  std::deque<Buffer> buffers_;
  size_t used_ = 0;
};

}  // namespace aster::compute
