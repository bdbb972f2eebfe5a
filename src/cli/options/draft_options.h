// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The options of commands that can draft tokens ahead. Must not know who drafts them.
#pragma once

#include "open/drafts.h"

namespace CLI {
class App;
}

namespace aster::cli {

// What is declared outlives the parsing of the command line.
void DeclareDraftOptions(CLI::App& app, open::DraftOptions& options);

}  // namespace aster::cli
