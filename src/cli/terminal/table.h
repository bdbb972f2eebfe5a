// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Columns of text for a person to read. Must not know what stands in them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace aster::cli {

// Every cell of a column is as wide as the column's widest, as a terminal shows them: escape
// sequences take no room and a character of several bytes takes one place.
class Table {
 public:
  enum class Align { kLeft, kRight };

  explicit Table(std::vector<Align> columns) : columns_(std::move(columns)) {}

  // As many cells as columns, or fewer.
  void AddRow(std::vector<std::string> cells);
  std::string Render(size_t indent) const;

 private:
  const std::vector<Align> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Places that `text` takes on a terminal.
size_t DisplayWidth(std::string_view text);

}  // namespace aster::cli
