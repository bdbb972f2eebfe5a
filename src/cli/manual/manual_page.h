// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Manual pages, written from the very options that the program parses: the same source as --help,
// so that they cannot fall behind it. Must not know what a command does, nor where pages are kept.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace aster::cli {

struct ManualPage {
  std::string name;  // "aster-cluster-join": with ".1" behind it, the file's name
  std::string text;  // roff
};

// Of one command, which may be the program itself.
ManualPage ManualPageOf(const CLI::App& command);

// Of the program, its commands and theirs.
std::vector<ManualPage> AllManualPages(const CLI::App& root);

}  // namespace aster::cli
