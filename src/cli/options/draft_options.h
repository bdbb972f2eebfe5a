// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The options of commands that can decode speculatively. Must not know the drafters.
#pragma once

#include "open/drafts.h"

namespace CLI {
class App;
}

namespace aster::cli {

// `options` must outlive the parsing of the command line.
void DeclareDraftOptions(CLI::App& app, open::DraftOptions& options);

}  // namespace aster::cli
