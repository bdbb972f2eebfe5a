// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "compute/embedding.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "quant/dequantize.h"

namespace aster::compute {
namespace {

// Rows that one thread decodes in about the time that it takes to wake the others.
constexpr size_t kRowsOfThread = 16;

}  // namespace

Status DecodeEmbedding(Context& context, const gguf::Tensor& embedding,
                       std::span<const int32_t> tokens, size_t copies, const DecodedRows& out) {
  if (tokens.empty()) return Ok();
  const size_t width = out.columns / copies;
  const auto row_bytes = gguf::RowBytes(embedding.type, width);
  CHECK(row_bytes);
  const auto decode = [&](int32_t token, float* row) {
    return quant::Dequantize(
        embedding.type, embedding.data.subspan(static_cast<size_t>(token) * *row_bytes, *row_bytes),
        {row, width});
  };
  // Any error concerns all rows alike, so it shows with the first one.
  TRY(decode(tokens[0], out.first));
  context.pool.ParallelForDynamic(
      tokens.size(), kRowsOfThread, [&](size_t begin, size_t end, size_t) {
        std::vector<float> decoded(copies > 1 ? width : 0);
        for (size_t i = begin; i < end; ++i) {
          float* const row = out.first + i * out.stride;
          CHECK(decode(tokens[i], copies > 1 ? decoded.data() : row).ok());
          for (size_t copy = 0; copy < copies && copies > 1; ++copy)
            std::ranges::copy(decoded, row + copy * width);
        }
      });
  return Ok();
}

}  // namespace aster::compute
