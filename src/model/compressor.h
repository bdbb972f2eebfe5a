// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Rows that stand for several tokens: remembers what they are made of, and makes them when their
// last token has come. Must not know who attends to them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "compute/buffer.h"
#include "compute/context.h"
#include "kernels/latent.h"
#include "model/attend.h"
#include "model/weights.h"

namespace aster::model {

// What is compressed into which rows.
struct Compression {
  uint32_t layer;
  uint32_t ratio;
  uint32_t input_stream;
  uint32_t row_stream;
  kernels::LatentFormat format;
  bool is_index;  // the rows of an index are spread by a Hadamard transform
  const CompressorWeights* weights;
  const float* values;  // [rows, columns]
  const float* scores;  // [rows, columns]
};

// Keeps its scratch memory from batch to batch. Not for concurrent use.
class Compressor {
 public:
  // `frequencies` [pairs] are those of layers with compressed rows, and outlive it.
  Compressor(const Shape& shape, std::span<const double> frequencies, compute::Context& context)
      : shape_(shape), frequencies_(frequencies), context_(context) {}

  // Writes the spans' inputs and every row that they complete.
  void Run(const Compression& compression, std::span<const AttendSpan> spans);

 private:
  // A row to be made: the `index`-th of a sequence.
  struct Row {
    const AttendSpan* span;
    uint32_t index;
  };

  void WriteInputs(const Compression& compression, std::span<const AttendSpan> spans);
  void MakeRow(const Compression& compression, const Row& row) const;

  const Shape shape_;
  const std::span<const double> frequencies_;
  compute::Context& context_;
  std::vector<Row> rows_;
};

}  // namespace aster::model
