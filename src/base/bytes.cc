// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/bytes.h"

#include <fmt/format.h>

namespace aster {

Result<Bytes> ByteReader::ReadBytes(uint64_t size) {
  if (size > left()) return Truncated(size);
  const Bytes bytes = bytes_.subspan(offset_, size);
  offset_ += size;
  return bytes;
}

Status ByteReader::Skip(uint64_t size) {
  if (size > left()) return Truncated(size);
  offset_ += size;
  return Ok();
}

Error ByteReader::Truncated(uint64_t wanted_count, size_t element_bytes) const {
  if (element_bytes == 1) {
    return DataLoss(fmt::format("truncated: {} bytes wanted at offset {}, {} left", wanted_count,
                                offset_, left()));
  }
  return DataLoss(
      fmt::format("truncated: {} elements of at least {} bytes wanted at offset {}, {} bytes left",
                  wanted_count, element_bytes, offset_, left()));
}

}  // namespace aster
