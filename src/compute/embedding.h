// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Rows of an embedding as floats, decoded by the processor from its file: the input of a batch of
// tokens on every back end. Must not know where the floats go from there.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "compute/context.h"
#include "gguf/file.h"

namespace aster::compute {

// Where rows are written: row i begins at first + i * stride, and has `columns` elements.
struct DecodedRows {
  float* first;
  size_t columns;
  size_t stride;
};

// Row i is that of tokens[i], repeated `copies` times. Rows are only written, so they may be in
// memory that is slow to read. Uses all threads if there are enough rows to pay for waking them.
Status DecodeEmbedding(Context& context, const gguf::Tensor& embedding,
                       std::span<const int32_t> tokens, size_t copies, const DecodedRows& out);

}  // namespace aster::compute
