// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Rows that stand for several tokens: keeps their inputs, and makes each row when its last token
// has come. Must not know who attends to them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compute/commands.h"
#include "compute/context.h"

namespace aster::compute {

// Keeps its scratch memory from batch to batch. Not for concurrent use.
class CpuCompression {
 public:
  explicit CpuCompression(Context& context) : context_(context) {}

  // Writes the spans' inputs and every row that they complete.
  void Run(const Compression& compression);
  // Writes the spans' inputs, and the rows that they complete as numbers, without norm and RoPE.
  void Run(const RowPooling& pooling);

 private:
  // A row to be made: the `index`-th of a sequence.
  struct Row {
    const PageSpan* span;
    uint32_t index;
  };

  // The inputs of rows, and where they are kept.
  struct Inputs {
    std::span<const PageSpan> spans;
    uint32_t layer;
    uint32_t stream;
    uint32_t ratio;
    bool overlaps;
    size_t columns;  // of values, and as many of scores
    Tensor values;
    Tensor scores;
    Tensor places;  // or none
  };

  void WriteInputs() const;
  void ListRows();
  void PoolRow(const Row& row, size_t dim, float* out) const;
  void MakeRow(const Row& row) const;

  Context& context_;
  const Compression* at_ = nullptr;  // during Run
  Inputs inputs_;                    // during Run
  std::vector<Row> rows_;
};

}  // namespace aster::compute
