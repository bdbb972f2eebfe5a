// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kv/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace aster::kv {
namespace {

// Expresses whole rows in as many columns as `other` has.
Columns InColumnsOf(const Columns& columns, const Columns& other) {
  return columns.is_whole() ? Columns{0, other.count, other.count} : columns;
}

}  // namespace

std::string Describe(const Columns& columns) {
  if (columns.is_whole()) return "whole rows";
  return fmt::format("columns {} to {} of {}", columns.begin, columns.end - 1, columns.count);
}

size_t RowBytesOf(const Columns& wanted, const Columns& has, size_t has_bytes) {
  const Columns all_wanted = InColumnsOf(wanted, has);
  const Columns all_has = InColumnsOf(has, wanted);
  if (all_wanted.count != all_has.count || has_bytes % all_has.size() != 0) return 0;
  return has_bytes / all_has.size() * all_wanted.size();
}

void CopyColumns(const RowsOfColumns<const uint8_t>& from, uint32_t row_count,
                 const RowsOfColumns<uint8_t>& to) {
  const Columns source = InColumnsOf(from.columns, to.columns);
  const Columns target = InColumnsOf(to.columns, from.columns);
  const uint32_t begin = std::max(source.begin, target.begin);
  const uint32_t end = std::min(source.end, target.end);
  if (begin >= end) return;
  const size_t column_bytes = to.row_bytes / target.size();
  for (uint32_t row = 0; row < row_count; ++row) {
    std::memcpy(to.data + row * to.row_bytes + (begin - target.begin) * column_bytes,
                from.data + row * from.row_bytes + (begin - source.begin) * column_bytes,
                (end - begin) * column_bytes);
  }
}

}  // namespace aster::kv
