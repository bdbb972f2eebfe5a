// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kv/page_codec.h"

#include <cstring>

namespace aster::kv {

void PlainCodec::ReadRows(const uint8_t* page, uint32_t first_row, uint32_t row_count,
                          uint8_t* rows) const {
  std::memcpy(rows, page + first_row * row_bytes_, row_count * row_bytes_);
}

void PlainCodec::WriteRows(uint8_t* page, uint32_t first_row, uint32_t row_count,
                           const uint8_t* rows) const {
  std::memcpy(page + first_row * row_bytes_, rows, row_count * row_bytes_);
}

}  // namespace aster::kv
