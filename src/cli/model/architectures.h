// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Which features work with which architecture, according to the code: the table of docs/models.md.
// Must not know files.
#pragma once

#include <string>

namespace aster::cli {

// A row per architecture, in Markdown.
std::string ArchitecturesTable();

}  // namespace aster::cli
