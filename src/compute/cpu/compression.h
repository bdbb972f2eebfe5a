// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Rows that stand for several tokens: keeps what they are made of, and makes them when their last
// token has come. Must not know who attends to them.
#pragma once

#include <cstdint>
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

 private:
  // A row to be made: the `index`-th of a sequence.
  struct Row {
    const PageSpan* span;
    uint32_t index;
  };

  void WriteInputs();
  void MakeRow(const Row& row) const;
  size_t columns() const;  // of values, and as many of scores

  Context& context_;
  const Compression* at_ = nullptr;  // while it runs
  std::vector<Row> rows_;
};

}  // namespace aster::compute
