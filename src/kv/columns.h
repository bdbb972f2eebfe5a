// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Columns of rows: if several machines each hold a part of every row, a row is divided into columns
// of equal size, and each machine has a range of them. Cutting and joining copies bytes. Must not
// know what a column means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace aster::kv {

// More than any model has heads.
inline constexpr uint32_t kMostColumns = 4096;

// The columns [begin, end) of `count`. Whole rows are one column of one.
struct Columns {
  uint32_t begin = 0;
  uint32_t end = 1;
  uint32_t count = 1;

  bool is_whole() const { return count == 1; }
  uint32_t size() const { return end - begin; }
  // Whether these columns include all of the others. Whole rows include any.
  bool Contains(const Columns& other) const {
    return is_whole() || (count == other.count && begin <= other.begin && other.end <= end);
  }
  bool operator==(const Columns&) const = default;
};

// Whether these numbers, from a file or a message, are valid columns.
constexpr bool IsPartOfRow(const Columns& columns) {
  return columns.begin < columns.end && columns.end <= columns.count &&
         columns.end - columns.begin < columns.count && columns.count <= kMostColumns;
}

// For people: "whole rows", or "columns 2 to 5 of 8".
std::string Describe(const Columns& columns);

// Bytes of a row with the `wanted` columns, if a row with the `has` columns has `has_bytes`; 0 if
// rows cannot be divided in that way.
size_t RowBytesOf(const Columns& wanted, const Columns& has, size_t has_bytes);

// Rows that have some columns each.
template <typename Byte>
struct RowsOfColumns {
  Columns columns;
  size_t row_bytes = 0;
  Byte* data = nullptr;  // [rows, row_bytes]
};

// Copies the columns that both have, of every row. RowBytesOf gives their row_bytes.
void CopyColumns(const RowsOfColumns<const uint8_t>& from, uint32_t row_count,
                 const RowsOfColumns<uint8_t>& to);

}  // namespace aster::kv
