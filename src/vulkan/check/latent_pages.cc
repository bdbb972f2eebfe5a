// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/check/latent_pages.h"

#include <algorithm>

#include "vulkan/check/workbench.h"
#include "vulkan/kernels/latent_rows.h"

namespace aster::vulkan {
namespace {

using kernels::kLatentRef;
using kernels::LatentFormat;

constexpr const char* kLatentFormatNames[] = {"f16", "f8", "f4", "f8 in 32s", "f4 with scales"};

uint32_t RoundUpToLanes(uint32_t heads) { return DivideRoundingUp(heads, 16) * 16; }

}  // namespace

const char* NameOf(const LatentFormat& format) {
  return kLatentFormatNames[static_cast<size_t>(format.type)];
}

RowPages::RowPages(uint32_t row_bytes, uint32_t rows_of_page, uint32_t rows, uint64_t seed)
    : row_bytes_(row_bytes),
      rows_of_page_(rows_of_page),
      page_words_(DivideRoundingUp(row_bytes * rows_of_page, 4)),
      page_count_(DivideRoundingUp(rows, rows_of_page)),
      words_(CheckWords(size_t{page_words_} * page_count_, seed)) {}

uint8_t* RowPages::row(uint32_t index) {
  auto* const page =
      reinterpret_cast<uint8_t*>(words_.data() + size_t{index / rows_of_page_} * page_words_);
  return page + index % rows_of_page_ * row_bytes_;
}

std::vector<uint64_t> RowPages::Table(const Buffer& buffer) const {
  std::vector<uint64_t> table;
  for (uint32_t page = 0; page < page_count_; ++page)
    table.push_back(buffer.address() + uint64_t{page} * page_words_ * sizeof(uint32_t));
  return table;
}

RowPages PagesOfRows(const LatentFormat& format, uint32_t rows_of_page, uint32_t rows,
                     uint64_t seed) {
  RowPages pages(RowBytes(format), rows_of_page, rows, seed);
  const auto dim = static_cast<size_t>(format.dim);
  const std::vector<float> values = CheckFloats(rows * dim, CheckValues::kOrdinary, seed);
  for (uint32_t row = 0; row < rows; ++row)
    kernels::EncodeLatentRow(format, values.data() + row * dim, pages.row(row));
  return pages;
}

void MakeRowsEqual(const LatentFormat& format, uint32_t rows, RowPages& pages) {
  const std::vector<float> infinite(static_cast<size_t>(format.dim), kCheckInfinity);
  if (rows > 5) kernels::EncodeLatentRow(format, infinite.data(), pages.row(5));
  for (uint32_t row = 8; row < rows; ++row)
    std::copy_n(pages.row(row % 8), RowBytes(format), pages.row(row));
}

std::vector<float> Decoded(const LatentFormat& format, std::span<const uint8_t* const> rows) {
  std::vector<float> floats(rows.size() * static_cast<size_t>(format.dim));
  kLatentRef.decode(format, rows.data(), rows.size(), floats.data(),
                    static_cast<size_t>(format.dim));
  return floats;
}

std::vector<float> Turned(const float* heads, uint32_t count, uint32_t dim, float factor) {
  const uint32_t lanes = RoundUpToLanes(count);
  std::vector<float> turned(size_t{dim} * lanes);
  for (uint32_t head = 0; head < count; ++head) {
    for (uint32_t d = 0; d < dim; ++d) turned[d * lanes + head] = heads[head * dim + d] * factor;
  }
  return turned;
}

std::vector<float> ReferenceRanks(const LatentFormat& format, std::span<const uint8_t* const> rows,
                                  const float* queries, const float* weights, uint32_t heads) {
  // The reference needs a multiple of the lanes as heads.
  const auto dim = static_cast<uint32_t>(format.dim);
  const uint32_t lanes = RoundUpToLanes(heads);
  const std::vector<float> decoded = Decoded(format, rows);
  const std::vector<float> turned = Turned(queries, heads, dim, 1.0f);
  std::vector<float> padded(lanes), products(rows.size() * lanes), ranks(rows.size());
  std::copy_n(weights, heads, padded.begin());
  kLatentRef.multiply({decoded.data(), dim, 1, turned.data(), lanes, products.data(), lanes,
                       rows.size(), dim, lanes});
  kLatentRef.rank(products.data(), rows.size(), lanes, padded.data(), ranks.data());
  return ranks;
}

}  // namespace aster::vulkan
