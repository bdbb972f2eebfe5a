// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What of the program works with which architecture, as the code has it: the table of
// docs/models.md. Must not know files.
#pragma once

#include <string>

namespace aster::cli {

// A row for each architecture, in Markdown.
std::string ArchitecturesTable();

}  // namespace aster::cli
