// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// For checks of latent attention: rows in pages, and the reference's results. Must not know which
// kernels are checked.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/latent.h"
#include "vulkan/driver/buffer.h"

namespace aster::vulkan {

const char* NameOf(const kernels::LatentFormat& format);

// Rows in pages, one page after the other, with arbitrary bytes around them.
class RowPages {
 public:
  RowPages(uint32_t row_bytes, uint32_t rows_of_page, uint32_t rows, uint64_t seed);

  uint8_t* row(uint32_t index);
  const std::vector<uint32_t>& words() const { return words_; }
  // The addresses of the pages in this buffer.
  std::vector<uint64_t> Table(const Buffer& buffer) const;

 private:
  const uint32_t row_bytes_;
  const uint32_t rows_of_page_;
  const uint32_t page_words_;
  const uint32_t page_count_;
  std::vector<uint32_t> words_;
};

// Ordinary rows.
RowPages PagesOfRows(const kernels::LatentFormat& format, uint32_t rows_of_page, uint32_t rows,
                     uint64_t seed);

// Makes only eight different rows, one of them of NaN, so that the last chosen one has equal ones.
void MakeRowsEqual(const kernels::LatentFormat& format, uint32_t rows, RowPages& pages);

std::vector<float> Decoded(const kernels::LatentFormat& format,
                           std::span<const uint8_t* const> rows);

// Heads [heads][dim] as columns, padded to a multiple of sixteen as the reference needs them.
std::vector<float> Turned(const float* heads, uint32_t count, uint32_t dim, float factor);

// The ranks of these rows for a token's queries [heads][dim] and weights [heads].
std::vector<float> ReferenceRanks(const kernels::LatentFormat& format,
                                  std::span<const uint8_t* const> rows, const float* queries,
                                  const float* weights, uint32_t heads);

}  // namespace aster::vulkan
