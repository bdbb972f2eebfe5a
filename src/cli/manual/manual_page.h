// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Manual pages, generated from the options that the program parses, as --help is, so that they are
// always up to date. Must not know what a command does, nor where pages are stored.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace aster::cli {

struct ManualPage {
  std::string name;  // "aster-cluster-join"; the file's name has ".1" after it
  std::string text;  // roff
};

// The page of one command, or of the program itself.
ManualPage ManualPageOf(const CLI::App& command);

// The pages of the program, its commands and their sub-commands.
std::vector<ManualPage> AllManualPages(const CLI::App& root);

}  // namespace aster::cli
