// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Text in columns for users. Must not know what the cells mean.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace aster::cli {

// Every cell of a column is as wide as the widest one on a terminal: escape sequences take no
// columns and a character of several bytes takes one.
class Table {
 public:
  enum class Align { kLeft, kRight };

  explicit Table(std::vector<Align> columns) : columns_(std::move(columns)) {}

  // At most as many cells as columns.
  void AddRow(std::vector<std::string> cells);
  std::string Render(size_t indent) const;

 private:
  const std::vector<Align> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Columns that `text` takes on a terminal.
size_t DisplayWidth(std::string_view text);

}  // namespace aster::cli
